#version 450
// Convolution as an implicit matrix product, or products of a batch of matrices, through shared memory. One workgroup of
// LOCAL_X x LOCAL_Y invocations computes BM output pixels times BN output channels; one invocation computes every LOCAL_Y-th
// quad of these pixels times every LOCAL_X-th quad of these channels.
//
// y[p][n] = clamp(bias[n] + sum over taps t, channels k of x[window(p) at t][k] * w[t][k][n], lo, hi)
// r[p][n] may be added to that (added.glsl).
//
// Operands are read in units: quads of floats, or words of 4 bytes. Units are counted through all taps, with the channels of a
// tap innermost, and a workgroup goes through them STEP at a time. The next step is loaded into registers while products of the
// step before are computed, which is why nothing is made of what is loaded before it goes to shared memory: whoever uses a value
// waits for it. An invocation loads the same unit of each step, for several rows: only where the channels of a tap
// end does it go on to the next tap and compute positions again.
//
// macro            | meaning
// BM, BN           | tile: pixels, channels
// LOCAL_X, LOCAL_Y | shape of a workgroup; they divide BN/4 and BM/4
// STEP4            | units of a step are STEP4 quads of floats or 4 * STEP4 words
// TAPS             | 1: any window, stride, dilation, padding; 0: 1x1 without any of them, pixels are rows of x
// SPLIT            | 1: workgroup z sums its part of the steps, and writes sums for gemm_sum.comp; 0: z counts products of a
//                  |    batch, without TAPS
// ROWS             | 1: w is a tensor, [channel][unit]; 0: tiles
// ELEM_F32, _F16   | type of x, w and y; sums are float32
// ELEM_Q8          | 8-bit: packed dot products, as in gemm_q8.comp, exact in int32; WZP: 1: wz' is not 0
//
// Weights in tiles: floats [tile of BN channels][tap][k, padded to 4][BN/4] quads of 4 channels; 8-bit [tile][tap][unit][BN/4]
// of 4 words. Workgroups: x counts tiles of pixels, y tiles of channels.
#include "common.glsl"
#include "tensor.glsl"
#include "window.glsl"

#ifdef ELEM_Q8
#include "requant.glsl"
#extension GL_EXT_spirv_intrinsics : require
// As in gemm_q8.comp.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4452)
int dotSU(uint signedWord, uint unsignedWord, spirv_literal int packedFormat);
#define SUM ivec4
#define STAGED uvec4
#define FILTER uvec4
#define ALL_AT_ONCE // a dot product is four instructions
#define unpackFilter(v) (v)
#if !TAPS
const uint outside = 0u;
#endif
const int WIDTH = 4; // units that STEP4 counts as one
const int DEPTH = 1; // rows in shared memory, of pixels as of channels, for each unit
#else
#define SUM vec4
#define STAGED vec4
#define FILTER QUAD
#define ALL_AT_ONCE [[unroll]]
#define unpackFilter(v) unpackQuad(v)
const int WIDTH = 1;
const int DEPTH = 4;
#endif

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) readonly buffer W { FILTER w[]; };
#if SPLIT
layout(set = 0, binding = 2) writeonly buffer S { SUM sums[]; }; // [part][pixel][quad]
#else
#ifdef ELEM_Q8
layout(set = 0, binding = 2) readonly buffer C { ivec4 channel[]; };
#include "channels.glsl"
#else
layout(set = 0, binding = 2) readonly buffer B { vec4 bias[]; };
#endif
layout(set = 0, binding = 3) writeonly buffer Y { QUAD y[]; };
layout(set = 0, binding = 4) readonly buffer R { QUAD r[]; };
#endif

layout(push_constant) uniform P {
    int pixels;   // rows of y
    int kq;       // units of a row of x; TAPS: of those that a sum reads
    int outQuads; // quads of a row of y
#if SPLIT
    int partSteps; // steps of a part
#elif !TAPS
    int nextX, nextW, nextY; // how far the next product of a batch is, in elements of the buffers
#endif
#if ROWS
    int channels; // rows of w
#endif
#ifdef ELEM_Q8
    uint flip; // as in gemm_q8.comp
    int wz;
#endif
#if !SPLIT
#ifdef ELEM_Q8
    int doubleMask, zero, lo, hi;
#else
    float lo, hi;
#endif
    int added; // see added.glsl
#endif
#if TAPS
#ifdef ELEM_Q8
    uint outside;
#endif
    int pitch;      // as in gemm_float.comp
    int groupQuads;
    int inH, inW, outH, outW;
    int kH, kW;
    int strideH, strideW, dilationH, dilationW, padTop, padLeft;
#endif
};

#if !SPLIT
#include "added.glsl"
#endif

