#version 450
// The windows of a convolution of few channels, as rows of a matrix: if every pixel were padded to a quad, a quarter to three
// quarters of the products would be with zeroes. One invocation computes one quad of a row.
//
// x: float32, `pitch` floats a pixel, of which the first are its channels. y: [pixel of the output][quads of taps x channels],
// zeroes outside of the image and in the padding of the last quad.
#include "common.glsl"
#include "window.glsl"

layout(set = 0, binding = 0) readonly buffer X { float x[]; };
// For each element of a row: row and column in the window, pixels from its corner, channel. Padding elements have a row outside
// of every image.
layout(set = 0, binding = 1) readonly buffer E { ivec4 element[]; };
layout(set = 0, binding = 2) writeonly buffer Y { vec4 y[]; };

layout(push_constant) uniform P {
    uint count; // invocations
    int quads;  // of a row of y
    int first;  // pixel of this dispatch
    int pitch;
    int inH, inW, outH, outW;
    int strideH, strideW, padTop, padLeft;
};

void main() {
    uint id = flatIndex();
    if (id >= count) return;
    int row = int(id) / quads;
    int quad = int(id) - row * quads;
    ivec3 origin = windowOrigin(first + row, outW, outH, inH, ivec2(strideH, strideW), ivec2(padTop, padLeft));
    int corner = (origin.x + origin.y) * inW + origin.z;
    vec4 v;
    [[unroll]] for (int i = 0; i < 4; i++) {
        ivec4 e = element[4 * quad + i];
        bool ok = inside(origin.y + e.x, inH) && inside(origin.z + e.y, inW);
        float f = x[ok ? (corner + e.z) * pitch + e.w : 0];
        v[i] = ok ? f : 0.0;
    }
    y[id] = v;
}
