#version 450
// Elements of x where the mask, a byte each, is not zero, else of y. One invocation makes one quad of z.
#include "common.glsl"
#include "lanes.glsl"

layout(set = 0, binding = 0) readonly buffer M { uint mask[]; };
layout(set = 0, binding = 1) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 2) readonly buffer Y { QUAD y[]; };
layout(set = 0, binding = 3) writeonly buffer Z { QUAD z[]; };
layout(push_constant) uniform P { uint count; };

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uvec4 m = (uvec4(mask[i]) >> (8u * laneIndex)) & 0xffu;
    z[i] = pack(mix(lanes(y[i]), lanes(x[i]), notEqual(m, uvec4(0u))));
}
