#version 450
// The rate of memory: one invocation reads EACH texels of 16 bytes, and writes them or their sum. A long dispatch wraps
// around to the beginnings of both buffers, so that they stay in a cache (gpu/measure.go).
//
// macro | meaning
// TEXEL | 1: reads a texel buffer instead of a storage buffer
// SUM   | 1: writes the sum
#include "common.glsl"

#define EACH 4u

#if TEXEL
layout(set = 0, binding = 0) uniform samplerBuffer x; // rgba32f
#define LOAD(i) texelFetch(x, int(i))
#else
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
#define LOAD(i) x[i]
#endif
layout(set = 0, binding = 1) writeonly buffer Y { vec4 y[]; };
layout(push_constant) uniform P {
    uint count; // invocations
    uint mask;  // each buffer wraps around after mask + 1 texels
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    vec4 sum = vec4(0.0);
    // Neighbours touch neighbouring texels.
    [[unroll]] for (uint k = 0u; k < EACH; k++) {
        uint at = i + k * count & mask;
#if SUM
        sum += LOAD(at);
#else
        y[at] = LOAD(at);
#endif
    }
#if SUM
    y[i & mask] = sum;
#endif
}
