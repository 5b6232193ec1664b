#version 450
// One invocation computes one quad of z = a op b; the variant's macro OP_x names op. The variant also defines
// the element type (tensor.glsl) and BROADCAST (broadcast.glsl).
//
// Floats and integers: z = bound(a op b, lo, hi). With TEXEL a and b are rgba32f texel buffers (a third faster on
// lavapipe). Padding lanes of the inputs are zero, and so those of the result are too, unless an operand is a splat or
// f(0, 0) is not 0.
//
// 8-bit types (ELEM_Q8), where each tensor has its own scale and zero point, use the fixed-point arithmetic of TensorFlow
// Lite's reference kernels (fixedpoint.glsl):
//   OP_addsub  a + b, or a - b with the negate flag: inputs shifted left by 20, rescaled to twice the larger
//              input scale, summed, rescaled
//   OP_mul     product, rescaled
//   OP_maxmin  maximum, or minimum with the negate flag, of the inputs rescaled to the output
//   OP_prelu   a, or a * b where a is negative, each with its multiplier
//   OP_sqdiff  inputs shifted left by 7, rescaled to twice the larger scale, subtracted, squared, rescaled
#include "common.glsl"
#include "tensor.glsl"
#ifdef ELEM_Q8
#include "fixedpoint.glsl"
#else
#include "math.glsl"
#endif
#include "broadcast.glsl"

#ifdef ELEM_Q8
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) readonly buffer B { uint b[]; };
layout(set = 0, binding = 2) writeonly buffer Z { uint z[]; };
layout(push_constant) uniform P {
    uint count;           // quads
    uint off;             // 128 for signed elements, else 0
    int negate;           // 0 or -1
    int zeroA, zeroB, zeroZ;
    int lo, hi;           // bounds of the output with its activation, minus zeroZ
    int m0, m1, m2;       // multipliers
    int s0, s1, s2;       // and their shifts, positive to the left
    uint flags;           // see broadcast.glsl
    BROADCAST_PUSH
};

// -v where n is -1, v where it is 0.
ivec4 negateIf(ivec4 v, int n) { return (v ^ n) - n; }

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uvec2 at = OPERAND_QUADS(i);
    ivec4 x = SPLAT_A(unpackQuad8(a[at.x], off)) - zeroA;
    ivec4 y = SPLAT_B(unpackQuad8(b[at.y], off)) - zeroB;
#if defined(OP_addsub)
    x = rescale(x << 20, m0, s0);
    y = rescale(y << 20, m1, s1);
    ivec4 v = rescale(x + negateIf(y, negate), m2, s2);
#elif defined(OP_mul)
    ivec4 v = rescale(x * y, m0, s0);
#elif defined(OP_maxmin)
    x = rescale(x << 20, m0, s0);
    y = rescale(y << 20, m1, s1);
    ivec4 v = negateIf(max(negateIf(x, negate), negateIf(y, negate)), negate);
#elif defined(OP_prelu)
    ivec4 v = mix(rescale(x * y, m1, s1), rescale(x, m0, s0), greaterThanEqual(x, ivec4(0)));
#elif defined(OP_sqdiff)
    ivec4 d = rescale(x << 7, m0, s0) - rescale(y << 7, m1, s1);
    ivec4 v = rescale(min(d * d, ivec4(0x7fffffff >> max(s2, 0))), m2, s2);
#endif
    z[i] = packQuad8(clamp(v, lo, hi) + zeroZ);
}
#else
#ifdef TEXEL
layout(set = 0, binding = 0) uniform samplerBuffer a;
layout(set = 0, binding = 1) uniform samplerBuffer b;
#define LOAD(t, i) texelFetch(t, int(i))
#else
layout(set = 0, binding = 0) readonly buffer A { QUAD a[]; };
layout(set = 0, binding = 1) readonly buffer B { QUAD b[]; };
#define LOAD(t, i) unpackQuad(t[i])
#endif
layout(set = 0, binding = 2) writeonly buffer Z { QUAD z[]; };
layout(push_constant) uniform P {
    uint count;    // quads
    uint rowQuads; // in a row
    uint c;        // elements in a row
    float lo, hi;  // bounds of the fused activation
    uint flags;    // see broadcast.glsl
    BROADCAST_PUSH
};

VALUE f(VALUE x, VALUE y) {
#if defined(OP_add)
    return x + y;
#elif defined(OP_sub)
    return x - y;
#elif defined(OP_mul)
    return x * y;
#elif defined(OP_div) && defined(ELEM_I32)
    // Rounds to minus infinity. Division by zero, which NNAPI leaves undefined, gives 0. Division by -1 is
    // handled separately, because INT_MIN / -1 may trap on a CPU.
    ivec4 d = mix(y, ivec4(1), equal(y, ivec4(0)));
    bvec4 minusOne = equal(d, ivec4(-1));
    d = mix(d, ivec4(1), minusOne);
    ivec4 q = x / d;
    ivec4 r = x - q * d;
    q -= ivec4(notEqual(r, ivec4(0))) & ((r ^ d) >> 31 & 1);
    return mix(mix(q, -x, minusOne), ivec4(0), equal(y, ivec4(0)));
#elif defined(OP_div)
    return x / y;
#elif defined(OP_max)
    return max(x, y);
#elif defined(OP_min)
    return min(x, y);
#elif defined(OP_pow)
    return nnPow(x, y);
#elif defined(OP_prelu)
    return mix(x * y, x, greaterThanEqual(x, vec4(0.0)));
#elif defined(OP_sqdiff)
    VALUE d = x - y;
    return d * d;
#endif
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uvec2 at = OPERAND_QUADS(i);
    VALUE x = SPLAT_A(LOAD(a, at.x));
    VALUE y = SPLAT_B(LOAD(b, at.y));
    VALUE v = f(x, y);
#ifndef ELEM_I32
    v = bound(v, lo, hi);
#if BROADCAST || defined(OP_div) || defined(OP_pow)
    v = clearPadding(v, i, rowQuads, c);
#endif
#endif
    z[i] = packQuad(v);
}
#endif
