#version 450
// One invocation computes one word of y = table[x]: any function of one 8-bit tensor, including
// requantisation. The table has one texel for each value of the stored byte, with the result in its low byte.
#include "common.glsl"

layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) uniform usamplerBuffer table;
layout(set = 0, binding = 2) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform P {
    uint count; // words
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uvec4 at = (uvec4(x[i]) >> uvec4(0u, 8u, 16u, 24u)) & 0xffu;
    y[i] = texelFetch(table, int(at.x)).x | (texelFetch(table, int(at.y)).x << 8) |
           (texelFetch(table, int(at.z)).x << 16) | (texelFetch(table, int(at.w)).x << 24);
}
