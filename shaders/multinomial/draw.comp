#version 450
// The classes that RANDOM_MULTINOMIAL draws: the first whose sum is above a random part of the whole. One invocation draws four
// samples of a row, using the four words that the generator gives for their position.
#include "common.glsl"
#include "divide.glsl"
#include "philox.glsl"

layout(set = 0, binding = 0) readonly buffer S { float sums[]; };
layout(set = 0, binding = 1) readonly buffer K { uint seeds[]; };
layout(set = 0, binding = 2) writeonly buffer Y { ivec4 y[]; };
layout(push_constant) uniform P {
    uint count;    // quads
    Divisor quads; // of a row of samples
    uint pitch;    // of a row of sums with its padding
    uint classes;
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q;
    uint row = divide(i, quads, q);
    uvec4 bits = philox(uvec4(q, row, 0u, 0u), uvec2(seeds[0], seeds[1]));
    uint first = row * pitch;
    float whole = sums[first + classes - 1u];
    vec4 part = vec4(bits >> 8) * (1.0 / 16777216.0) * whole;
    ivec4 drawn;
    [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
        uint low = 0u, high = classes - 1u;
        while (low < high) {
            uint middle = (low + high) / 2u;
            if (sums[first + middle] > part[lane]) {
                high = middle;
            } else {
                low = middle + 1u;
            }
        }
        drawn[lane] = int(low);
    }
    y[i] = drawn;
}
