#version 450
// Padding of every dimension but the innermost, with a constant or (MIRROR) with mirrored elements: whole
// quads move. One invocation writes up to `run` neighbouring quads of y in one row of pixels: the positions
// of the dimension before the innermost.
#include "common.glsl"
#include "divide.glsl"
#include "lanes.glsl"
#include "mirror.glsl"

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;
    uint run;
    Divisor runs;       // in a row of pixels
    Divisor yDims[2];   // dimensions of y between the first and the rows of pixels
    Divisor quads;      // of a pixel
    uint yLine;         // quads of a row of pixels of y
    uint xDims[4];      // of x, without the innermost
    uint before[4];
#ifdef MIRROR
    uint edge;          // see mirror.glsl
#else
    uint fill;          // raw bits of an element
    uint used;          // elements of the last quad of a pixel
#endif
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint part, at;
    uint line = divide(i, runs, part);
    uint rest = line;
    uint row = 0u, pitch = 1u;
    bool inside = true;
    [[unroll]] for (int d = 2; d >= 0; d--) {
        if (d > 0) rest = divide(rest, yDims[d - 1], at);
        else at = rest;
        at = source(at - before[d], xDims[d], EDGE);
        inside = inside && at < xDims[d];
        row += at * pitch;
        pitch *= xDims[d];
    }
    uint last = min(part * run + run, yLine);
    uint p = part * run;
    do {
        uint q;
        uint column = source(divide(p, quads, q) - before[3], xDims[3], EDGE);
        uint from = (row * xDims[3] + column) * quads.value + q;
#ifdef MIRROR
        QUAD v = x[from];
#else
        QUAD v = pack(mix(uvec4(0u), uvec4(fill), lessThan(laneIndex, uvec4(q == quads.value - 1u ? used : 4u))));
        if (inside && column < xDims[3]) v = x[from];
#endif
        y[line * yLine + p] = v;
    } while (++p < last);
}
