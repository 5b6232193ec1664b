#version 450
// A few rows times a matrix: nothing is loaded for more than one use, and all loads of a workgroup lie side by side. One
// workgroup computes BN output channels of one row: invocations divide the products of each sum among them, and add up their
// parts in shared memory, always in the same order.
//
// y[p][n] = clamp(bias[n] + sum over k of x[p][k] * w[k][n], lo, hi)
//
// macro            | meaning
// BN               | output channels of a workgroup
// LOCAL_X, LOCAL_Y | shape of a workgroup: BN/4 quads of channels, and a power of 2 of invocations that share the products
// ELEM_F32, _F16   | type of x, w and y; sums are float32
// ELEM_Q8          | 8-bit: packed dot products, as in gemm_q8.comp, exact in int32; WZP: 1: wz' is not 0
//
// Weights as in gemm_shared.comp. Workgroups: x counts tiles of channels, y rows.
#include "common.glsl"
#include "tensor.glsl"

#ifdef ELEM_Q8
#include "requant.glsl"
#extension GL_EXT_spirv_intrinsics : require
// As in gemm_q8.comp.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4452)
int dotSU(uint signedWord, uint unsignedWord, spirv_literal int packedFormat);
#define SUM ivec4
#define FILTER uvec4
#else
#define SUM vec4
#define FILTER QUAD
#endif

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) readonly buffer W { FILTER w[]; };
#ifdef ELEM_Q8
layout(set = 0, binding = 2) readonly buffer C { ivec4 channel[]; };
#include "channels.glsl"
#else
layout(set = 0, binding = 2) readonly buffer B { vec4 bias[]; };
#endif
layout(set = 0, binding = 3) writeonly buffer Y { QUAD y[]; };

layout(push_constant) uniform P {
    int kq;       // units of a row of x: quads; 8-bit: words
    int outQuads; // quads of a row of y
#ifdef ELEM_Q8
    uint flip;    // as in gemm_q8.comp
    int wz, doubleMask, zero, lo, hi;
#else
    float lo, hi;
#endif
};

shared SUM sums[LOCAL_X * LOCAL_Y];

void main() {
    int j = int(gl_LocalInvocationID.x), slice = int(gl_LocalInvocationID.y);
    int tile = int(gl_WorkGroupID.x), p = int(gl_WorkGroupID.y);
    SUM acc = SUM(0);
    for (int q = slice; q < kq; q += LOCAL_Y) {
#ifdef ELEM_Q8
        uint v = x[p * kq + q] ^ flip;
        uvec4 wv = w[(tile * kq + q) * (BN / 4) + j];
        acc += ivec4(dotSU(wv.x, v, 0), dotSU(wv.y, v, 0), dotSU(wv.z, v, 0), dotSU(wv.w, v, 0));
#if WZP
        acc -= wz * dotSU(0x01010101u, v, 0);
#endif
#else
        vec4 v = unpackQuad(x[p * kq + q]);
        [[unroll]] for (int c = 0; c < 4; c++) acc += v[c] * unpackQuad(w[((tile * kq + q) * 4 + c) * (BN / 4) + j]);
#endif
    }
    int me = slice * LOCAL_X + j;
    sums[me] = acc;
    barrier();
    [[unroll]] for (int apart = LOCAL_Y / 2; apart > 0; apart /= 2) {
        if (slice < apart) sums[me] += sums[me + apart * LOCAL_X];
        barrier();
    }
    int nq = tile * (BN / 4) + j;
    if (slice == 0 && nq < outQuads) {
#ifdef ELEM_Q8
        Channels c = channels(nq);
        y[p * outQuads + nq] = packBytes(clamp(requantize(sums[me] + c.bias, c, doubleMask) + zero, lo, hi));
#else
        y[p * outQuads + nq] = packQuad(clamp(sums[me] + bias[nq], lo, hi));
#endif
    }
}
