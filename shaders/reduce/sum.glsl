// Element types of the summing kernels; see sum_column.comp.
#include "tensor.glsl"
#include "fixedpoint.glsl"

#if defined(FROM_F32)
#define FROM vec4
#define SUM vec4
vec4 loadSum(vec4 q) { return q; }
#elif defined(FROM_F16)
#define FROM uvec2
#define SUM vec4
vec4 loadSum(uvec2 q) { return unpackHalf4(q); }
#elif defined(FROM_I32)
#define FROM ivec4
#define SUM ivec4
ivec4 loadSum(ivec4 q) { return q; }
#else
#define FROM uint
#define SUM ivec4
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

layout(set = 0, binding = 0) readonly buffer X { FROM x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { TO y[]; };

#if defined(TO_F32) || defined(TO_F16)
#define SUM_PARAMETERS float factor; float low; float high;
#else
// off: 128 where x holds signed bytes, which then count as q + 128. Sums of x less bias are sums of
// q - zero point.
#define SUM_PARAMETERS uint off; int bias; int multiplier; int leftShift; int rightShift; int zero; int low; int high;
#endif
