// How reductions read x, whose elements are FROM: FETCH(i) is quad i or, with WIDE, the four words of group i.
//
//   WIDE   of bytes in rows of whole groups of 16
//   TEXEL  of f32 and, WIDE, of bytes: through a texel buffer
#ifndef NNGPU_REACH
#define NNGPU_REACH

#ifdef WIDE
#define GROUP uvec4
#define SAMPLER usamplerBuffer
#else
#define GROUP FROM
#ifdef FOLD_PLACE
#define SAMPLER usamplerBuffer
#else
#define SAMPLER samplerBuffer
#endif
#endif

#ifdef TEXEL
layout(set = 0, binding = 0) uniform SAMPLER x;
#define FETCH(i) GROUP(texelFetch(x, int(i)))
#else
layout(set = 0, binding = 0) readonly buffer X { GROUP x[]; };
#define FETCH(i) x[i]
#endif

#endif
