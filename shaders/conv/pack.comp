#version 450
// Filters and matrices that are known at run time only, from their form as a tensor to the tiles that the matrix kernels read.
// One invocation turns a block of 4 k by the channels of a tile: neighbours read what lies side by side, and each writes runs.
//
// macro   | meaning
// ELEM    | ELEM_F32, ELEM_F16 or ELEM_Q8
// DOT     | ELEM_Q8: 1: signed words of 4 k, the zero point in those beyond the filter; 0: floats less the zero point
// COLUMNS | 1: w is [matrices, k, channels], taps is 1; 0: [matrices, channels, taps, k]
//
// Tiles: [matrix][slab][tile][tap][k, padded to 4][tn4] quads of 4 channels as floats; DOT: [matrix][slab][tile][tap][quad of k]
// [tn4] of 4 words.
#include "common.glsl"
#include "divide.glsl"
#include "requant.glsl"
#include "tensor.glsl"

#ifdef ELEM_Q8
layout(set = 0, binding = 0) readonly buffer W { uint w[]; };
#else
layout(set = 0, binding = 0) readonly buffer W { QUAD w[]; };
#endif
#if DOT
layout(set = 0, binding = 1) writeonly buffer T { uvec4 tiles[]; };
#else
layout(set = 0, binding = 1) writeonly buffer T { vec4 tiles[]; };
#endif
layout(push_constant) uniform P {
    uint count;
    Divisor kq, taps;    // quads of k, positions of the window
    Divisor slab, slabs; // tiles of a slab, slabs of a matrix; the last one may have fewer tiles
    uint pitch;          // quads from slab to slab
    uint tn4;            // quads of a tile
    uint first;          // channel of the tiles
    uint channels, k;    // of a matrix
#if COLUMNS
    uint nq; // quads of a row of w
#else
    uint turn; // 1: taps of w are in the opposite order
#endif
#ifdef ELEM_Q8
    uint flip; // makes w unsigned, DOT: signed
    uint zero; // its zero point then; DOT: in four bytes
#endif
};

uint matrix, tap, q, used; // which block; lanes of its quad of k

#if COLUMNS
// The quad of channels from n on in row 4 q + c, which is there.
QUAD columns(uint n, uint c) { return w[(matrix * k + 4u * q + c) * nq + n / 4u]; }
#else
// The quad of k of channel n, which is there.
QUAD row(uint n) { return w[((matrix * channels + n) * taps.value + tap) * kq.value + q]; }
#endif

#ifdef ELEM_Q8
vec4 values(uint word) { return unpackFloats(word ^ flip) - float(zero); }
#else
vec4 values(QUAD quad) { return unpackQuad(quad); }
#endif

// firsts is v with zeroes behind its first n lanes.
vec4 firsts(vec4 v, uint n) { return mix(vec4(0.0), v, lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(n))); }

// block is the words of 4 channels from n on, or their floats for each of 4 k.
#if DOT
uvec4 block(uint n) {
    uvec4 words = uvec4(zero);
#if COLUMNS
    if (n >= channels) return words;
    uint rows[4];
    [[unroll]] for (uint c = 0u; c < 4u; c++) {
        rows[c] = zero;
        if (c < used) rows[c] = columns(n, c) ^ flip;
    }
    uint even01 = (rows[0] & 0x00ff00ffu) | (rows[1] & 0x00ff00ffu) << 8, odd01 = (rows[0] >> 8 & 0x00ff00ffu) | (rows[1] & 0xff00ff00u);
    uint even23 = (rows[2] & 0x00ff00ffu) | (rows[3] & 0x00ff00ffu) << 8, odd23 = (rows[2] >> 8 & 0x00ff00ffu) | (rows[3] & 0xff00ff00u);
    return uvec4((even01 & 0xffffu) | even23 << 16, (odd01 & 0xffffu) | odd23 << 16, even01 >> 16 | (even23 & 0xffff0000u), odd01 >> 16 | (odd23 & 0xffff0000u));
#else
    uint mask = used == 4u ? 0xffffffffu : (1u << (8u * used)) - 1u;
    [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
        if (n + lane < channels) words[lane] = ((row(n + lane) ^ flip) & mask) | (zero & ~mask);
    }
    return words;
#endif
}
#else
mat4 block(uint n) {
    mat4 rows = mat4(0.0);
#if COLUMNS
    if (n >= channels) return rows;
    uint lanes = min(channels - n, 4u);
    [[unroll]] for (uint c = 0u; c < 4u; c++) {
        if (c < used) rows[c] = values(columns(n, c));
    }
    if (lanes < 4u) [[unroll]] for (uint c = 0u; c < 4u; c++) rows[c] = firsts(rows[c], lanes);
    return rows;
#else
    [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
        if (n + lane < channels) rows[lane] = firsts(values(row(n + lane)), used);
    }
    return transpose(rows);
#endif
}
#endif

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint tile, slabOf;
    uint run = divide(divide(divide(i, kq, q), taps, tap), slab, tile); // slab of all matrices
    uint to = run * pitch + (tile * taps.value + tap) * kq.value * tn4 * (DOT == 1 ? 1u : 4u);
    matrix = divide(run, slabs, slabOf);
    used = min(k - 4u * q, 4u);
    uint n = first + (slabOf * slab.value + tile) * 4u * tn4;
    if (n >= channels) return;
#if !COLUMNS
    if (turn != 0u) tap = taps.value - 1u - tap;
#endif
    for (uint j = 0u; j < tn4; j++, n += 4u) {
#if DOT
        tiles[to + q * tn4 + j] = block(n);
#else
        mat4 rows = block(n);
        [[unroll]] for (uint c = 0u; c < 4u; c++) tiles[to + (4u * q + c) * tn4 + j] = rows[c];
#endif
    }
}
