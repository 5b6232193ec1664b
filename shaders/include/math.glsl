// Elementary functions that Vulkan specifies too loosely for NNAPI's tolerance (exp: 3 + 2|x| ulp; sin:
// 2^-11 absolute; pow, log, tanh likewise), for float and for vec4, made of additions, multiplications and
// bit patterns. Errors measured against float64 on the software devices are in units of the last place
// (ulp) of float32; nngpu's tests hold them.
//
//   nnExp(x)       e^x; 2 ulp. Infinity above 88.73, 0 or a denormal below -87.3
//   nnExpm1(x)     e^x - 1 for x <= 0, 0 above; 1 ulp
//   nnLog(x)       natural logarithm; 1 ulp. -Infinity of 0, NaN of x < 0
//   nnPow(x, y)    x^y; 2 ulp. NaN of x < 0 with a fractional y
//   nnSin(x)       2 ulp or 1.2e-7 absolute for |x| < 6e6; some number in [-1, 1] beyond
//   nnTanh(x)      2 ulp
//   nnLogistic(x)  1 / (1 + e^-x); 4 ulp
//
// NaN gives NaN. Devices may take denormal numbers for 0. Polynomials for exp, log, sin, tanh: Cephes single precision (S. Moshier).
//
// `precise` keeps the compiler from fusing or reordering operations where the terms of a sum cancel.
#ifndef NNGPU_MATH
#define NNGPU_MATH

#define nnInf uintBitsToFloat(0x7f800000u)
#define nnNaN uintBitsToFloat(0x7fc00000u)

#define F float
#define I int
#define U uint
#define B bool
#define LT(a, b) ((a) < (b))
#define GT(a, b) ((a) > (b))
#define EQ(a, b) ((a) == (b))
#include "math_body.glsl"
#undef F
#undef I
#undef U
#undef B
#undef LT
#undef GT
#undef EQ

#define F vec4
#define I ivec4
#define U uvec4
#define B bvec4
#define LT(a, b) lessThan(a, b)
#define GT(a, b) greaterThan(a, b)
#define EQ(a, b) equal(a, b)
#include "math_body.glsl"
#undef F
#undef I
#undef U
#undef B
#undef LT
#undef GT
#undef EQ

#endif
