#version 450
// Converts images of three channels from the dense to the device form. One invocation handles four pixels:
// three units of x, four quads of y.
//
//   ELEM 1: unit = one word, r0 g0 b0 r1 | g1 b1 r2 g2 | b2 r3 g3 b3, quad = r g b 0
//   ELEM 4: unit = four words; uvec4 of y = one quad (ELEM 1: four)
#include "common.glsl"

#if ELEM == 4
#define UNIT uvec4
#else
#define UNIT uint
#endif

layout(set = 0, binding = 0) readonly buffer X { UNIT x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { uvec4 y[]; };
layout(push_constant) uniform P {
    uint count;   // groups of four pixels
    uint pixels;
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    UNIT a = x[3u * i], b = x[3u * i + 1u], c = x[3u * i + 2u];
#if ELEM == 4
    uint p = 4u * i;
    y[p] = uvec4(a.xyz, 0u);
    if (p + 1u < pixels) y[p + 1u] = uvec4(a.w, b.xy, 0u);
    if (p + 2u < pixels) y[p + 2u] = uvec4(b.zw, c.x, 0u);
    if (p + 3u < pixels) y[p + 3u] = uvec4(c.yzw, 0u);
#else
    y[i] = uvec4(a & 0xffffffu, (a >> 24) | ((b & 0xffffu) << 8), (b >> 16) | ((c & 0xffu) << 16), c >> 8);
#endif
}
