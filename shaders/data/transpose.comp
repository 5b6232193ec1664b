#version 450
// Transposition that moves the innermost dimension. One invocation moves a block of 4 * SPAN by 4 elements: quads of x that follow
// each other along dimension A, the innermost of y, turned into four runs of SPAN quads of y, which follow each other along
// dimension B, the innermost of x. Neighbours read neighbouring quads. Strides count quads.
#include "common.glsl"
#include "divide.glsl"
#include "lanes.glsl"

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;
    uint a, b;               // elements of the dimensions A and B
    uint aQuads;
    Divisor aSpans, bQuads;  // runs of a row of y, quads of a row of x
    Divisor dims[3];         // the other dimensions, but for the first
    uint aStride;            // of A in x
    uint xStride[4];         // of the others
    uint bStride;            // of B in y
    uint yStride[4];
};

#define SPAN 4u

#if ELEM == 1
#include "turn.glsl"
#else
void turn(QUAD a, QUAD b, QUAD c, QUAD d, out QUAD v[4]) {
    uvec4 m[4] = uvec4[4](lanes(a), lanes(b), lanes(c), lanes(d));
    [[unroll]] for (int k = 0; k < 4; k++) v[k] = pack(uvec4(m[0][k], m[1][k], m[2][k], m[3][k]));
}
#endif

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint sa, qb, at;
    uint rest = divide(divide(i, bQuads, qb), aSpans, sa);
    uint xi = qb, yi = sa * SPAN;
    [[unroll]] for (int d = 3; d > 0; d--) {
        rest = divide(rest, dims[d - 1], at);
        xi += at * xStride[d];
        yi += at * yStride[d];
    }
    xi += rest * xStride[0];
    yi += rest * yStride[0];
    QUAD v[SPAN][4];
    [[unroll]] for (uint s = 0u; s < SPAN; s++) {
        QUAD m[4];
        [[unroll]] for (uint k = 0u; k < 4u; k++) {
            uint row = 4u * (sa * SPAN + s) + k;
            m[k] = QUAD(0u);
            if (row < a) m[k] = x[xi + row * aStride];
        }
        turn(m[0], m[1], m[2], m[3], v[s]);
    }
    uint spans = min(SPAN, aQuads - sa * SPAN);
    [[unroll]] for (uint k = 0u; k < 4u; k++) {
        uint row = 4u * qb + k;
        if (row < b) {
            [[unroll]] for (uint s = 0u; s < SPAN; s++) {
                if (s < spans) y[yi + row * bStride + s] = v[s][k];
            }
        }
    }
}
