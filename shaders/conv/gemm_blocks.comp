#version 450
// Convolution as an implicit matrix product, float, whose weights are an array of storage buffers. One invocation computes 2
// output pixels times 32 output channels in registers; the invocations of a workgroup have the same channels.
//
// y[p][n] = clamp(bias[n] + sum over taps t, channels k of x[window(p) at t][k] * w[t][k][n], lo, hi)
//
// The index into the array is one for a workgroup and those into a block are constants, so SwiftShader loads a weight by two
// instructions; from a texel buffer it takes sixty.
//
// macro    | meaning
// TAPS     | 1: any window, stride, dilation, padding; 0: 1x1 without any of them, pixels are rows of x
// X_TEXEL  | 1: x is a texel buffer; 0: a storage buffer
// ELEM_F16 | x and y are float16; sums are float32
//
// Weights: [tile of 32 channels][tap][step of 8 k] blocks of [quad of k][channel] vectors of 4 k, zeroes behind the last k.
// Without TAPS there may be several products of the same sizes, whose rows of x and y are one below the other.
#extension GL_EXT_nonuniform_qualifier : require
#include "common.glsl"
#include "tensor.glsl"
#include "window.glsl"

const int TM = 2, TN = 32; // pixels and channels of an invocation
const int QUADS = 2;       // of k in a block

#ifdef ELEM_F16
layout(set = 0, binding = 0) readonly buffer X { uvec2 x[]; };
vec4 loadX(int i) { return unpackHalf4(x[i]); }
layout(set = 0, binding = 2) writeonly buffer Y { uvec2 y[]; };
void storeY(int i, vec4 v) { y[i] = packHalf4(v); }
#else
#if X_TEXEL
layout(set = 0, binding = 0) uniform samplerBuffer x;
vec4 loadX(int i) { return texelFetch(x, i); }
#else
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
vec4 loadX(int i) { return x[i]; }
#endif
layout(set = 0, binding = 2) writeonly buffer Y { vec4 y[]; };
void storeY(int i, vec4 v) { y[i] = v; }
#endif
layout(set = 0, binding = 1) readonly buffer B { vec4 bias[]; };
// A block has two channels in one value: with four their weights would not all stay in registers.
layout(set = 1, binding = 0) readonly buffer W { mat2x4 w[QUADS * TN / 2]; } blocks[];

layout(push_constant) uniform P {
    int count;    // workgroups: one for each group of pixels and tile of channels
    int tiles;    // of channels
    int last;     // block
    int pixels;   // rows of y; without TAPS, those of a product
    int kq;       // quads of a row of x; TAPS: of those that a sum reads
    int outQuads; // quads of a row of y
    float lo, hi;
#if !TAPS
    int rowTiles;   // groups of pixels of a product
    int x0, y0;     // the first quads of x and y
    int nextFilter; // blocks from the filter of a product to that of the next
#else
    int pitch;      // quads of a row of x
    int groupQuads; // of a row of y that read the same quads of x; the next group reads the quads behind
    int inH, inW, outH, outW;
    int kH, kW;
    int strideH, strideW, dilationH, dilationW, padTop, padLeft;
#endif
};

void main() {
    int group = int(gl_WorkGroupID.y) * 32768 + int(gl_WorkGroupID.x);
    if (group >= count) return;
    int width = int(gl_WorkGroupSize.x); // pixels of an invocation are so far apart
    int rows = group / tiles, tn = group - rows * tiles;
#if TAPS
    int p0 = rows * TM * width + int(gl_LocalInvocationID.x);
#define END pixels
#define PLACE(row) ((row) * outQuads)
#else
    int product = rows / rowTiles;
    int p0 = product * pixels + (rows - product * rowTiles) * TM * width + int(gl_LocalInvocationID.x);
    int end = (product + 1) * pixels; // of its rows
#define END end
#define PLACE(row) (y0 + (row) * outQuads)
#endif

    float acc[TM][TN];
    [[unroll]] for (int m = 0; m < TM; m++)
        [[unroll]] for (int n = 0; n < TN; n++) acc[m][n] = 0;

    int steps = (kq + QUADS - 1) / QUADS;
#if TAPS
    ivec3 origin[TM];
    [[unroll]] for (int m = 0; m < TM; m++)
        origin[m] = windowOrigin(min(p0 + m * width, pixels - 1), outW, outH, inH, ivec2(strideH, strideW), ivec2(padTop, padLeft));
    int wi = tn * kH * kW * steps;
    int behind = tn * (TN / 4) / groupQuads * kq;
    int ky = 0;
    do {
        int row[TM]; // index of the first quad of the input row
        bool rowOK[TM];
        [[unroll]] for (int m = 0; m < TM; m++) {
            int iy = origin[m].y + ky * dilationH;
            rowOK[m] = inside(iy, inH);
            row[m] = (origin[m].x + iy) * inW * pitch + behind;
        }
        int kx = 0;
        do {
            int xi[TM];
            bool ok[TM];
            [[unroll]] for (int m = 0; m < TM; m++) {
                int ix = origin[m].z + kx * dilationW;
                ok[m] = rowOK[m] && inside(ix, inW);
                xi[m] = ok[m] ? row[m] + ix * pitch : 0;
            }
#else
    int xi[TM];
    [[unroll]] for (int m = 0; m < TM; m++) xi[m] = x0 + min(p0 + m * width, END - 1) * kq;
    int wi = product * nextFilter + tn * steps;
    {
        {
#endif
            int s = 0;
            do {
                // SwiftShader also runs through what no invocation takes part in, with any index.
                int block = min(wi + s, last);
                [[unroll]] for (int u = 0; u < QUADS; u++) {
                    int q = QUADS * s + u;
                    vec4 xv[TM];
                    [[unroll]] for (int m = 0; m < TM; m++) {
                        xv[m] = loadX(xi[m] + min(q, kq - 1));
                        bool there = u == 0 || q < kq;
#if TAPS
                        there = there && ok[m];
#endif
                        xv[m] = there ? xv[m] : vec4(0);
                    }
                    [[unroll]] for (int j = 0; j < TN / 2; j++) {
                        mat2x4 w = blocks[block].w[u * (TN / 2) + j];
                        // All terms of one sum after the other, number by number, so that it stays in a register meanwhile.
                        [[unroll]] for (int n = 0; n < 2; n++)
                            [[unroll]] for (int m = 0; m < TM; m++)
                                [[unroll]] for (int c = 0; c < 4; c++) acc[m][2 * j + n] += xv[m][c] * w[n][c];
                    }
                }
            } while (++s < steps);
#if TAPS
            wi += steps;
        } while (++kx < kW);
    } while (++ky < kH);
#else
        }
    }
#endif

    [[unroll]] for (int j = 0; j < TN / 4; j++) {
        int nq = tn * (TN / 4) + j;
        if (nq < outQuads) {
            vec4 b = bias[nq];
            [[unroll]] for (int m = 0; m < TM; m++) {
                int p = p0 + m * width;
                vec4 sum = vec4(acc[m][4 * j], acc[m][4 * j + 1], acc[m][4 * j + 2], acc[m][4 * j + 3]);
                if (p < END) storeY(PLACE(p) + nq, clamp(sum + b, lo, hi));
            }
        }
    }
}
