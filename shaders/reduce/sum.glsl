// Element types of the summing kernels; see sum_column.comp.
#include "tensor.glsl"
#include "fixedpoint.glsl"

#if defined(FROM_F32)
#define FROM vec4
#define LINE 4u
#define SUM vec4
vec4 loadSum(vec4 q) { return q; }
#elif defined(FROM_F16)
#define FROM uvec2
#define LINE 8u
#define SUM vec4
vec4 loadSum(uvec2 q) { return unpackHalf4(q); }
#elif defined(FROM_I32)
#define FROM ivec4
#define LINE 4u
#define SUM ivec4
ivec4 loadSum(ivec4 q) { return q; }
#else
#define FROM uint
#ifdef WIDE
#define LINE 4u
#else
#define LINE 16u
#endif
#define SUM ivec4

// Sums of the bytes of up to 256 words, each at its place, since shifting them would take longer than everything else.
struct Bytes {
    uint even; // of bytes 0 and 2, in halves of 16 bits
    uint odd;  // 2^8 times that of byte 1
    float top; // 2^24 times that of byte 3 less 128
};

const Bytes noBytes = Bytes(0u, 0u, 0.0);

// w has its highest bit inverted: byte 3 is a signed number, less by 128.
void add(inout Bytes b, uint w) {
    b.even += w & 0x00ff00ffu;
    b.odd += w & 0xff00u;
    b.top += float(int(w & 0xff000000u));
}

// The totals in b after so many words.
ivec4 total(Bytes b, uint words) {
    return ivec4(b.even & 0xffffu, b.odd >> 8, b.even >> 16, int(b.top * 5.9604644775390625e-8) + int(128u * words));
}
#endif

#if defined(TO_F32)
#define TO vec4
#elif defined(TO_F16)
#define TO uvec2
#elif defined(TO_I32)
#define TO ivec4
#else
#define TO uint
#endif

#include "reach.glsl"
layout(set = 0, binding = 1) writeonly buffer Y { TO y[]; };

#if defined(TO_F32) || defined(TO_F16)
#define SUM_PARAMETERS float factor; float low; float high;
#else
// off: 128 where x holds signed bytes, which then count as q + 128. Sums of x less bias are sums of
// q - zero point.
#define SUM_PARAMETERS uint off; int bias; int multiplier; int leftShift; int rightShift; int zero; int low; int high;
#endif
