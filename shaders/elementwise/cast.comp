#version 450
// One invocation computes one quad of y = x converted to another type. The variant defines FROM_x and
// TO_x, x one of f32, f16, i32, u8. To integers: towards zero; out of range gives the nearest number of
// the type. To u8: clamped to 0..255, as NNAPI's reference does.
#include "common.glsl"
#include "tensor.glsl"

#if defined(FROM_f32)
#define FROM vec4
#elif defined(FROM_f16)
#define FROM uvec2
#elif defined(FROM_i32)
#define FROM ivec4
#else
#define FROM uint
#endif
#if defined(TO_f32)
#define TO vec4
#elif defined(TO_f16)
#define TO uvec2
#elif defined(TO_i32)
#define TO ivec4
#else
#define TO uint
#endif

layout(set = 0, binding = 0) readonly buffer X { FROM x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { TO y[]; };
layout(push_constant) uniform P {
    uint count;    // quads
    uint rowQuads; // in a row
    uint c;        // elements in a row
};

// Towards zero; NaN gives 0. 2147483520 is the largest float below 2^31.
ivec4 truncate(vec4 v) {
    ivec4 n = ivec4(clamp(v, -2147483648.0, 2147483520.0));
    n = mix(n, ivec4(0x7fffffff), greaterThanEqual(v, vec4(2147483648.0)));
    return mix(n, ivec4(0), isnan(v));
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
#if defined(FROM_f32)
    vec4 v = x[i];
#elif defined(FROM_f16)
    vec4 v = unpackHalf4(x[i]);
#elif defined(FROM_i32)
    ivec4 v = x[i];
#else
    ivec4 v = unpackQuad8(x[i], 0u);
#endif
#if defined(FROM_f32) || defined(FROM_f16)
    ivec4 whole = truncate(v);
#else
    ivec4 whole = v;
#endif
#if defined(TO_f32)
    y[i] = clearPadding(vec4(v), i, rowQuads, c);
#elif defined(TO_f16)
    y[i] = packHalf4(clearPadding(vec4(v), i, rowQuads, c));
#elif defined(TO_i32)
    y[i] = whole;
#else
    y[i] = packQuad8(clamp(whole, 0, 255));
#endif
}
