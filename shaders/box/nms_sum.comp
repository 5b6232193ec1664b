#version 450
// BOX_WITH_NMS_LIMIT: one invocation adds up a run of elements of one level of sums, for one element of the next.
#include "common.glsl"
#include "nms.glsl"

layout(set = 0, binding = 0) buffer S { uint sums[]; };
layout(push_constant) uniform P {
    uint count; // runs
    uint from;  // where the level begins
    uint n;     // elements of the level
    uint to;    // where the next begins
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint sum = 0u;
    for (uint k = i * nnRun; k < min((i + 1u) * nnRun, n); k++) {
        sum += sums[from + k];
    }
    sums[to + i] = sum;
}
