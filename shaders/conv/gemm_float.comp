#version 450
// Convolution as an implicit matrix product, float. One invocation computes TM output pixels times 4*TN4
// output channels in registers.
//
// y[p][n] = clamp(bias[n] + sum over taps t, channels k of x[window(p) at t][k] * w[t][k][n], lo, hi)
//
// macro    | meaning
// TM       | pixels of a tile
// TN4      | quads of output channels of a tile
// TAPS     | 1: any window, stride, dilation, padding; 0: 1x1 without any of them, pixels are rows of x
// X_TEXEL  | 1: x is a texel buffer; 0: a storage buffer
// Y_TEXEL  | 1: y is a storage texel buffer; 0: a storage buffer
// SWAP     | 1: the four invocations of a quad share their pixels: each reads a quarter of them and swaps with the others
// ELEM_F16 | x and y are float16; sums are float32
// ROWS     | without TAPS: 1: weights are [channel][quad of k] texels; the last tile begins where it is whole
// COLUMNS  | without TAPS: 1: weights are [k][quad of channels] texels, and nothing behind the last k may be read
//
// Weights: [tile of 4*TN4 channels][tap][k, padded to 4][TN4] texels of 4 channels, the tiles of one slab. Without TAPS there may
// be several products of the same sizes, whose rows of x and y are one below the other.
#include "common.glsl"
#include "tensor.glsl"
#include "window.glsl"

#if SWAP
// Reading a texel costs SwiftShader more than 16 products. Quads are four consecutive invocations on all devices that this is
// used for. Index m in an invocation belongs to pixel m ^ lane: its own first, then those of its neighbours.
#extension GL_KHR_shader_subgroup_quad : require
const int LOADS = TM / 4, PER_LOAD = 4; // pixels that an invocation reads, and how far apart
#else
const int LOADS = TM, PER_LOAD = 1;
#endif

#ifdef ELEM_F16
#if X_TEXEL
layout(set = 0, binding = 0) uniform usamplerBuffer x; // rg32ui
vec4 loadX(int i) { return unpackHalf4(texelFetch(x, i).xy); }
#else
layout(set = 0, binding = 0) readonly buffer X { uvec2 x[]; };
vec4 loadX(int i) { return unpackHalf4(x[i]); }
#endif
layout(set = 0, binding = 3) writeonly buffer Y { uvec2 y[]; };
void storeY(int i, vec4 v) { y[i] = packHalf4(v); }
#else
#if X_TEXEL
layout(set = 0, binding = 0) uniform samplerBuffer x;
vec4 loadX(int i) { return texelFetch(x, i); }
#else
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
vec4 loadX(int i) { return x[i]; }
#endif
#if Y_TEXEL
layout(set = 0, binding = 3, rgba32f) writeonly uniform imageBuffer y;
void storeY(int i, vec4 v) { imageStore(y, i, v); }
#else
layout(set = 0, binding = 3) writeonly buffer Y { vec4 y[]; };
void storeY(int i, vec4 v) { y[i] = v; }
#endif
#endif
layout(set = 0, binding = 1) uniform samplerBuffer w;
layout(set = 0, binding = 2) readonly buffer B { vec4 bias[]; };

