#version 450
// Packs filters and matrices that are known only at run time, from their form as a tensor to the tiles that the matrix kernels
// read. One invocation turns a block of 4 k by the channels of a tile: neighbours read side by side, and each writes runs.
//
// macro   | meaning
// ELEM    | ELEM_F32, ELEM_F16 or ELEM_Q8
// TEXEL   | ELEM_F32: 1: w is a texel buffer; 0: a storage buffer
// COLUMNS | 1: w is [matrices, k, channels], taps is 1; 0: [matrices, channels, taps, k]
//
// Tiles: [matrix][slab][tile][tap][k, padded to 4][tn4] quads of 4 channels as floats; ELEM_Q8: [matrix][slab][tile][tap][quad of
// k][tn4] of 4 words, signed, filled up with the zero point beyond the filter.
//
// Every load is unconditional, from the last row where there are no more, and the excess is masked: on the software
// implementations that takes less than a condition.
#include "common.glsl"
#include "divide.glsl"
#include "tensor.glsl"

#if defined(ELEM_F32)
#define BITS uvec4
BITS lanesBelow(uint n) { return mix(uvec4(0u), uvec4(0xffffffffu), lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(n))); }
const uint PER_QUAD = 4u; // quads of a tile for each of its quads of k
#elif defined(ELEM_F16)
#define BITS uvec2
BITS lanesBelow(uint n) {
    return mix(uvec2(0u), uvec2(0xffffu), lessThan(uvec2(0u, 2u), uvec2(n))) | mix(uvec2(0u), uvec2(0xffff0000u), lessThan(uvec2(1u, 3u), uvec2(n)));
}
const uint PER_QUAD = 4u;
#else
#include "turn.glsl"
#define BITS uint
BITS lanesBelow(uint n) { return n < 4u ? (1u << (8u * n)) - 1u : 0xffffffffu; }
const uint PER_QUAD = 1u;
#endif
#if TEXEL
layout(set = 0, binding = 0) uniform usamplerBuffer w;
#define LOAD(i) texelFetch(w, int(i))
#else
layout(set = 0, binding = 0) readonly buffer W { BITS w[]; };
#define LOAD(i) w[i]
#endif
layout(set = 0, binding = 1) writeonly buffer T { uvec4 tiles[]; };
layout(push_constant) uniform P {
    uint count;
    Divisor kq, taps;    // quads of k, positions of the window
    Divisor slab, slabs; // tiles of a slab, slabs of a matrix; the last one may have fewer tiles
    uint pitch;          // quads from slab to slab
    uint tn4;            // quads of a tile
    uint start;          // channel of the tiles
    uint channels, k;    // of a matrix
#if COLUMNS
    uint nq; // quads of a row of w
#else
    uint turn; // 1: taps of w are in reverse order
#endif
#ifdef ELEM_Q8
    uint flip; // makes w signed
    uint zero; // the zero point of the signed w, in all four bytes
#endif
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q, tap, tile, slabOf;
    uint run = divide(divide(divide(i, kq, q), taps, tap), slab, tile); // slab of all matrices
    uint matrix = divide(run, slabs, slabOf);
    uint n = start + (slabOf * slab.value + tile) * 4u * tn4;
    if (n >= channels) return;
    uint to = run * pitch + ((tile * taps.value + tap) * kq.value + q) * tn4 * PER_QUAD;
#if COLUMNS
    uint first = matrix * k, last = first + k - 1u, rows = k - 4u * q;
    uvec4 row = min(uvec4(first + 4u * q) + uvec4(0u, 1u, 2u, 3u), uvec4(last)) * nq;
#else
    if (turn != 0u) tap = taps.value - 1u - tap;
    uint pitchW = taps.value * kq.value, column = tap * kq.value + q, last = (matrix + 1u) * channels - 1u;
    BITS lanes = lanesBelow(k - 4u * q);
#endif
    for (uint j = 0u; j < tn4; j++, n += 4u) {
        uint left = n < channels ? channels - n : 0u;
#if COLUMNS
        uvec4 at = row + min(n / 4u, nq - 1u);
        BITS lanes = lanesBelow(left);
#else
        uvec4 at = min(uvec4(matrix * channels + n) + uvec4(0u, 1u, 2u, 3u), uvec4(last)) * pitchW + column;
        uint rows = left;
#endif
        BITS m[4];
        [[unroll]] for (uint r = 0u; r < 4u; r++) {
            BITS used = r < rows ? lanes : BITS(0);
#ifdef ELEM_Q8
            m[r] = ((LOAD(at[r]) ^ flip) & used) | (zero & ~used);
#else
            m[r] = LOAD(at[r]) & used;
#endif
        }
#if !defined(ELEM_Q8)
        uvec4 v[4];
#ifdef ELEM_F16
        [[unroll]] for (uint r = 0u; r < 4u; r++) v[r] = floatBitsToUint(unpackHalf4(m[r]));
#else
        v = m;
#endif
#if COLUMNS
        [[unroll]] for (uint r = 0u; r < 4u; r++) tiles[to + r * tn4 + j] = v[r];
#else
        [[unroll]] for (uint r = 0u; r < 4u; r++) tiles[to + r * tn4 + j] = uvec4(v[0][r], v[1][r], v[2][r], v[3][r]);
#endif
#elif COLUMNS
        uint v[4];
        turn(m[0], m[1], m[2], m[3], v);
        tiles[to + j] = uvec4(v[0], v[1], v[2], v[3]);
#else
        tiles[to + j] = uvec4(m[0], m[1], m[2], m[3]);
#endif
    }
}
