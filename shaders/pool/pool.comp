#version 450
// Pooling: one invocation computes four neighbouring channels of one output pixel. Positions outside of
// the image do not count.
//
//   POOL_AVERAGE, POOL_MAX, POOL_L2; ELEM_F32, ELEM_F16, ELEM_Q8
//   TEXEL  x is read through a texel buffer
#include "common.glsl"
#include "divide.glsl"
#include "tensor.glsl"

#if defined(TEXEL) && defined(ELEM_F32)
layout(set = 0, binding = 0) uniform samplerBuffer x;
#define LOAD(p) texelFetch(x, int(p))
#elif defined(TEXEL)
layout(set = 0, binding = 0) uniform usamplerBuffer x;
#define LOAD(p) unpackQuad8(texelFetch(x, int(p)).x ^ flip, 0u)
#else
layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
#ifdef ELEM_Q8
#define LOAD(p) unpackQuad8(x[p] ^ flip, 0u)
#else
#define LOAD(p) unpackQuad(x[p])
#endif
#endif
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;
    Divisor quads;                 // of a pixel
    Divisor yWidth, yHeight;
    int width, height;             // of x
    int strideX, strideY;
    int left, top;                 // padding
    int windowX, windowY;
#ifdef ELEM_Q8
    int low, high;
    uint off;                      // see unpackQuad8
#else
    float low, high;
#endif
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q, px, py;
    uint image = divide(divide(divide(i, quads, q), yWidth, px), yHeight, py);
    int x0 = int(px) * strideX - left, y0 = int(py) * strideY - top;
    int x1 = min(x0 + windowX, width), y1 = min(y0 + windowY, height);
    x0 = max(x0, 0);
    y0 = max(y0, 0);
#if defined(ELEM_Q8)
    uint flip = off * 0x01010101u;
    ivec4 acc = ivec4(0);
#elif defined(POOL_MAX)
    vec4 acc = vec4(uintBitsToFloat(0xff800000u)); // -infinity
#else
    vec4 acc = vec4(0.0);
#endif
    for (int r = y0; r < y1; r++) {
        uint p = (image * uint(height) + uint(r)) * uint(width) * quads.value + uint(x0) * quads.value + q;
        for (int k = x0; k < x1; k++) {
            VALUE v = LOAD(p);
#if defined(POOL_MAX)
            acc = max(acc, v);
#elif defined(POOL_L2)
            acc += v * v;
#else
            acc += v;
#endif
            p += quads.value;
        }
    }
    int taps = max((x1 - x0) * (y1 - y0), 1);
#ifdef ELEM_Q8
#ifdef POOL_AVERAGE
    // Rounded half away from zero, in the stored integers.
    acc -= int(off) * taps;
    int half_ = taps / 2;
    acc = (acc + mix(ivec4(-half_), ivec4(half_), greaterThan(acc, ivec4(0)))) / taps;
#else
    acc -= int(off);
#endif
    y[i] = packQuad8(clamp(acc, low, high));
#else
#if defined(POOL_AVERAGE)
    acc /= float(taps);
#elif defined(POOL_L2)
    acc = sqrt(acc / float(taps));
#endif
    y[i] = packQuad(clamp(acc, low, high));
#endif
}