layout(push_constant) uniform P {
    uint count;   // invocations: one for each tile of pixels and tile of channels; SWAP: in whole quads
    int tiles;    // channel tiles of this dispatch
    int quad0;    // first output quad of this dispatch
    int pixels;   // rows of y; without TAPS, those of a product
    int kq;       // quads of a row of x; TAPS: of those that a sum reads
    int outQuads; // quads of a row of y
    float lo, hi;
#if !TAPS
    int rowTiles;   // of a product
    int x0, y0;     // the first quads of x and y
    int nextFilter; // texels from the filter of a product to that of the next
#if COLUMNS
    int w0;     // the first texel of the first filter
    int wPitch; // texels from k to k
    int terms;  // k in a sum
#endif
#else
    int pitch;      // quads of a row of x
    int groupQuads; // of a row of y that read the same quads of x; the next group reads the quads behind
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
#elif ROWS
    // Neighbours are in blocks of four tiles of pixels: of the rows of w, which begin far apart, they read few together.
    const int lane = 0, HEIGHT = 4;
    int block = int(id) / (HEIGHT * tiles), place = int(id) - block * HEIGHT * tiles;
    int high = min(int(count) / tiles - HEIGHT * block, HEIGHT);
    int tn = place / high;
    int tm = HEIGHT * block + place - tn * high;
#else
    const int lane = 0;
    int tm = int(id) / tiles;
    int tn = int(id) - tm * tiles;
#endif
#if TAPS
    int p0 = tm * TM;
#define END pixels
#define PLACE(row) ((row) * outQuads)
#else
    int product = tm / rowTiles;
    int p0 = product * pixels + (tm - product * rowTiles) * TM;
    int end = (product + 1) * pixels; // of its rows
#define END end
#define PLACE(row) (y0 + (row) * outQuads)
#endif

    float acc[TM][TN4][4];
    [[unroll]] for (int m = 0; m < TM; m++)
        [[unroll]] for (int j = 0; j < TN4; j++)
            [[unroll]] for (int n = 0; n < 4; n++) acc[m][j][n] = 0;

#if TAPS
    ivec3 origin[LOADS];
    [[unroll]] for (int m = 0; m < LOADS; m++)
        origin[m] = windowOrigin(min(p0 + m * PER_LOAD + lane, pixels - 1), outW, outH, inH, ivec2(strideH, strideW), ivec2(padTop, padLeft));
    int taps = kH * kW;
    int wi = tn * taps * kq * 4 * TN4;
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
#if COLUMNS
    int column[TN4]; // of the tile, at most the last one there is
    [[unroll]] for (int j = 0; j < TN4; j++) column[j] = w0 + product * nextFilter + min(quad0 + tn * TN4 + j, outQuads - 1);
    int wi = 0;
    for (int q = 0; q < terms / 4; q++) {
        vec4 xv[TM];
        [[unroll]] for (int m = 0; m < TM; m++) xv[m] = loadX(xi[m] + q);
        [[unroll]] for (int j = 0; j < TN4; j++) {
            vec4 wv[4];
            [[unroll]] for (int c = 0; c < 4; c++) wv[c] = texelFetch(w, wi + c * wPitch + column[j]);
            [[unroll]] for (int m = 0; m < TM; m++)
                [[unroll]] for (int n = 0; n < 4; n++)
                    [[unroll]] for (int c = 0; c < 4; c++) acc[m][j][n] += xv[m][c] * wv[c][n];
        }
        wi += 4 * wPitch;
    }
    for (int k = terms & ~3; k < terms; k++, wi += wPitch) {
        float xk[TM];
        [[unroll]] for (int m = 0; m < TM; m++) xk[m] = loadX(xi[m] + k / 4)[k & 3];
        [[unroll]] for (int j = 0; j < TN4; j++) {
            vec4 wv = texelFetch(w, wi + column[j]);
            [[unroll]] for (int m = 0; m < TM; m++)
                [[unroll]] for (int n = 0; n < 4; n++) acc[m][j][n] += xk[m] * wv[n];
        }
    }
#elif ROWS
    int quad = min(quad0 + tn * TN4, outQuads - TN4);
    int wi = product * nextFilter + quad * 4 * kq;
    int q = 0;
    do {
        vec4 xv[TM];
        [[unroll]] for (int m = 0; m < TM; m++) xv[m] = loadX(xi[m] + q);
        [[unroll]] for (int j = 0; j < TN4; j++) {
            vec4 wv[4]; // of four channels: their components are what one k has for these
            [[unroll]] for (int n = 0; n < 4; n++) wv[n] = texelFetch(w, wi + (4 * j + n) * kq);
            [[unroll]] for (int m = 0; m < TM; m++)
                [[unroll]] for (int n = 0; n < 4; n++)
                    [[unroll]] for (int c = 0; c < 4; c++) acc[m][j][n] += xv[m][c] * wv[n][c];
        }
        wi++;
    } while (++q < kq);
#else
    int wi = product * nextFilter + tn * kq * 4 * TN4;
    {
#endif
#endif
#if !COLUMNS && !ROWS
        int q = 0;
        do {
            vec4 xv[TM];
            [[unroll]] for (int m = 0; m < LOADS; m++) {
                vec4 v = loadX(xi[m] + q);
#if TAPS
                v = ok[m] ? v : vec4(0);
#endif
                xv[m * PER_LOAD] = v;
#if SWAP
                xv[m * 4 + 1] = subgroupQuadSwapHorizontal(v);
                xv[m * 4 + 2] = subgroupQuadSwapVertical(v);
                xv[m * 4 + 3] = subgroupQuadSwapDiagonal(v);
#endif
            }
            [[unroll]] for (int j = 0; j < TN4; j++) {
                vec4 wv[4];
                [[unroll]] for (int c = 0; c < 4; c++) wv[c] = texelFetch(w, wi + (c * TN4 + j));
                // All terms of one sum after the other, number by number, so that it stays in a register meanwhile.
                [[unroll]] for (int n = 0; n < 4; n++)
                    [[unroll]] for (int m = 0; m < TM; m++)
                        [[unroll]] for (int c = 0; c < 4; c++) acc[m][j][n] += xv[m][c] * wv[c][n];
            }
            wi += 4 * TN4;
        } while (++q < kq);
#if TAPS
        } while (++kx < kW);
    } while (++ky < kH);
#else
    }
#endif
#endif

#if SWAP
    if (column != tn) return;
#endif
    [[unroll]] for (int j = 0; j < TN4; j++) {
#if ROWS
        int nq = quad + j;
#else
        int nq = quad0 + tn * TN4 + j;
#endif
        if (nq < outQuads) {
            vec4 b = bias[nq];
            [[unroll]] for (int m = 0; m < TM; m++) {
                int p = p0 + (m ^ lane);
                if (p < END) storeY(PLACE(p) + nq, clamp(vec4(acc[m][j][0], acc[m][j][1], acc[m][j][2], acc[m][j][3]) + b, lo, hi));
            }
        }
    }
}
