#version 450
// Padding of every dimension, with a constant or (MIRROR) with mirrored elements. One invocation gathers
// one quad of y.
#include "common.glsl"
#include "divide.glsl"
#include "lanes.glsl"
#include "mirror.glsl"

layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;
    Divisor yQuads;     // quads of a row of y
    Divisor yDims[3];   // dimensions of y between the first and the innermost
    uint xDims[4];      // of x, without the innermost
    uint before[4];
    uint xRow, yRow;    // elements of a row
    uint beforeRow;
    uint xPitch;        // of a row with its padding
#ifdef MIRROR
    uint edge;          // see mirror.glsl
#else
    uint fill;          // raw bits of an element
#endif
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q, at;
    uint rest = divide(i, yQuads, q);
    uint row = 0u, pitch = 1u;
    bool inside = true;
    [[unroll]] for (int d = 3; d >= 0; d--) {
        if (d > 0) rest = divide(rest, yDims[d - 1], at);
        else at = rest;
        at = source(at - before[d], xDims[d], EDGE);
        inside = inside && at < xDims[d];
        row += at * pitch;
        pitch *= xDims[d];
    }
    uvec4 v = uvec4(0u);
    [[unroll]] for (int k = 0; k < 4; k++) {
        uint lane = 4u * q + uint(k);
        if (lane < yRow) {
#ifndef MIRROR
            v[k] = fill;
#endif
            uint column = source(lane - beforeRow, xRow, EDGE);
            if (inside && column < xRow) {
                uint e = row * xPitch + column;
                v[k] = element(x[wordOf(e)], e);
            }
        }
    }
    y[i] = pack(v);
}
