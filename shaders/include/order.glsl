// Floats and integers as integer keys in the order of the numbers: devices may treat denormal numbers as 0 and a NaN as
// anything, but not integers. -0 and 0 have the same key. A NaN has nnUnordered, which is above infinity.
//
// The variant defines one of ELEM_F32, ELEM_F16, ELEM_I32. Then
//   BITS         is the type of one quad in a buffer block,
//   keysOf(q)    are the keys of its elements.
#ifndef NNGPU_ORDER
#define NNGPU_ORDER

const int nnUnordered = 0x7fffffff;

// Keys of floats from their sign (not 0: negative) and the bits of their magnitude.
ivec4 floatKeys(ivec4 sign, ivec4 magnitude, int infinity) {
    ivec4 k = mix(magnitude, -magnitude, notEqual(sign, ivec4(0)));
    return mix(k, ivec4(nnUnordered), greaterThan(magnitude, ivec4(infinity)));
}

#if defined(ELEM_F32)
#define BITS ivec4
ivec4 keysOf(ivec4 q) { return floatKeys(q & int(0x80000000), q & 0x7fffffff, 0x7f800000); }
#elif defined(ELEM_F16)
#define BITS uvec2
ivec4 keysOf(uvec2 q) {
    ivec4 v = ivec4(q.x & 0xffffu, q.x >> 16, q.y & 0xffffu, q.y >> 16);
    return floatKeys(v & 0x8000, v & 0x7fff, 0x7c00);
}
#elif defined(ELEM_I32)
#define BITS ivec4
ivec4 keysOf(ivec4 q) { return q; }
#endif

#endif
