// Quads of tensors: four neighbouring elements of the innermost dimension, by element type.
//
// The variant defines one of ELEM_F32, ELEM_F16, ELEM_I32, ELEM_Q8. Then
//   QUAD                    is the type of one quad in a buffer block (`buffer X { QUAD x[]; };`),
//   VALUE                   is what the kernel computes with: vec4 or ivec4,
//   unpackQuad, packQuad    convert between the two (8-bit: the kernel calls unpackQuad8, packQuad8).
// Kernels that mix types use unpackHalf4, packHalf4, unpackQuad8, packQuad8, which always exist.
//
//   f32, i32   one 128-bit word
//   f16        uvec2: x = elements 0 (low half) and 1, y = elements 2 and 3
//   8-bit      uint: element 0 in the low byte
#ifndef NNGPU_TENSOR
#define NNGPU_TENSOR

vec4 unpackHalf4(uvec2 q) { return vec4(unpackHalf2x16(q.x), unpackHalf2x16(q.y)); }

// Numbers that are too large become infinite. packHalf2x16 by itself may make them the largest number, and SwiftShader's
// conversion, which handles neither case, turns infinities into any number or NaN.
uvec2 packHalf4(vec4 v) {
    uvec2 q = uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw));
    bvec4 far = greaterThanEqual(abs(v), vec4(65520.0)); // midway between the largest number and the next
    uvec4 bits = mix(uvec4(0u), uvec4(0xffffu, 0xffff0000u, 0xffffu, 0xffff0000u), far);
    uvec4 sign = floatBitsToUint(v);
    uvec2 infinity = ((sign.xz >> 16) & 0x8000u) | (sign.yw & 0x80000000u) | 0x7c007c00u;
    return q ^ ((q ^ infinity) & (bits.xz | bits.yw));
}

#if defined(ELEM_F32)
#define QUAD vec4
#define VALUE vec4
#define unpackQuad(q) (q)
#define packQuad(v) (v)
#elif defined(ELEM_F16)
#define QUAD uvec2
#define VALUE vec4
#define unpackQuad(q) unpackHalf4(q)
#define packQuad(v) packHalf4(v)
#elif defined(ELEM_I32)
#define QUAD ivec4
#define VALUE ivec4
#define unpackQuad(q) (q)
#define packQuad(v) (v)
#elif defined(ELEM_Q8)
#define QUAD uint
#define VALUE ivec4
#endif

// The stored integers of an 8-bit quad. off is 0 for unsigned elements, 128 for signed ones.
ivec4 unpackQuad8(uint q, uint off) {
    q ^= off * 0x01010101u;
    return ivec4((uvec4(q) >> uvec4(0u, 8u, 16u, 24u)) & 0xffu) - int(off);
}

// The same as floats: bytes are converted at their place in the word, then scaled down.
vec4 unpackFloats8(uint q, uint off) {
    ivec4 v = ivec4(int(q ^ (off == 0u ? 0x80000000u : 0x00808080u))) & ivec4(0xff, 0xff00, 0xff0000, 0xff000000);
    vec4 bias = off == 0u ? vec4(0.0, 0.0, 0.0, 128.0) : vec4(-128.0, -128.0, -128.0, 0.0);
    return vec4(v) * vec4(1.0, 1.0 / 0x100, 1.0 / 0x10000, 1.0 / 0x1000000) + bias;
}

// The low bytes of four integers, which must be in the range of the element type. Products, since SwiftShader shifts each lane
// by itself; other compilers make shifts of them.
uint packQuad8(ivec4 v) {
    uvec4 u = uvec4(v) & 0xffu;
    return u.x | (u.y * 0x100u) | (u.z * 0x10000u) | (u.w * 0x1000000u);
}

// The same for 16 bits, laid out as f16; off is 0 for unsigned elements, 0x8000 for signed ones.
ivec4 unpackWide4(uvec2 q, uint off) {
    q ^= off * 0x00010001u;
    return ivec4(q.x & 0xffffu, q.x >> 16, q.y & 0xffffu, q.y >> 16) - int(off);
}

uvec2 packWide4(ivec4 v) {
    uvec4 u = uvec4(v) & 0xffffu;
    return u.xz | (u.yw << 16);
}

// clamp that lets NaN through, so that a fused activation, or none (infinite bounds), hides no fault.
vec4 bound(vec4 v, float lo, float hi) {
    v = mix(v, vec4(lo), lessThan(v, vec4(lo)));
    return mix(v, vec4(hi), greaterThan(v, vec4(hi)));
}

// v with zeroes in the padding lanes of quad i of a tensor whose rows hold c elements in rowQuads quads.
vec4 clearPadding(vec4 v, uint i, uint rowQuads, uint c) {
    uint used = c & 3u;
    if (used != 0u && i % rowQuads == rowQuads - 1u) {
        v = mix(vec4(0.0), v, lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(used)));
    }
    return v;
}

#endif
