#version 450
// The rate of products of cooperative matrices: one subgroup makes `iterations` rounds of REPEATS times CHAINS products, each
// added to a sum of its own (gpu/measure.go). The numbers in factors differ, and change from one product to the next: compilers
// for processors know when a product is the same as another.
//
// macro      | meaning
// TM, TN, TK | shape of a product: [TM, TK] times [TK, TN]
// ELEM_F16   | floats of 16 bits with sums of 32; ELEM_Q8: signed 8-bit integers with sums of 32 bits
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#include "common.glsl"

#define REPEATS 4
#define CHAINS 8
#ifdef ELEM_F16
#define IN float16_t
#define SUM float
#else
#define IN int8_t
#define SUM int
#endif
#define MATRIX_A coopmat<IN, gl_ScopeSubgroup, TM, TK, gl_MatrixUseA>
#define MATRIX_B coopmat<IN, gl_ScopeSubgroup, TK, TN, gl_MatrixUseB>
#define MATRIX_C coopmat<SUM, gl_ScopeSubgroup, TM, TN, gl_MatrixUseAccumulator>

layout(set = 0, binding = 0) writeonly buffer R { float result[]; };
layout(push_constant) uniform P {
    uint count; // invocations, in whole workgroups
    uint iterations;
    uint seed;
    float f, t; // f: half of what is added to a factor; t has no use
};

void main() {
    MATRIX_A a[CHAINS], more = MATRIX_A(IN(f * 2.0));
    MATRIX_B b;
    MATRIX_C sums[CHAINS];
    int lane = int(gl_LocalInvocationID.x);
    [[unroll]] for (int i = 0; i < b.length(); i++) b[i] = IN(lane + i & 7);
    [[unroll]] for (int k = 0; k < CHAINS; k++) {
        [[unroll]] for (int i = 0; i < a[k].length(); i++) a[k][i] = IN(lane + 3 * i + k & 15);
        sums[k] = MATRIX_C(SUM(seed));
    }
    for (uint round = 0u; round < iterations; round++) {
        [[unroll]] for (int n = 0; n < REPEATS; n++) {
            [[unroll]] for (int k = 0; k < CHAINS; k++) {
                sums[k] = coopMatMulAdd(a[k], b, sums[k]);
                a[k] += more;
            }
        }
    }
    MATRIX_C sum = sums[0];
    [[unroll]] for (int k = 1; k < CHAINS; k++) sum += sums[k];
    result[flatIndex()] = float(sum[0]);
}
