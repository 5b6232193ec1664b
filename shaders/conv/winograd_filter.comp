#version 450
// Filters of 3x3 that are known only at run time, brought to the T x T points of Winograd's F(TILE, 3) in both directions, and
// laid out as the matrix products read them. One invocation transforms the taps of four output channels for one channel of the
// input.
//
// macro          | meaning
// TILE           | 2 or 4
// ELEM_F32, _F16 | type of w; tiles are float32
//
// w: [channels][3][3][k, padded to 4]. Tiles: [T x T points][tile][k, padded to 4][tn4] quads of 4 channels.
#include "common.glsl"
#include "divide.glsl"
#include "tensor.glsl"
#include "winograd.glsl"

#ifdef ELEM_F16
layout(set = 0, binding = 0) readonly buffer W { uint w[]; };
float loadW(uint i) { return unpackHalf2x16(w[i >> 1])[i & 1u]; }
#else
layout(set = 0, binding = 0) readonly buffer W { float w[]; };
float loadW(uint i) { return w[i]; }
#endif
layout(set = 0, binding = 1) writeonly buffer Tiles { vec4 tiles[]; };

layout(push_constant) uniform P {
    uint count;         // invocations: quads of all tiles at one point
    Divisor tn4, k4;    // quads of a row of a tile; rows of a tile
    uint channels, k;   // of w
    uint turn;          // 1: taps of w are in reverse order
};

void main() {
    uint id = flatIndex();
    if (id >= count) return;
    uint j, row;
    uint tile = divide(divide(id, tn4, j), k4, row);
    uint n = (tile * tn4.value + j) * 4u;
    // The last channel is repeated where there are no more: the excess is masked, and the loads need no condition.
    bvec4 inside = lessThan(uvec4(n, n + 1u, n + 2u, n + 3u), uvec4(row < k ? channels : 0u));
    uvec4 at = min(uvec4(n, n + 1u, n + 2u, n + 3u), uvec4(channels - 1u)) * 9u * k4.value + row;
    uint pitch = k4.value;
    if (turn != 0u) {
        at += 8u * pitch;
        pitch = -pitch;
    }

    vec4 columns[3][T]; // [x][point]
    [[unroll]] for (uint x = 0u; x < 3u; x++) {
        vec4 g[3];
        [[unroll]] for (uint y = 0u; y < 3u; y++) {
            uvec4 tap = at + (3u * y + x) * pitch;
            g[y] = mix(vec4(0), vec4(loadW(tap.x), loadW(tap.y), loadW(tap.z), loadW(tap.w)), inside);
        }
        columns[x] = filterToPoints(g);
    }
    [[unroll]] for (uint py = 0u; py < T; py++) {
        vec4 v[T] = filterToPoints(vec4[3](columns[0][py], columns[1][py], columns[2][py]));
        [[unroll]] for (uint px = 0u; px < T; px++) tiles[id + (py * T + px) * count] = v[px];
    }
}
