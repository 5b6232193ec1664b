#version 450
// Convolution as an implicit matrix product, float, through shared memory. One workgroup of LOCAL_X x LOCAL_Y invocations
// computes BM output pixels times BN output channels; one invocation every LOCAL_Y-th of these pixels times every
// LOCAL_X-th quad of these channels.
//
// y[p][n] = clamp(bias[n] + sum over taps t, channels k of x[window(p) at t][k] * w[t][k][n], lo, hi)
//
// macro            | meaning
// BM, BN           | tile: pixels, channels
// LOCAL_X, LOCAL_Y | shape of a workgroup; they divide BN/4 and BM
// TAPS             | 1: any window, stride, dilation, padding; 0: 1x1 without any of them, pixels are rows of x
// ELEM_F32, _F16   | type of x and y; sums are float32
//
// Weights: [tile of BN channels][tap][k, padded to 4][BN/4] quads of 4 channels. Workgroups: x counts tiles of pixels, y
// tiles of channels.
#include "common.glsl"
#include "tensor.glsl"
#include "window.glsl"

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) readonly buffer W { vec4 w[]; };
layout(set = 0, binding = 2) readonly buffer B { vec4 bias[]; };
layout(set = 0, binding = 3) writeonly buffer Y { QUAD y[]; };

layout(push_constant) uniform P {
    int pixels;   // rows of y
    int kq;       // quads of a row of x; TAPS: of those that a sum reads
    int outQuads; // quads of a row of y
    float lo, hi;
#if TAPS
    int pitch;      // as in gemm_float.comp
    int groupQuads;
    int inH, inW, outH, outW;
    int kH, kW;
    int strideH, strideW, dilationH, dilationW, padTop, padLeft;
#endif
};

const int TM = BM / LOCAL_Y;                  // pixels of an invocation
const int TN4 = BN / 4 / LOCAL_X;             // quads of an invocation
const int BK4 = 4;                            // quads of x at a time
const int THREADS = LOCAL_X * LOCAL_Y;
const int LOAD_X = BM * BK4 / THREADS;        // quads that an invocation brings of x
const int LOAD_W = 4 * BK4 * BN / 4 / THREADS; // and of w

shared vec4 xs[BM * BK4];         // [pixel][quad]
shared vec4 ws[4 * BK4 * BN / 4]; // [k][quad]

void main() {
    int lx = int(gl_LocalInvocationID.x), ly = int(gl_LocalInvocationID.y);
    int me = ly * LOCAL_X + lx;
    int p0 = int(gl_WorkGroupID.x) * BM;
    int tile = int(gl_WorkGroupID.y);

    vec4 acc[TM][TN4];
    [[unroll]] for (int m = 0; m < TM; m++)
        [[unroll]] for (int j = 0; j < TN4; j++) acc[m][j] = vec4(0);

    // The rows of x that this invocation brings: pixel and quad of each are the same for all taps.
#if TAPS
    ivec3 origin[LOAD_X];
    [[unroll]] for (int i = 0; i < LOAD_X; i++)
        origin[i] = windowOrigin(clamp(p0 + (me + i * THREADS) / BK4, 0, max(pixels - 1, 0)), max(outW, 1), max(outH, 1), inH,
                                 ivec2(strideH, strideW), ivec2(padTop, padLeft));
    int wi = tile * kH * kW * kq * BN;
    int behind = tile * (BN / 4) / max(groupQuads, 1) * kq;
    for (int ky = 0; ky < kH; ky++) {
        for (int kx = 0; kx < kW; kx++) {
            int row[LOAD_X];
            bool ok[LOAD_X];
            [[unroll]] for (int i = 0; i < LOAD_X; i++) {
                int iy = origin[i].y + ky * dilationH, ix = origin[i].z + kx * dilationW;
                ok[i] = inside(iy, inH) && inside(ix, inW);
                row[i] = ok[i] ? ((origin[i].x + iy) * inW + ix) * pitch + behind : 0;
            }
#else
    int row[LOAD_X];
    [[unroll]] for (int i = 0; i < LOAD_X; i++) row[i] = min(p0 + (me + i * THREADS) / BK4, pixels - 1) * kq;
    int wi = tile * kq * BN;
    {
        {
#endif
            for (int q0 = 0; q0 < kq; q0 += BK4) {
                barrier(); // nobody reads the operands before these any more
                [[unroll]] for (int i = 0; i < LOAD_X; i++) {
                    int q = q0 + ((me + i * THREADS) & (BK4 - 1));
                    vec4 v = unpackQuad(x[row[i] + min(q, kq - 1)]);
#if TAPS
                    v = ok[i] ? v : vec4(0);
#endif
                    xs[me + i * THREADS] = q < kq ? v : vec4(0);
                }
                int left = (kq - q0) * BN; // quads of w for this tap from here on
                [[unroll]] for (int i = 0; i < LOAD_W; i++) {
                    int at = me + i * THREADS;
                    vec4 v = w[wi + q0 * BN + min(at, left - 1)];
                    ws[at] = at < left ? v : vec4(0);
                }
                barrier();
                [[unroll]] for (int q = 0; q < BK4; q++) {
                    vec4 xv[TM];
                    [[unroll]] for (int m = 0; m < TM; m++) xv[m] = xs[(ly + m * LOCAL_Y) * BK4 + q];
                    [[unroll]] for (int c = 0; c < 4; c++)
                        [[unroll]] for (int j = 0; j < TN4; j++) {
                            vec4 wv = ws[(4 * q + c) * (BN / 4) + lx + j * LOCAL_X];
                            [[unroll]] for (int m = 0; m < TM; m++) acc[m][j] += xv[m][c] * wv;
                        }
                }
            }
            wi += kq * BN;
        }
    }

    [[unroll]] for (int j = 0; j < TN4; j++) {
        int nq = tile * (BN / 4) + lx + j * LOCAL_X;
        if (nq < outQuads) {
            vec4 b = bias[nq];
            [[unroll]] for (int m = 0; m < TM; m++) {
                int p = p0 + ly + m * LOCAL_Y;
                if (p < pixels) y[p * outQuads + nq] = packQuad(clamp(acc[m][j] + b, lo, hi));
            }
        }
    }
}
