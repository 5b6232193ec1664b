#version 450
// BOX_WITH_NMS_LIMIT: one invocation counts how many boxes of a list stay if an image may keep no more than a limit: those that
// fewer boxes than that precede, by rank, and among equal ranks by class. Invocations of slots that begin no list write 0.
#include "common.glsl"
#include "divide.glsl"
#include "nms.glsl"

layout(set = 0, binding = 0) readonly buffer N { uvec2 counts[]; }; // nms_select.comp
layout(set = 0, binding = 1) readonly buffer K { uvec4 kept[]; };
layout(set = 0, binding = 2) writeonly buffer S { uint sums[]; };
layout(push_constant) uniform P {
    uint count;     // slots
    Divisor stride; // slots in a row
    uint classes;
    uint limit;     // 0xffffffff: none
};

// How many boxes of the list at slot `at` precede one of that rank; equal: boxes of the same rank precede it too.
uint preceding(uint at, float rank, bool equal) {
    uint n = counts[at].x, found = 0u;
    [[unroll]] for (uint step = 1u << 14; step > 0u; step >>= 1) { // lower/nms.go: nmsRows
        uint to = found + step;
        if (to <= n) {
            float other = uintBitsToFloat(kept[at + (to - 1u) * stride.value].z);
            if (other > rank || equal && other == rank) {
                found = to;
            }
        }
    }
    return found;
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint c;
    uint row = divide(i, stride, c);
    uint n = c > 0u && c < classes ? counts[i].x : 0u;
    if (n > 0u && limit != 0xffffffffu) {
        uint low = 0u, high = n;
        while (low < high) {
            uint middle = (low + high) / 2u;
            float rank = uintBitsToFloat(kept[i + middle * stride.value].z);
            uint before = middle;
            for (uint k = 1u; k < classes; k++) {
                if (k != c) {
                    before += preceding(row * stride.value + k, rank, k < c);
                }
            }
            if (before < limit) {
                low = middle + 1u;
            } else {
                high = middle;
            }
        }
        n = low;
    }
    sums[i] = n;
}
