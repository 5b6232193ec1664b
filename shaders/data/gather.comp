#version 450
// Gathers positions of x along one dimension by indices in memory, which may be anything: an index that is negative or beyond the
// last position counts as the last.
//
// The variant defines one of
//   UNIT  Along a dimension before the innermost. Each position is a run of units of UNIT 32-bit words (1, 2 or 4); one invocation
//         moves up to `run` of them. If `missing` is set, positions outside give zeros.
//   ELEM  Along the innermost dimension, of elements of ELEM bytes. One invocation gathers one quad of each of up to `run` rows
//         of y, by one quad of indices.
// TEXEL: x is read through a texel buffer, in units of 4 words or, with ELEM, of one.
#include "common.glsl"
#include "divide.glsl"

#ifdef UNIT
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
layout(set = 0, binding = 1) readonly buffer I { uint index[]; };
layout(set = 0, binding = 2) writeonly buffer Y { WORDS y[]; };
layout(push_constant) uniform P {
    uint count;
    uint run;
    Divisor runs;       // for one index
    Divisor indices;    // in all
    Divisor row;        // indices of a row
    uint pitch;         // of a row of indices with its padding
    uint inner;         // units behind the axis
    uint size;          // positions along the axis
    uint missing;
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint part, k, lane;
    uint place = divide(i, runs, part);
    uint outer = divide(place, indices, k);
    uint at = index[divide(k, row, lane) * pitch + lane];
    bool zero = missing != 0u && at >= size;
    uint from = (outer * size + min(at, size - 1u)) * inner, to = place * inner;
    uint p = part * run, last = min(p + run, inner);
    if (zero) {
        do y[to + p] = WORDS(0u);
        while (++p < last);
        return;
    }
    do y[to + p] = LOAD(from + p);
    while (++p < last);
}
#else
#include "lanes.glsl"

#ifdef TEXEL
layout(set = 0, binding = 0) uniform usamplerBuffer x;
#define LOAD(i) texelFetch(x, int(i)).x
#else
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
#define LOAD(i) x[i]
#endif
layout(set = 0, binding = 1) readonly buffer I { uvec4 index[]; };
layout(set = 0, binding = 2) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;
    uint run;            // rows of x for an invocation
    uint rows;           // of x
    Divisor indexQuads;  // in all
    Divisor quads;       // of a row of indices and of y
    uint yRow;           // elements of a row of y
    uint xWords;         // of a row of x
    uint size;           // elements of a row of x
};

#if ELEM == 4
#define UP(e) 1u
#define ALL 0xffffffffu
#define JOIN(v) (v)
#elif ELEM == 2
#define ALL 0xffffu
#define UP(e) (0x10000u >> ((e & 1u) * 16u))
#define JOIN(v) ((v.xz >> 16) | (v.yw & 0xffff0000u))
#else
#define ALL 0xffu
#define UP(e) (0x1000000u >> ((e & 3u) * 8u))
#define JOIN(v) ((v.x >> 24) | ((v.y >> 16) & 0xff00u) | ((v.z >> 8) & 0xff0000u) | (v.w & 0xff000000u))
#endif

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint k, q;
    uint row = divide(i, indexQuads, k) * run, last = min(row + run, rows);
    divide(k, quads, q);
    uvec4 at = min(index[k], uvec4(size - 1u));
    // Products move elements to the top of their words: factors are the same for all rows, and cheaper than shifts by a variable.
    uvec4 words, up;
    [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
        words[lane] = wordOf(at[lane]);
        up[lane] = UP(at[lane]);
    }
    // Lanes beyond the row of y become zero.
    QUAD kept = pack(mix(uvec4(0u), uvec4(ALL), lessThan(4u * q + laneIndex, uvec4(yRow))));
    do {
        uint from = row * xWords;
        uvec4 v;
        [[unroll]] for (uint lane = 0u; lane < 4u; lane++) v[lane] = LOAD(from + words[lane]) * up[lane];
        y[row * indexQuads.value + k] = JOIN(v) & kept;
    } while (++row < last);
}
#endif
