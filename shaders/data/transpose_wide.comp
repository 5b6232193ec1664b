#version 450
// Transposition of bytes that moves the innermost dimension, in tensors whose rows are whole groups of 16. One invocation moves up
// to `run` blocks of 16 by 16 that follow each other along dimension A, the innermost of y: groups of x turned into groups of 16
// rows of y. Neighbours read neighbouring groups along dimension B, the innermost of x. Strides count groups.
//
//   TEXEL  x is read through a texel buffer
#include "common.glsl"
#include "divide.glsl"
#include "turn.glsl"

#ifdef TEXEL
layout(set = 0, binding = 0) uniform usamplerBuffer x;
#define LOAD(i) texelFetch(x, int(i))
#else
layout(set = 0, binding = 0) readonly buffer X { uvec4 x[]; };
#define LOAD(i) x[i]
#endif
layout(set = 0, binding = 1) writeonly buffer Y { uvec4 y[]; };
layout(push_constant) uniform P {
    uint count;
    uint run;
    uint aGroups;
    Divisor aRuns, bGroups;   // runs of a row of y, groups of a row of x
    Divisor dims[3];          // the other dimensions, but for the first
    uint aStride;             // of A in x
    uint xStride[4];          // of the others
    uint bStride;             // of B in y
    uint yStride[4];
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint ra, bg, at;
    uint rest = divide(divide(i, bGroups, bg), aRuns, ra);
    uint xi = bg, yi = 16u * bg * bStride;
    [[unroll]] for (int d = 3; d > 0; d--) {
        rest = divide(rest, dims[d - 1], at);
        xi += at * xStride[d];
        yi += at * yStride[d];
    }
    xi += rest * xStride[0];
    yi += rest * yStride[0];
    uint g = ra * run, end = min(g + run, aGroups);
    do {
        uvec4 v[16];
        [[unroll]] for (uint s = 0u; s < 4u; s++) {
            uvec4 m[4];
            [[unroll]] for (uint k = 0u; k < 4u; k++) m[k] = LOAD(xi + (16u * g + 4u * s + k) * aStride);
            [[unroll]] for (uint w = 0u; w < 4u; w++) {
                uint t[4];
                turn(m[0][w], m[1][w], m[2][w], m[3][w], t);
                [[unroll]] for (uint k = 0u; k < 4u; k++) v[4u * w + k][s] = t[k];
            }
        }
        [[unroll]] for (uint k = 0u; k < 16u; k++) y[yi + k * bStride + g] = v[k];
    } while (++g < end);
}
