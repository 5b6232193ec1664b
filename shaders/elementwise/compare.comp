#version 450
// One invocation computes one quad of z = a ? b, bytes of 0 and 1; ? is any comparison.
//
// `when` has a bit for each relation of two elements that makes the comparison true, so that all comparisons share the
// kernels. The variant defines the element type of a and b (ELEM_x as in tensor.glsl; booleans are ELEM_Q8) and BROADCAST
// (broadcast.glsl). 8-bit elements are compared as float32 numbers (x - zero) * scale.
#include "common.glsl"
#include "tensor.glsl"
#include "order.glsl"
#include "broadcast.glsl"

#ifdef ELEM_Q8
#define BITS uint
#endif

layout(set = 0, binding = 0) readonly buffer A { BITS a[]; };
layout(set = 0, binding = 1) readonly buffer B { BITS b[]; };
layout(set = 0, binding = 2) writeonly buffer Z { uint z[]; };
layout(push_constant) uniform P {
    uint count; // quads
    int when;   // 1: a < b, 2: a = b, 4: a > b, 8: one of them is NaN
    uint flags; // see broadcast.glsl
#ifdef ELEM_Q8
    uint off;            // 128 for signed elements, else 0
    int top;             // greater elements count as this one: 1 for booleans
    int zeroA, zeroB;
    float scaleA, scaleB; // those of the tensors times a power of two, so that no product is a denormal number
#endif
    BROADCAST_PUSH
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uvec2 at = OPERAND_QUADS(i);
#ifdef ELEM_Q8
    precise vec4 x = vec4(min(SPLAT_A(unpackQuad8(a[at.x], off)), ivec4(top)) - zeroA) * scaleA;
    precise vec4 y = vec4(min(SPLAT_B(unpackQuad8(b[at.y], off)), ivec4(top)) - zeroB) * scaleB;
#else
    ivec4 x = SPLAT_A(keysOf(a[at.x]));
    ivec4 y = SPLAT_B(keysOf(b[at.y]));
#endif
    ivec4 relation = mix(mix(ivec4(4), ivec4(2), equal(x, y)), ivec4(1), lessThan(x, y));
#if defined(ELEM_F32) || defined(ELEM_F16)
    relation = mix(relation, ivec4(8), equal(max(x, y), ivec4(nnUnordered)));
#endif
    z[i] = packQuad8(ivec4(notEqual(relation & when, ivec4(0))));
}
