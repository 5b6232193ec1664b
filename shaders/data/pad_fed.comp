#version 450
// Padding of every dimension, with a constant or (MIRROR) with mirrored elements; the paddings are read from
// memory. One invocation gathers one quad of y.
//
// The paddings may be anything, and so may dims, which may come from a damaged cache file: whatever they are,
// every index that is read is within x.
#include "common.glsl"
#include "divide.glsl"
#include "lanes.glsl"
#include "mirror.glsl"

layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) readonly buffer Pads { uvec4 pads[]; };   // before, after and two lanes of padding
layout(set = 0, binding = 2) readonly buffer Dims { uvec2 dims[]; };   // of x, of y
layout(set = 0, binding = 3) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;
    Divisor yQuads;   // quads of a row of y
    uint rank;        // at least 1
    uint xPitch;      // elements of a row of x with its padding
    uint last;        // the last element of x
#ifdef MIRROR
    uint edge;        // see mirror.glsl
#else
    uint fill;        // raw bits of an element
#endif
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q;
    uint rest = divide(i, yQuads, q);
    uint row = 0u, pitch = 1u;
    bool inside = true;
    for (uint d = rank - 1u; d > 0u; d--) {
        uvec2 n = dims[d - 1u];
        uint up = rest / max(n.y, 1u);
        uint at = source(rest - up * n.y - pads[d - 1u].x, n.x, EDGE);
        rest = up;
        inside = inside && at < n.x;
        row += min(at, n.x - 1u) * pitch;
        pitch *= n.x;
    }
    uvec2 n = dims[rank - 1u];
    uint before = pads[rank - 1u].x;
    uvec4 v = uvec4(0u);
    [[unroll]] for (int k = 0; k < 4; k++) {
        uint lane = 4u * q + uint(k);
        if (lane < n.y) {
            uint column = source(lane - before, n.x, EDGE);
            uint e = min(row * xPitch + min(column, n.x - 1u), last);
            v[k] = element(x[wordOf(e)], e);
#ifndef MIRROR
            if (!inside || column >= n.x) v[k] = fill;
#endif
        }
    }
    y[i] = pack(v);
}
