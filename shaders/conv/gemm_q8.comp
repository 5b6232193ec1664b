#version 450
// Convolution as an implicit matrix product, 8-bit, exact in int32. One invocation computes TM output pixels
// times 4*TN4 output channels in registers.
//
// With x' = x ^ flip (unsigned), weights w' signed and their zero point wz':
// sum (x' - xz)(w' - wz') = sum x' w' - wz' sum x' + c[n]; the host folds c[n] into the bias. Sums of floats take
// wz' from the weights instead.
//
// macro   | meaning
// TM, TN4 | tile, as in gemm_float.comp
// TAPS    | as in gemm_float.comp
// SWAP    | as in gemm_float.comp; without DOT
// X_TEXEL | 1: x is a texel buffer; 0: a storage buffer
// Y_TEXEL | 1: y is a storage texel buffer, and the loop over finished sums is rolled, for drivers that compile
//         | slowly; 0: y is a storage buffer
// DOT     | 1: packed integer dot products; 0: float sums
// SHIFT   | 1: requantise with shifts; 0: with floats, see channels.glsl
// FLUSH   | 1: float sums move to int32 after 256 products at most; 0: the host checked that they stay below 2^23
// WZP     | DOT: 1: wz' is not 0
//
// Weights: [tile of 4*TN4 channels][tap][quad of k][TN4] texels, a word of 4 k for each of 4 channels; wz' in the padding.
#include "common.glsl"
#include "requant.glsl"
#include "window.glsl"

#if DOT
#extension GL_EXT_spirv_intrinsics : require
// SPV_KHR_integer_dot_product: OpSUDot of packed 4x8-bit vectors. glslc of 2023 has no extension for it.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4452)
int dotSU(uint signedWord, uint unsignedWord, spirv_literal int packedFormat);
#else
// Terms of sums without shifts, which SwiftShader does lane by lane: byte k of a word stays at its place, which makes weights
// 256^k times too large, and x is made as many times too small.
vec4 scaledDown(uint word) {
    return vec4(float(int(word & 0xffu)), float(int(word & 0xff00u)) * (1.0 / 65536.0), float(int(word & 0xff0000u)) * (1.0 / 4294967296.0),
                float(word & 0xff000000u) * (1.0 / 281474976710656.0));
}
#endif
#if SWAP
#extension GL_KHR_shader_subgroup_quad : require
const int LOADS = TM / 4, PER_LOAD = 4; // as in gemm_float.comp
#else
const int LOADS = TM, PER_LOAD = 1;
#endif
layout(set = 0, binding = 1) uniform usamplerBuffer w; // rgba32ui
#if X_TEXEL
layout(set = 0, binding = 0) uniform usamplerBuffer x; // r32ui
uint loadX(int i) { return texelFetch(x, i).x; }
#else
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
uint loadX(int i) { return x[i]; }
#endif
layout(set = 0, binding = 2) readonly buffer C { ivec4 channel[]; };
#include "channels.glsl"
#if Y_TEXEL
layout(set = 0, binding = 3, r32ui) writeonly uniform uimageBuffer y;
void storeY(int i, uint v) { imageStore(y, i, uvec4(v)); }
#else
layout(set = 0, binding = 3) writeonly buffer Y { uint y[]; };
void storeY(int i, uint v) { y[i] = v; }
#endif

layout(push_constant) uniform P {
    uint count;
    int tiles;
    int quad0;
    int pixels;     // rows of y; without TAPS, those of a product, as in gemm_float.comp
    int kq;
    int outQuads;
    uint flip;      // makes x unsigned: 0 or 0x80808080
    int wz;         // zero point of w'
    int doubleMask; // rounding, see requant.glsl
    int zero;       // zero point of y
    int lo, hi;     // clamp of y
#if !TAPS
    int rowTiles, x0, y0, nextFilter; // as in gemm_float.comp
    int known;                    // quads of channels of the products before
#else
    uint outside;   // four times the zero point of x'
    int pitch;      // as in gemm_float.comp
    int groupQuads;
    int inH, inW, outH, outW;
    int kH, kW;
    int strideH, strideW, dilationH, dilationW, padTop, padLeft;
#endif
};

