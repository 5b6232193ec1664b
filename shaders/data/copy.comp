#version 450
// Strided copy: one invocation moves `run` neighbouring units of UNIT 32-bit words (1, 2 or 4). Positions
// of runs go over DIMS dimensions (3 or 6), the last one fastest; strides and bases count units.
//
//   TEXEL  x, in units of 4 words, is read through a texel buffer
#include "common.glsl"
#include "divide.glsl"

#if UNIT == 4
#define WORDS uvec4
#elif UNIT == 2
#define WORDS uvec2
#else
#define WORDS uint
#endif

#ifdef TEXEL
layout(set = 0, binding = 0) uniform usamplerBuffer x;
#define LOAD(i) texelFetch(x, int(i))
#else
layout(set = 0, binding = 0) readonly buffer X { WORDS x[]; };
#define LOAD(i) x[i]
#endif
layout(set = 0, binding = 1) writeonly buffer Y { WORDS y[]; };
layout(push_constant) uniform P {
    uint count;
    uint run;
    uint from, to;             // of position 0
    Divisor dims[DIMS - 1];    // all dimensions but the first
    uint fromStride[DIMS];
    uint toStride[DIMS];
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint rest = i, xi = from, yi = to, at;
    [[unroll]] for (int d = DIMS - 1; d > 0; d--) {
        rest = divide(rest, dims[d - 1], at);
        xi += at * fromStride[d];
        yi += at * toStride[d];
    }
    xi += rest * fromStride[0];
    yi += rest * toStride[0];
    uint k = 0u;
    do y[yi + k] = LOAD(xi + k);
    while (++k < run);
}
