#version 450
// A filter that is known at run time only, from its form as a tensor, [channels, taps, k], to the tiles that the matrix
// kernels read. One invocation turns a block of 4 k by the channels of a tile: neighbours read what lies side by side, and each
// writes runs.
//
// macro | meaning
// ELEM  | ELEM_F32, ELEM_F16 or ELEM_Q8
// DOT   | ELEM_Q8: 1: signed words of 4 k, the zero point in those beyond the filter; 0: floats less the zero point
//
// Tiles: [tile][tap][k, padded to 4][tn4] quads of 4 channels as floats; DOT: [tile][tap][quad of k][tn4] of 4 words.
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
    Divisor kq, taps; // quads of a row of w, positions of the window
    uint tn4;         // quads of a tile
    uint first;       // channel of the tiles
    uint channels, k; // of w
    uint turn;        // 1: taps of w are in the opposite order
#ifdef ELEM_Q8
    uint flip; // makes w unsigned, DOT: signed
    uint zero; // its zero point then; DOT: in four bytes
#endif
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q, t;
    uint tile = divide(divide(i, kq, q), taps, t);
    if (turn != 0u) t = taps.value - 1u - t;
    uint used = min(k - 4u * q, 4u); // lanes of the quads
#if DOT
    uint mask = used == 4u ? 0xffffffffu : (1u << (8u * used)) - 1u;
#else
    bvec4 inside = lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(used));
#endif
    for (uint j = 0u; j < tn4; j++) {
        uint n = first + (tile * tn4 + j) * 4u;
#if DOT
        uvec4 words;
        [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
            uint word = zero;
            if (n + lane < channels) word = ((w[((n + lane) * taps.value + t) * kq.value + q] ^ flip) & mask) | (zero & ~mask);
            words[lane] = word;
        }
        tiles[i * tn4 + j] = words;
#else
        vec4 rows[4];
        [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
            rows[lane] = vec4(0.0);
            if (n + lane < channels) {
#ifdef ELEM_Q8
                vec4 v = unpackFloats(w[((n + lane) * taps.value + t) * kq.value + q] ^ flip) - float(zero);
#else
                vec4 v = unpackQuad(w[((n + lane) * taps.value + t) * kq.value + q]);
#endif
                rows[lane] = mix(vec4(0.0), v, inside);
            }
        }
        [[unroll]] for (uint c = 0u; c < 4u; c++) tiles[(i * 4u + c) * tn4 + j] = vec4(rows[0][c], rows[1][c], rows[2][c], rows[3][c]);
#endif
    }
}
