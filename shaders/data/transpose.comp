#version 450
// Transposition that moves the innermost dimension. One invocation moves a block of 4 by 4 elements: four
// quads of x that follow each other along dimension A, the innermost of y, turned into four quads of y
// that follow each other along dimension B, the innermost of x. Strides count quads.
#include "common.glsl"
#include "divide.glsl"
#include "lanes.glsl"

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;
    uint a, b;               // elements of the dimensions A and B
    Divisor aQuads, bQuads;
    Divisor dims[3];         // the other dimensions, but for the first
    uint aStride;            // of A in x
    uint xStride[4];         // of the others
    uint bStride;            // of B in y
    uint yStride[4];
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint qa, qb, at;
    uint rest = divide(divide(i, aQuads, qa), bQuads, qb);
    uint xi = qb, yi = qa;
    [[unroll]] for (int d = 3; d > 0; d--) {
        rest = divide(rest, dims[d - 1], at);
        xi += at * xStride[d];
        yi += at * yStride[d];
    }
    xi += rest * xStride[0];
    yi += rest * yStride[0];
    uvec4 m[4];
    [[unroll]] for (int k = 0; k < 4; k++) {
        uint row = 4u * qa + uint(k);
        m[k] = uvec4(0u);
        if (row < a) m[k] = lanes(x[xi + row * aStride]);
    }
    [[unroll]] for (int k = 0; k < 4; k++) {
        uint row = 4u * qb + uint(k);
        if (row < b) y[yi + row * bStride] = pack(uvec4(m[0][k], m[1][k], m[2][k], m[3][k]));
    }
}
