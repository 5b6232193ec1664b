#version 450
// Gathers positions of x at equal distances along each dimension, repeatedly, for STRIDED_SLICE, REVERSE and TILE. One invocation
// gathers one quad of y. Steps count elements of x with its padding, and may be negative: they wrap around.
#include "common.glsl"
#include "divide.glsl"
#include "lanes.glsl"

layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;
    Divisor yQuads;     // quads of a row of y
    Divisor dims[3];    // dimensions of y between the first and the innermost
    uint steps[4];      // of x, along the dimensions of y without the innermost
    uint first;         // element of x
    uint yRow;          // elements of a row of y
    Divisor period;     // elements after which a row of y repeats itself
    uint step;          // of x, along the innermost
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q, at;
    uint rest = divide(i, yQuads, q);
    uint from = first;
    [[unroll]] for (int d = 3; d >= 0; d--) {
        if (d > 0) rest = divide(rest, dims[d - 1], at);
        else at = rest;
        from += at * steps[d];
    }
    uvec4 v = uvec4(0u);
    [[unroll]] for (int k = 0; k < 4; k++) {
        uint lane = 4u * q + uint(k);
        if (lane < yRow) {
            divide(lane, period, at);
            uint e = from + at * step;
            v[k] = element(x[wordOf(e)], e);
        }
    }
    y[i] = pack(v);
}
