#version 450
// Transposition that moves the innermost dimension. One invocation moves up to `run` blocks of 4 by 4 elements that follow each
// other along dimension A, the innermost of y: quads of x turned into quads of four rows of y. Neighbours read neighbouring
// quads along dimension B, the innermost of x. Strides count quads.
//
// Every load is unconditional, from the last row where there are no more, and a block is all that the loop holds: a load
// behind a condition costs the software implementations a third more, and code beyond the instruction cache twice the time.
//
//   TEXEL  x is read through a texel buffer, a quad a texel
#include "common.glsl"
#include "divide.glsl"
#include "lanes.glsl"

#ifdef TEXEL
layout(set = 0, binding = 0) uniform usamplerBuffer x;
#if ELEM == 4
#define LOAD(i) texelFetch(x, int(i))
#elif ELEM == 2
#define LOAD(i) texelFetch(x, int(i)).xy
#else
#define LOAD(i) texelFetch(x, int(i)).x
#endif
#else
layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
#define LOAD(i) x[i]
#endif
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;
    uint run;
    uint a, b;               // elements of the dimensions A and B
    uint aQuads;
    Divisor aRuns, bQuads;   // runs of a row of y, quads of a row of x
    Divisor dims[3];         // the other dimensions, but for the first
    uint aStride;            // of A in x
    uint xStride[4];         // of the others
    uint bStride;            // of B in y
    uint yStride[4];
};

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
    uint ra, qb, at;
    uint rest = divide(divide(i, bQuads, qb), aRuns, ra);
    uint xi = qb, yi = 4u * qb * bStride;
    [[unroll]] for (int d = 3; d > 0; d--) {
        rest = divide(rest, dims[d - 1], at);
        xi += at * xStride[d];
        yi += at * yStride[d];
    }
    xi += rest * xStride[0];
    yi += rest * yStride[0];
    uint rows = b - 4u * qb, q = ra * run, end = min(q + run, aQuads);
    do {
        QUAD m[4], v[4];
        [[unroll]] for (uint k = 0u; k < 4u; k++) {
            uint row = 4u * q + k;
            m[k] = LOAD(xi + min(row, a - 1u) * aStride) & (row < a ? 0xffffffffu : 0u);
        }
        turn(m[0], m[1], m[2], m[3], v);
        [[unroll]] for (uint k = 0u; k < 4u; k++) {
            if (k < rows) y[yi + k * bStride + q] = v[k];
        }
    } while (++q < end);
}
