#version 450
// Transposition by a permutation read from memory. One invocation gathers one quad of y.
//
// The permutation may be anything, and so may dims, which may come from a damaged cache file: whatever they are,
// every index that is read is within x. All zeroes, which is no permutation of two dimensions or more, means that
// it was omitted: the dimensions are reversed.
#include "common.glsl"
#include "divide.glsl"
#include "lanes.glsl"

layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) readonly buffer Perm { uint perm[]; };    // dimensions of x
layout(set = 0, binding = 2) readonly buffer Dims { uvec2 dims[]; };   // stride of x in elements; size of y
layout(set = 0, binding = 3) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;
    Divisor yQuads;   // quads of a row of y
    uint rank;        // at least 1
    uint last;        // the last element of x
};

// The stride in x of dimension d of y.
uint stride(uint d, bool reverse) {
    return dims[min(reverse ? rank - 1u - d : perm[d], rank - 1u)].x;
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint any = 0u;
    for (uint d = 0u; d < rank; d++) any |= perm[d];
    bool reverse = any == 0u;
    uint q;
    uint rest = divide(i, yQuads, q);
    uint first = 0u;
    for (uint d = rank - 1u; d > 0u; d--) {
        uint n = max(dims[d - 1u].y, 1u);
        uint up = rest / n;
        first += (rest - up * n) * stride(d - 1u, reverse);
        rest = up;
    }
    uint step = stride(rank - 1u, reverse);
    uint yRow = dims[rank - 1u].y;
    uvec4 v = uvec4(0u);
    [[unroll]] for (int k = 0; k < 4; k++) {
        uint lane = 4u * q + uint(k);
        if (lane < yRow) {
            uint e = min(first + lane * step, last);
            v[k] = element(x[wordOf(e)], e);
        }
    }
    y[i] = pack(v);
}
