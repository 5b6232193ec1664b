#version 450
// Finds whether keys are in an ascending list, and where. One invocation looks for a quad of keys, by bisection; a list that does
// not ascend only gives wrong results.
#include "common.glsl"

layout(set = 0, binding = 0) readonly buffer L { ivec4 lookups[]; };
layout(set = 0, binding = 1) readonly buffer K { int keys[]; };
layout(set = 0, binding = 2) writeonly buffer I { ivec4 index[]; };  // -1 where a key is missing
layout(set = 0, binding = 3) writeonly buffer H { uint hits[]; };    // 1 or 0, a byte each
layout(push_constant) uniform P {
    uint count;
    uint size;  // keys
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    ivec4 wanted = lookups[i], found = ivec4(-1);
    uint hit = 0u;
    [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
        uint low = 0u, high = size;
        while (low < high) {
            uint middle = (low + high) / 2u;
            if (keys[middle] < wanted[lane]) {
                low = middle + 1u;
            } else {
                high = middle;
            }
        }
        if (low < size && keys[low] == wanted[lane]) {
            found[lane] = int(low);
            hit |= 1u << (8u * lane);
        }
    }
    index[i] = found;
    hits[i] = hit;
}
