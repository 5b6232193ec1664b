#version 450
// Texels of an image as the quads of a tensor [layers, height, width, channels] of at most 4 channels. One
// invocation makes one quad of one texel. nn.Image documents what becomes of a channel.
//
// macro    | meaning
// FROM_U8  | texels of 1 to 4 bytes, which lie across words
// FROM_F16 | texels of four half floats: two words
// ELEM_x   | type of the tensor, see tensor.glsl
//
// Others may write the image meanwhile, so no index depends on its content, and each is within x.
#include "common.glsl"
#include "divide.glsl"
#include "tensor.glsl"
#if defined(FROM_F16) && defined(ELEM_Q8)
#include "math.glsl"
#endif

layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;      // texels
    Divisor width;   // of a row
    uint stride;     // texels from row to row
    uint last;       // word of x
    uint channels;   // of the tensor
#ifdef FROM_U8
    uint bytes;      // of a texel
#endif
#ifdef ELEM_Q8
    int zero;        // FROM_U8: 0, signed tensors 128
#ifdef FROM_F16
    float scale;
    int lo, hi;      // of the type
#endif
#endif
};

#ifndef ELEM_Q8
vec4 used(vec4 v) { return mix(vec4(0.0), v, lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(channels))); }
#endif

#if defined(FROM_U8) && !defined(ELEM_Q8)
// c / 255, rounded correctly: 1/255 is cut in two so that c times the first part is exact.
vec4 normalise(uvec4 c) {
    vec4 v = vec4(c);
    precise vec4 n = v * 0.00392150878906250 + v * 5.983839201917363e-8; // 0x1.01p-8, 0x1.010102p-24
    return n;
}
#endif

#if defined(FROM_U8) && defined(ELEM_F16)
// The nearest half floats, packed; packHalf2x16 by itself may round to either side. For 0 and 2^-14 <= v <= 1.
uvec2 packNearest(vec4 v) {
    uvec4 u = floatBitsToUint(v);
    u = (u + 0xfffu + ((u >> 13) & 1u)) & 0xffffe000u;
    return packHalf4(uintBitsToFloat(u));
}
#endif

#if defined(FROM_F16) && defined(ELEM_Q8)
// The integer nearest to v / scale, the even one of two, within 4097 of 0. NaN gives 0.
int nearest(uint half16, float v) {
    uint size = half16 & 0x7fffu;
    if (size == 0u || size > 0x7c00u) return 0;
    // The quotient may be off by some units in the last place, which the comparison corrects: the product is exact.
    float n = floor(clamp(v / scale, -4096.0, 4096.0));
    float low;
    precise float high = nnTwoProduct(n + 0.5, scale, low);
    precise float rest = (v - high) - low;
    int q = int(n);
    return rest > 0.0 || (rest == 0.0 && (q & 1) != 0) ? q + 1 : q;
}
#endif

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint column;
    uint row = divide(i, width, column);
    uint texel = row * stride + column;
#ifdef FROM_U8
    uint at = texel * bytes;
    uint shift = (at & 3u) * 8u;
    uint word = x[min(at >> 2, last)] >> shift;
    word |= (x[min((at >> 2) + 1u, last)] << 1) << (31u - shift);
#else
    uint at = texel * 2u;
    uvec2 words = uvec2(x[min(at, last)], x[min(at + 1u, last)]);
#endif

#if defined(FROM_U8) && defined(ELEM_Q8)
    y[i] = word ^ uint(zero) * 0x01010101u;
#elif defined(FROM_U8)
    vec4 v = used(normalise((uvec4(word) >> uvec4(0u, 8u, 16u, 24u)) & 0xffu));
#ifdef ELEM_F16
    y[i] = packNearest(v);
#else
    y[i] = v;
#endif
#elif defined(ELEM_F32)
    y[i] = used(unpackHalf4(words));
#elif defined(ELEM_F16)
    uvec2 mask = uvec2(channels > 1u ? ~0u : 0xffffu, channels > 3u ? ~0u : channels > 2u ? 0xffffu : 0u);
    y[i] = words & mask;
#else
    vec4 v = unpackHalf4(words);
    uvec4 halves = uvec4(words.x & 0xffffu, words.x >> 16, words.y & 0xffffu, words.y >> 16);
    ivec4 q = ivec4(nearest(halves.x, v.x), nearest(halves.y, v.y), nearest(halves.z, v.z), nearest(halves.w, v.w));
    y[i] = packQuad8(clamp(q + zero, lo, hi));
#endif
}