void main() {
    uint id = flatIndex();
    if (id >= count) return;
#if SWAP
    int lanes = (tiles + 3) & ~3; // whole quads; the last ones have nothing to store
    int lane = int(gl_LocalInvocationID.x & 3u);
    int tm = int(id) / lanes;
    int column = int(id) - tm * lanes;
    int tn = min(column, tiles - 1);
#else
    const int lane = 0;
    int tm = int(id) / tiles;
    int tn = int(id) - tm * tiles;
#endif
#if TAPS
    int p0 = tm * TM;
#define END pixels
#define PLACE(row) ((row) * outQuads)
#define KNOWN(quad) (quad)
#else
    int product = tm / rowTiles;
    int p0 = product * pixels + (tm - product * rowTiles) * TM;
    int end = (product + 1) * pixels; // of its rows
#define END end
#define PLACE(row) (y0 + (row) * outQuads)
#define KNOWN(quad) (known + product * outQuads + (quad))
#endif

#if DOT
    ivec4 acc[TM][TN4];
    [[unroll]] for (int m = 0; m < TM; m++)
        [[unroll]] for (int j = 0; j < TN4; j++) acc[m][j] = ivec4(0);
#define SUM(m, j) acc[m][j]
#else
    float acc[TM][TN4][4];
    [[unroll]] for (int m = 0; m < TM; m++)
        [[unroll]] for (int j = 0; j < TN4; j++)
            [[unroll]] for (int n = 0; n < 4; n++) acc[m][j][n] = 0;
#define SUM(m, j) vec4(acc[m][j][0], acc[m][j][1], acc[m][j][2], acc[m][j][3])
#endif
#if FLUSH
    ivec4 total[TM][TN4];
    [[unroll]] for (int m = 0; m < TM; m++)
        [[unroll]] for (int j = 0; j < TN4; j++) total[m][j] = ivec4(0);
    const int most = 64; // quads between flushes: 256 products of up to 255 * 255
#endif
#if WZP
    int xsum[TM];
    [[unroll]] for (int m = 0; m < TM; m++) xsum[m] = 0;
#endif
#if !DOT
    // Zero points where the weights lie: bytes 0 to 2 are read without their sign.
    vec4 wzero = vec4(float(wz + 128), float((wz + 128) * 256), float((wz + 128) * 65536), float(wz) * 16777216.0);
#endif

#if TAPS
    ivec3 origin[LOADS];
    [[unroll]] for (int m = 0; m < LOADS; m++)
        origin[m] = windowOrigin(min(p0 + m * PER_LOAD + lane, pixels - 1), outW, outH, inH, ivec2(strideH, strideW), ivec2(padTop, padLeft));
    int taps = kH * kW;
#else
    const int taps = 1;
#endif
    int wi = tn * taps * kq * TN4;
#if !TAPS
    wi += product * nextFilter;
#endif
#if TAPS
    int behind = (quad0 + tn * TN4) / groupQuads * kq;
    int ky = 0;
    do {
        int row[LOADS]; // index of the first quad of the input row
        bool rowOK[LOADS];
        [[unroll]] for (int m = 0; m < LOADS; m++) {
            int iy = origin[m].y + ky * dilationH;
            rowOK[m] = inside(iy, inH);
            row[m] = (origin[m].x + iy) * inW * pitch + behind;
        }
        int kx = 0;
        do {
            int xi[LOADS];
            bool ok[LOADS];
            [[unroll]] for (int m = 0; m < LOADS; m++) {
                int ix = origin[m].z + kx * dilationW;
                ok[m] = rowOK[m] && inside(ix, inW);
                xi[m] = ok[m] ? row[m] + ix * pitch : 0;
            }
#else
    int xi[LOADS];
    [[unroll]] for (int m = 0; m < LOADS; m++) xi[m] = x0 + min(p0 + m * PER_LOAD + lane, END - 1) * kq;
    {
#endif
#if FLUSH
        // A loop within a loop: a conditional flush would make the compiler copy all sums in each iteration.
        int q = 0;
        do {
        int end = min(q + most, kq);
#else
        int q = 0, end = kq;
#endif
        do {
            uint xw[LOADS];
            [[unroll]] for (int m = 0; m < LOADS; m++) {
                xw[m] = loadX(xi[m] + q) ^ flip;
#if TAPS
                xw[m] = ok[m] ? xw[m] : outside;
#endif
            }
#if DOT
#if WZP
            [[unroll]] for (int m = 0; m < TM; m++) xsum[m] += dotSU(0x01010101u, xw[m], 0);
#endif
            [[unroll]] for (int j = 0; j < TN4; j++) {
                uvec4 wv = texelFetch(w, wi + j);
                [[unroll]] for (int m = 0; m < TM; m++)
                    acc[m][j] += ivec4(dotSU(wv.x, xw[m], 0), dotSU(wv.y, xw[m], 0), dotSU(wv.z, xw[m], 0), dotSU(wv.w, xw[m], 0));
            }
#else
            vec4 xv[TM];
            [[unroll]] for (int m = 0; m < LOADS; m++) {
                vec4 v = scaledDown(xw[m]);
                xv[m * PER_LOAD] = v;
#if SWAP
                xv[m * 4 + 1] = subgroupQuadSwapHorizontal(v);
                xv[m * 4 + 2] = subgroupQuadSwapVertical(v);
                xv[m * 4 + 3] = subgroupQuadSwapDiagonal(v);
#endif
            }
            [[unroll]] for (int j = 0; j < TN4; j++) {
                uvec4 words = texelFetch(w, wi + j), offset = words ^ 0x808080u;
                vec4 wv[4];
                [[unroll]] for (int k = 0; k < 4; k++)
                    wv[k] = vec4(ivec4(k < 3 ? offset & (0xffu << 8 * k) : words & 0xff000000u)) - wzero[k];
                // All terms of one sum after the other, as in gemm_float.comp.
                [[unroll]] for (int n = 0; n < 4; n++)
                    [[unroll]] for (int m = 0; m < TM; m++)
                        [[unroll]] for (int k = 0; k < 4; k++) acc[m][j][n] += xv[m][k] * wv[k][n];
            }
#endif
            wi += TN4;
        } while (++q < end);
#if FLUSH
        [[unroll]] for (int m = 0; m < TM; m++)
            [[unroll]] for (int j = 0; j < TN4; j++) {
                total[m][j] += ivec4(SUM(m, j));
                [[unroll]] for (int n = 0; n < 4; n++) acc[m][j][n] = 0;
            }
        } while (q < kq);
#endif
#if TAPS
        } while (++kx < kW);
    } while (++ky < kH);
#else
    }
#endif

#if SWAP
    if (column != tn) return;
#endif
#if !SHIFT
    Range range = unsignedRange(zero, lo, hi, flip);
#endif
#if !DOT || Y_TEXEL
    // Rolled, for drivers to which requantising a whole tile in one unrolled piece is three times the work of everything
    // before it.
#if DOT || FLUSH
    ivec4 sums[TN4 * TM];
#else
    vec4 sums[TN4 * TM];
#endif
    [[unroll]] for (int j = 0; j < TN4; j++)
        [[unroll]] for (int m = 0; m < TM; m++) {
#if FLUSH
            sums[j * TM + m] = total[m][j];
#else
            sums[j * TM + m] = SUM(m, j);
#endif
#if WZP
            sums[j * TM + m] -= wz * xsum[m];
#endif
        }
    int quads = min(TN4, outQuads - quad0 - tn * TN4), rows = min(TM, END - p0);
    int j = 0;
    do {
        int nq = quad0 + tn * TN4 + j;
        Channels c = channels(KNOWN(nq));
        int m = 0;
        do {
            int row = m ^ lane;
#if SHIFT
            uint v = packBytes(clamp(requantize(sums[j * TM + m] + c.bias, c, doubleMask) + zero, lo, hi));
#else
            uint v = requantizeFloats(sums[j * TM + m], c, range, flip);
#endif
            if (row < rows) storeY(PLACE(p0 + row) + nq, v);
        } while (++m < TM);
    } while (++j < quads);
#else
    [[unroll]] for (int j = 0; j < TN4; j++) {
        int nq = quad0 + tn * TN4 + j;
        if (nq < outQuads) {
            Channels c = channels(KNOWN(nq));
            [[unroll]] for (int m = 0; m < TM; m++) {
                ivec4 s = acc[m][j] + c.bias;
#if WZP
                s -= wz * xsum[m];
#endif
                s = clamp(requantize(s, c, doubleMask) + zero, lo, hi);
                if (p0 + m < END) storeY(PLACE(p0 + m) + nq, packBytes(s));
            }
        }
    }
#endif
}
