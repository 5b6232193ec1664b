#version 450
// Self-test of a device: one invocation writes one record of behaviour that kernels rely on, for the host to
// compare with the right values (gpu/selftest.go). Small, because compiling it delays the first use of a device.
//
// macro | meaning
// DOT   | 1: with the packed integer dot product, as conv/gemm_q8.comp declares it
#include "common.glsl"

#if DOT
#extension GL_EXT_spirv_intrinsics : require
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4452)
int dotSU(uint signedWord, uint unsignedWord, spirv_literal int packedFormat);
#endif
layout(set = 0, binding = 0) uniform usamplerBuffer words; // r32ui
layout(set = 0, binding = 1) uniform usamplerBuffer quads; // rgba32ui
layout(set = 0, binding = 2) uniform samplerBuffer floats; // rgba32f
layout(set = 0, binding = 3) uniform usamplerBuffer pairs; // rg32ui
layout(set = 0, binding = 4) writeonly buffer R { uvec4 record[]; };

layout(push_constant) uniform P {
    uint count;      // records
    uint iterations; // of the loop
};

// One wrong lane changes the sum.
uint fold(uvec4 v) { return v.x + 3u * v.y + 5u * v.z + 7u * v.w; }

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    int at = int(i);
    uvec4 a = texelFetch(quads, 2 * at);
    uvec4 b = texelFetch(quads, 2 * at + 1);
    uint w = texelFetch(words, at).x;
    uvec2 pair = texelFetch(pairs, at).xy;
    ivec4 high, low;
    imulExtended(ivec4(a), ivec4(b), high, low);
    uvec4 uhigh, ulow;
    umulExtended(a, b, uhigh, ulow);
    uint dotted = 0u;
#if DOT
    dotted = uint(dotSU(a.x, b.x, 0));
#endif
    // Stores are few and whole, because newer Mesa takes long to compile each.
    uint r = 3u * i;
    record[r] = uvec4(fold(uvec4(high)), fold(uvec4(low)), fold(uhigh), fold(ulow));
    uvec4 f = floatBitsToUint(texelFetch(floats, at));
    record[r + 1u] = uvec4(fold(f), w, pair);

    // Last, because a device that ends loops early may end the invocation with them. The hash keeps the
    // compiler from computing the result without the loop.
    uint done = 0u;
    uint hash = w;
    for (uint k = 0u; k < iterations; k++) {
        hash = (hash ^ k) * 16777619u;
        done++;
    }
    record[r + 2u] = uvec4(dotted, done, hash, f.w);
}