const int TM4 = BM / 4 / LOCAL_Y; // quads of pixels of an invocation
const int TN4 = BN / 4 / LOCAL_X; // quads of channels of an invocation
const int STEP = STEP4 * WIDTH;   // units at a time
const int THREADS = LOCAL_X * LOCAL_Y;
const int LOAD_X = BM * STEP / THREADS;             // units of x that an invocation loads
const int TILE_W = STEP * DEPTH * BN / 4;           // quads of w for a step
const int LOAD_W = TILE_W / THREADS;                // quads of w that an invocation loads
const int PITCH_X = BM / 4 + 1;                     // one quad longer than a row, so that rows begin in different banks
const int PITCH_W = BN / 4 + 1;
const int BUFFERS = 2; // one is read while the other is filled

shared STAGED xs[BUFFERS * 4 * STEP4 * PITCH_X]; // [buffer][k or word][quad of pixels]
shared STAGED ws[BUFFERS * 4 * STEP4 * PITCH_W]; // [buffer][k or word][quad of channels]

void main() {
    int lx = int(gl_LocalInvocationID.x), ly = int(gl_LocalInvocationID.y);
    int me = ly * LOCAL_X + lx;
    int p0 = int(gl_WorkGroupID.x) * BM;
    int tile = int(gl_WorkGroupID.y), z = int(gl_WorkGroupID.z);

    SUM acc[4 * TM4][TN4];
    [[unroll]] for (int m = 0; m < 4 * TM4; m++)
        [[unroll]] for (int j = 0; j < TN4; j++) acc[m][j] = SUM(0);
#if defined(ELEM_Q8) && WZP
    int xsum[4 * TM4];
    [[unroll]] for (int m = 0; m < 4 * TM4; m++) xsum[m] = 0;
#endif

#if TAPS
    int units = kH * kW * kq;
#else
    int units = kq;
#endif
    int first = 0, steps = (units + STEP - 1) / STEP;
#if SPLIT
    first = z * partSteps;
    steps = min(steps - first, partSteps);
#endif
    // The unit that this invocation loads from rows (me + i * THREADS) / STEP of x, and the first unit of each.
    int unit = first * STEP + me % STEP;
    int row[LOAD_X];
#if TAPS
    int depth = max(kq, 1); // never 0, whatever the host says
    int tap = unit / depth, at = unit - tap * depth;
    int ky = tap / max(kW, 1), kx = tap - ky * kW;
    int behind = tile * (BN / 4) / max(groupQuads, 1) * kq;
    ivec3 origin[LOAD_X];
    bool ok[LOAD_X];
    [[unroll]] for (int i = 0; i < LOAD_X; i++)
        origin[i] = windowOrigin(clamp(p0 + (me + i * THREADS) / STEP, 0, max(pixels - 1, 0)), max(outW, 1), max(outH, 1), inH,
                                 ivec2(strideH, strideW), ivec2(padTop, padLeft));
    bool moved = true;
#else
    [[unroll]] for (int i = 0; i < LOAD_X; i++) row[i] = min(p0 + (me + i * THREADS) / STEP, pixels - 1) * kq;
#if !SPLIT
    [[unroll]] for (int i = 0; i < LOAD_X; i++) row[i] += z * nextX;
#endif
#endif
#if ROWS
    int wi = 0;
#else
    int wi = (tile * units + first * STEP) * DEPTH * BN / 4;
    int left = (units - first * STEP) * DEPTH * BN / 4; // quads of w in this tile from here on
#endif
#if !SPLIT && !TAPS
    wi += z * nextW;
#endif

    for (int s = 0; s <= steps; s++) {
        QUAD loadedX[LOAD_X];
        FILTER loadedW[LOAD_W];
        bool kept[LOAD_X];        // the unit of x is in the image
        bool more = unit < units; // the units are some of the sum
        if (s < steps) {
#if TAPS
            if (moved) {
                [[unroll]] for (int i = 0; i < LOAD_X; i++) {
                    int iy = origin[i].y + ky * dilationH, ix = origin[i].z + kx * dilationW;
                    ok[i] = inside(iy, inH) && inside(ix, inW);
                    row[i] = ok[i] ? ((origin[i].x + iy) * inW + ix) * pitch + behind : 0;
                }
                moved = false;
            }
#else
            int at = unit;
#endif
            [[unroll]] for (int i = 0; i < LOAD_X; i++) {
#if TAPS
                kept[i] = ok[i];
#else
                kept[i] = true;
#endif
                loadedX[i] = x[more && kept[i] ? row[i] + at : 0];
            }
            [[unroll]] for (int i = 0; i < LOAD_W; i++) {
                int j = me + i * THREADS;
#if ROWS
                int n = tile * BN + j / STEP;
                loadedW[i] = w[wi + (more && n < channels ? n * units + unit : 0)];
#else
                loadedW[i] = w[wi + min(j, left - 1)];
#endif
            }
            unit += STEP;
#if TAPS
            at += STEP;
            while (at >= depth) { // the next tap, or a later one if channels are few
                at -= depth;
                moved = true;
                if (++kx == kW) {
                    kx = 0;
                    ky++;
                }
            }
#endif
#if !ROWS
            wi += TILE_W;
            left -= TILE_W;
#endif
        }
        if (s > 0) {
            int from = ((s - 1) % BUFFERS) * 4 * STEP4 * PITCH_X, fromW = ((s - 1) % BUFFERS) * 4 * STEP4 * PITCH_W;
            ALL_AT_ONCE for (int q = 0; q < STEP4; q++) {
                [[unroll]] for (int c = 0; c < 4; c++) {
                    STAGED xv[TM4], wv[TN4];
                    [[unroll]] for (int i = 0; i < TM4; i++) xv[i] = xs[from + (4 * q + c) * PITCH_X + ly + i * LOCAL_Y];
                    [[unroll]] for (int j = 0; j < TN4; j++) wv[j] = ws[fromW + (4 * q + c) * PITCH_W + lx + j * LOCAL_X];
                    [[unroll]] for (int m = 0; m < 4 * TM4; m++) {
#ifdef ELEM_Q8
                        uint v = xv[m / 4][m % 4];
#if WZP
                        xsum[m] += dotSU(0x01010101u, v, 0);
#endif
                        [[unroll]] for (int j = 0; j < TN4; j++)
                            acc[m][j] += ivec4(dotSU(wv[j].x, v, 0), dotSU(wv[j].y, v, 0), dotSU(wv[j].z, v, 0), dotSU(wv[j].w, v, 0));
#else
                        [[unroll]] for (int j = 0; j < TN4; j++) acc[m][j] += xv[m / 4][m % 4] * wv[j];
#endif
                    }
                }
            }
        }
        if (s < steps) {
            int to = (s % BUFFERS) * 4 * STEP4 * PITCH_X, toW = (s % BUFFERS) * 4 * STEP4 * PITCH_W;
            [[unroll]] for (int i = 0; i < LOAD_X; i++) {
                int j = me + i * THREADS, m = j / STEP;
#ifdef ELEM_Q8
                uint v = kept[i] ? loadedX[i] ^ flip : outside;
                xs[to + j % STEP * PITCH_X + m / 4][m % 4] = more ? v : 0u;
#else
                vec4 v = more && kept[i] ? unpackQuad(loadedX[i]) : vec4(0);
                [[unroll]] for (int c = 0; c < 4; c++) xs[to + (4 * (j % STEP) + c) * PITCH_X + m / 4][m % 4] = v[c];
#endif
            }
            [[unroll]] for (int i = 0; i < LOAD_W; i++) {
                int j = me + i * THREADS;
#if ROWS
                int n = j / STEP;
                vec4 v = more && tile * BN + n < channels ? unpackQuad(loadedW[i]) : vec4(0);
                [[unroll]] for (int c = 0; c < 4; c++) ws[toW + (4 * (j % STEP) + c) * PITCH_W + n / 4][n % 4] = v[c];
#else
                ws[toW + j / (BN / 4) * PITCH_W + j % (BN / 4)] = j < left + TILE_W ? unpackFilter(loadedW[i]) : STAGED(0);
#endif
            }
        }
        barrier();
    }

    [[unroll]] for (int j = 0; j < TN4; j++) {
        int nq = tile * (BN / 4) + lx + j * LOCAL_X;
        if (nq < outQuads) {
#if !SPLIT
#ifdef ELEM_Q8
            Channels c = channels(nq);
#else
            vec4 b = bias[nq];
#endif
#endif
            [[unroll]] for (int m = 0; m < 4 * TM4; m++) {
                int p = p0 + 4 * (ly + m / 4 * LOCAL_Y) + m % 4;
                SUM v = acc[m][j];
#if defined(ELEM_Q8) && WZP
                v -= wz * xsum[m];
#endif
#if SPLIT
                if (p < pixels) sums[(z * pixels + p) * outQuads + nq] = v;
#else
                int to = p * outQuads + nq;
#if !TAPS
                to += z * nextY;
#endif
#ifdef ELEM_Q8
                v = clamp(requantize(v + c.bias, c, doubleMask) + zero, lo, hi);
                if (p < pixels) y[to] = finished(v, to);
#else
                if (p < pixels) y[to] = finished(v + b, to);
#endif
#endif
            }
        }
    }
}
