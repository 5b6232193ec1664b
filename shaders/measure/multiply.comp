#version 450
// The rate of multiply-adds: one invocation makes `iterations` rounds of REPEATS times CHAINS sums,
// each of a vector of four or of a packed dot product (gpu/measure.go). The CHAINS do not depend on each other; more
// would not fit the sixteen registers of a CPU.
//
// macro | meaning
// F16   | 1: vectors of 16-bit floats
// DOT   | 1: packed dot products of four 8-bit integers, as conv/gemm_q8.comp declares them
#include "common.glsl"

#define REPEATS 4

#if DOT
#define CHAINS 12
#extension GL_EXT_spirv_intrinsics : require
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4452)
int dotSU(uint signedWord, uint unsignedWord, spirv_literal int packedFormat);
#define VALUE int
#define START(i, k) int(seed) + i * CHAINS + k
#define NEXT(v) v += dotSU(uint(v), seed, 0)
#define SUM(v) float(v)
#elif F16
#define CHAINS 3
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define VALUE f16vec4
#define FACTOR float16_t
#define START(i, k) f16vec4(float16_t(i & 15) + float16_t(k))
#define NEXT(v) v = v * factor + term
#define SUM(v) float(v.x + v.y + v.z + v.w)
#else
#define CHAINS 3
#define VALUE vec4
#define FACTOR float
#define START(i, k) vec4(float(i), float(k), 1.0, 2.0)
#define NEXT(v) v = v * factor + term
#define SUM(v) (v.x + v.y + v.z + v.w)
#endif

layout(set = 0, binding = 0) writeonly buffer R { float result[]; };
layout(push_constant) uniform P {
    uint count;      // invocations
    uint iterations; // rounds, at most 60,000
    uint seed;
    float f, t; // so that sums stay finite: f below 1
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
#if !DOT
    FACTOR factor = FACTOR(f); // a vector times a number, as in the matrix kernels
    VALUE term = VALUE(t);
#endif
    VALUE v[CHAINS];
    [[unroll]] for (int k = 0; k < CHAINS; k++) v[k] = START(int(i), k);
    for (uint round = 0u; round < iterations; round++) {
        [[unroll]] for (int n = 0; n < REPEATS; n++) {
            [[unroll]] for (int k = 0; k < CHAINS; k++) { NEXT(v[k]); }
        }
    }
    float sum = 0.0;
    [[unroll]] for (int k = 0; k < CHAINS; k++) sum += SUM(v[k]);
    result[i] = sum;
}
