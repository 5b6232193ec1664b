#version 450
// One invocation computes one quad of z = a op b of 8-bit tensors, each with its own scale and zero point,
// in the fixed-point arithmetic of TensorFlow Lite's reference kernels (fixedpoint.glsl).
//
// The variant defines BROADCAST (broadcast.glsl) and one of
//   OP_addsub  a + b, or a - b with the negate flag: inputs shifted left by 20, rescaled to twice the larger
//              input scale, summed, rescaled
//   OP_mul     product, rescaled
//   OP_maxmin  maximum, or minimum with the negate flag, of the inputs rescaled to the output
//   OP_prelu   a, or a * b where a is negative, each with its multiplier
//   OP_sqdiff  inputs shifted left by 7, rescaled to twice the larger scale, subtracted, squared, rescaled
#include "common.glsl"
#include "tensor.glsl"
#include "fixedpoint.glsl"
#include "broadcast.glsl"

layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) readonly buffer B { uint b[]; };
layout(set = 0, binding = 2) writeonly buffer Z { uint z[]; };
layout(push_constant) uniform P {
    uint count;           // quads
    uint off;             // 128 for signed elements, else 0
    int negate;           // 0 or -1
    int zeroA, zeroB, zeroZ;
    int lo, hi;           // bounds of the output with its activation, less zeroZ
    int m0, m1, m2;       // multipliers
    int s0, s1, s2;       // and their shifts, positive to the left
    uint flags;           // see broadcast.glsl
    BROADCAST_PUSH
};

ivec4 rescale(ivec4 v, int m, int s) { return requantize4(v, m, max(s, 0), max(-s, 0)); }

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
