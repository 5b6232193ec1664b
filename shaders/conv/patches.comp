#version 450
// The windows of a convolution of few channels, as rows of a matrix: if every pixel were padded to a quad, a quarter to three
// quarters of the products would be with zeroes. One invocation computes one quad of a row.
//
// x: float32 (ELEM_F32) or 8-bit (ELEM_Q8), a quad for each pixel. y: [pixel of the output][quads of taps x channels]; what is
// outside of the image and in the padding of the last quad is zero or, of 8 bits, the zero point.
#include "common.glsl"
#include "tensor.glsl"
#include "window.glsl"

#ifdef ELEM_Q8
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
#else
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
#endif
// For each element of a row: row and column in the window, pixels from its corner, channel or, of 8 bits, what its byte is
// multiplied by to be the last one of its word. Padding elements have a row outside of every image.
layout(set = 0, binding = 1) readonly buffer E { ivec4 element[]; };
layout(set = 0, binding = 2) writeonly buffer Y { QUAD y[]; };

layout(push_constant) uniform P {
    uint count; // invocations
    int quads;  // of a row of y
    int first;  // pixel of this dispatch
    int inH, inW, outH, outW;
    int strideH, strideW, padTop, padLeft;
    uint zero;  // of 8 bits: the zero point of x
};

void main() {
    uint id = flatIndex();
    if (id >= count) return;
    int row = int(id) / quads;
    int quad = int(id) - row * quads;
    ivec3 origin = windowOrigin(first + row, outW, outH, inH, ivec2(strideH, strideW), ivec2(padTop, padLeft));
    int corner = (origin.x + origin.y) * inW + origin.z;
#ifdef ELEM_Q8
    uint v = 0u;
#else
    vec4 v;
#endif
    [[unroll]] for (int i = 0; i < 4; i++) {
        ivec4 e = element[4 * quad + i];
        bool ok = inside(origin.y + e.x, inH) && inside(origin.z + e.y, inW);
        int pixel = ok ? corner + e.z : 0;
#ifdef ELEM_Q8
        uint byte = (x[pixel] * uint(e.w)) >> 24;
        v |= (ok ? byte : zero) << 8 * i;
#else
        float f = x[4 * pixel + (ok ? e.w : 0)];
        v[i] = ok ? f : 0.0;
#endif
    }
    y[id] = v;
}
