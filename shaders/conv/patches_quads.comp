#version 450
// The windows of a convolution of whole quads of channels, as rows of a matrix. One invocation copies the same quad of up to `run`
// rows that follow each other.
//
// x: float32 (ELEM_F32) or 8-bit (ELEM_Q8). y: [pixel of the output][tap][quad of channels]; what is outside of the image is zero or, of 8 bits, the zero point.
#include "common.glsl"
#include "tensor.glsl"
#include "window.glsl"

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };

layout(push_constant) uniform P {
    uint count; // invocations
    int quads;  // of a row of y
    int rows, run;
    int first;  // pixel of this dispatch
    int inH, inW, outH, outW;
    int strideH, strideW, padTop, padLeft;
    uint zero;  // of 8 bits: the zero point of x, in all bytes
    int kq;     // quads of a pixel of x
    int kW, dilationH, dilationW;
};

#ifdef ELEM_Q8
#define OUTSIDE zero
#else
#define OUTSIDE vec4(0)
#endif

void main() {
    uint id = flatIndex();
    if (id >= count) return;
    int row = int(id) / quads;
    int quad = int(id) - row * quads;
    row *= run;
    int tap = quad / kq, ky = tap / kW;
    int cq = quad - tap * kq;
    ivec2 d = ivec2(ky * dilationH, (tap - ky * kW) * dilationW);
    ivec3 origin = windowOrigin(first + row, outW, outH, inH, ivec2(strideH, strideW), ivec2(padTop, padLeft));
    ivec2 last = ivec2(outH - 1, outW - 1) * ivec2(strideH, strideW) - ivec2(padTop, padLeft);
    int end = min(row + run, rows);
    do {
        ivec2 i = origin.yz + d;
        bool ok = inside(i.x, inH) && inside(i.y, inW);
        QUAD v = x[ok ? ((origin.x + i.x) * inW + i.y) * kq + cq : 0];
        y[row * quads + quad] = ok ? v : OUTSIDE;
        origin.z += strideW;
        if (origin.z > last.y) {
            origin.yz = ivec2(origin.y + strideH, -padLeft);
            if (origin.y > last.x) origin.xy = ivec2(origin.x + inH, -padTop);
        }
    } while (++row < end);
}
