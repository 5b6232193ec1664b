#version 450
// One invocation computes one quad of z = bound(a op b, lo, hi) of floats or integers.
//
// The variant defines the element type (tensor.glsl), BROADCAST (broadcast.glsl), one of OP_add, OP_sub,
// OP_mul, OP_div, OP_max, OP_min, OP_pow, OP_prelu, OP_sqdiff, and perhaps TEXEL: a and b are rgba32f texel
// buffers (a third faster on lavapipe).
//
// Padding lanes of the inputs are zero; so are those of the result by itself, except where an operand is a
// splat or f(0, 0) is not 0.
#include "common.glsl"
#include "tensor.glsl"
#include "math.glsl"
#include "broadcast.glsl"

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
    // apart, because INT_MIN / -1 may trap where a CPU divides.
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
