#version 450
// Packs filters and matrices that are known only at run time, from their form as a tensor to the tiles that the matrix kernels
// read. One invocation turns a block of 4 k by the channels of a tile: neighbours read side by side, and each writes runs.
//
// macro   | meaning
// ELEM    | ELEM_F32, ELEM_F16 or ELEM_Q8
// COLUMNS | 1: w is [matrices, k, channels], taps is 1; 0: [matrices, channels, taps, k]
//
// Tiles: [matrix][slab][tile][tap][k, padded to 4][tn4] quads of 4 channels as floats; ELEM_Q8: [matrix][slab][tile][tap][quad of
// k][tn4] of 4 words, signed, filled up with the zero point beyond the filter.
#include "common.glsl"
#include "divide.glsl"
#include "tensor.glsl"

#ifdef ELEM_Q8
layout(set = 0, binding = 0) readonly buffer W { uint w[]; };
layout(set = 0, binding = 1) writeonly buffer T { uvec4 tiles[]; };
const uint PER_QUAD = 1u; // quads of a tile for each of its quads of k
#else
layout(set = 0, binding = 0) readonly buffer W { QUAD w[]; };
layout(set = 0, binding = 1) writeonly buffer T { vec4 tiles[]; };
const uint PER_QUAD = 4u;
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
    uint n = first + (slabOf * slab.value + tile) * 4u * tn4;
    if (n >= channels) return;
    uint to = run * pitch + ((tile * taps.value + tap) * kq.value + q) * tn4 * PER_QUAD;
    uint usedK = min(k - 4u * q, 4u);
#if COLUMNS
    uint row = matrix * k, last = k - 1u, mostQuad = nq - 1u;
    uint row0 = (row + 4u * q) * nq, row1 = (row + min(4u * q + 1u, last)) * nq, row2 = (row + min(4u * q + 2u, last)) * nq,
         row3 = (row + min(4u * q + 3u, last)) * nq;
#else
    if (turn != 0u) tap = taps.value - 1u - tap;
    uint pitchW = taps.value * kq.value, row0 = tap * kq.value + q, last = (matrix + 1u) * channels - 1u;
#endif
    for (uint j = 0u; j < tn4; j++, n += 4u) {
        uint usedN = n < channels ? min(channels - n, 4u) : 0u;
        // Rows of w; the last one is repeated where there are no more: the excess is masked, and the loads need no condition.
#if COLUMNS
        uint at = min(n / 4u, mostQuad), rows = usedK, columns = usedN;
        QUAD a = w[row0 + at], b = w[row1 + at], c = w[row2 + at], d = w[row3 + at];
#else
        uint at = matrix * channels + n, rows = usedN, columns = usedK;
        QUAD a = w[min(at, last) * pitchW + row0], b = w[min(at + 1u, last) * pitchW + row0], c = w[min(at + 2u, last) * pitchW + row0],
             d = w[min(at + 3u, last) * pitchW + row0];
#endif
#ifdef ELEM_Q8
        uvec4 v = uvec4(a, b, c, d) ^ flip;
        if (min(rows, columns) < 4u) {
            uint mask = columns == 4u ? 0xffffffffu : (1u << (8u * columns)) - 1u;
            v = mix(uvec4(zero), (v & mask) | (zero & ~mask), lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(rows)));
        }
#if COLUMNS
        uvec2 even = (v.xz & 0x00ff00ffu) | (v.yw & 0x00ff00ffu) << 8, odd = (v.xz >> 8 & 0x00ff00ffu) | (v.yw & 0xff00ff00u);
        v = uvec4((even.x & 0xffffu) | even.y << 16, (odd.x & 0xffffu) | odd.y << 16, even.x >> 16 | (even.y & 0xffff0000u), odd.x >> 16 | (odd.y & 0xffff0000u));
#endif
        tiles[to + j] = v;
#else
        vec4 v[4] = vec4[4](unpackQuad(a), unpackQuad(b), unpackQuad(c), unpackQuad(d));
        if (min(rows, columns) < 4u) {
            bvec4 inside = lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(columns));
            [[unroll]] for (uint r = 0u; r < 4u; r++) v[r] = r < rows ? mix(vec4(0.0), v[r], inside) : vec4(0.0);
        }
#if COLUMNS
        [[unroll]] for (uint r = 0u; r < 4u; r++) tiles[to + r * tn4 + j] = v[r];
#else
        [[unroll]] for (uint r = 0u; r < 4u; r++) tiles[to + r * tn4 + j] = vec4(v[0][r], v[1][r], v[2][r], v[3][r]);
#endif
#endif
    }
}
