#version 450
// z is x where the mask, one byte for each element, is not zero, else y. One invocation makes one quad of z.
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
