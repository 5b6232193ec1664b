#version 450
// Depthwise convolution, one filter a channel. One invocation computes 4 channels of PX neighbouring output
// pixels of a row.
//
// macro   | meaning
// PX      | pixels
// KW      | filter width, unrolled, with S the stride in x and no dilation: neighbouring pixels share columns;
//         | 0: any width, stride and dilation
// ELEM    | ELEM_F32, ELEM_F16, or ELEM_Q8: 8-bit, sums in float: the host checked that they stay below 2^24, so are exact
// SHIFT   | 8-bit: 1: requantise with shifts; 0: with floats, see channels.glsl
// Y_TEXEL | 1: float32: y is a storage texel buffer (rgba32f); 0: a storage buffer
// X_TEXEL | 1: x is a texel buffer (float32: rgba32f, 8-bit: rgba8ui); 0: a storage buffer
//
// Weights: texels [ky][kx][quad of channels], float; those of 8-bit filters have their zero point subtracted.
#include "common.glsl"
#include "requant.glsl"
#include "tensor.glsl"
#include "window.glsl"

layout(push_constant) uniform P {
    uint count;
    int quads; // of a row of x and y
    int groups; // of PX pixels in a row of y
    int inH, inW, outH, outW;
    int kH, kW;
    int strideH, strideW, dilationH, dilationW, padTop, padLeft;
#ifdef ELEM_Q8
    uint flip;
    float xzero; // zero point of x ^ flip
    int doubleMask, zero, lo, hi;
#else
    float lo, hi;
#endif
};

layout(set = 0, binding = 1) uniform samplerBuffer w;
#ifdef ELEM_Q8
#if X_TEXEL
layout(set = 0, binding = 0) uniform usamplerBuffer x; // rgba8ui
vec4 loadX(int i) { return vec4(ivec4(texelFetch(x, i) ^ (uvec4(flip) & 255u))) - xzero; }
#else
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
vec4 loadX(int i) { return unpackFloats(x[i] ^ flip) - xzero; }
#endif
layout(set = 0, binding = 2) readonly buffer C { ivec4 channel[]; };
#include "channels.glsl"
layout(set = 0, binding = 3) writeonly buffer Y { uint y[]; };
void storeY(int i, uint v) { y[i] = v; }
#elif defined(ELEM_F16)
layout(set = 0, binding = 0) readonly buffer X { uvec2 x[]; };
vec4 loadX(int i) { return unpackHalf4(x[i]); }
layout(set = 0, binding = 2) readonly buffer B { vec4 bias[]; };
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
layout(set = 0, binding = 2) readonly buffer B { vec4 bias[]; };
#if Y_TEXEL
layout(set = 0, binding = 3, rgba32f) writeonly uniform imageBuffer y;
void storeY(int i, vec4 v) { imageStore(y, i, v); }
#else
layout(set = 0, binding = 3) writeonly buffer Y { vec4 y[]; };
void storeY(int i, vec4 v) { y[i] = v; }
#endif
#endif

void main() {
    uint id = flatIndex();
    if (id >= count) return;
    int rest = int(id) / quads;
    int cq = int(id) - rest * quads;
    int row = rest / groups;
    int ox = (rest - row * groups) * PX;
    int n = row / outH;
    int iy0 = (row - n * outH) * strideH - padTop;
    int ix0 = ox * strideW - padLeft;

    vec4 acc[PX];
    [[unroll]] for (int p = 0; p < PX; p++) acc[p] = vec4(0);
    for (int ky = 0; ky < kH; ky++) {
        int iy = iy0 + ky * dilationH;
        if (!inside(iy, inH)) continue;
        int base = ((n * inH + iy) * inW) * quads + cq;
#if KW
        const int columns = (PX - 1) * S + KW;
        vec4 xv[columns];
        [[unroll]] for (int c = 0; c < columns; c++) {
            int ix = ix0 + c;
            bool ok = inside(ix, inW);
            vec4 v = loadX(base + (ok ? ix : 0) * quads);
            xv[c] = ok ? v : vec4(0);
        }
        [[unroll]] for (int kx = 0; kx < KW; kx++) {
            vec4 wv = texelFetch(w, (ky * KW + kx) * quads + cq);
            [[unroll]] for (int p = 0; p < PX; p++) acc[p] += xv[p * S + kx] * wv;
        }
#else
        for (int kx = 0; kx < kW; kx++) {
            vec4 wv = texelFetch(w, (ky * kW + kx) * quads + cq);
            [[unroll]] for (int p = 0; p < PX; p++) {
                int ix = ix0 + p * strideW + kx * dilationW;
                bool ok = inside(ix, inW);
                vec4 v = loadX(base + (ok ? ix : 0) * quads);
                acc[p] += (ok ? v : vec4(0)) * wv;
            }
        }
#endif
    }

    int out0 = (row * outW + ox) * quads + cq;
#ifdef ELEM_Q8
    Channels c = channels(cq);
#if !SHIFT
    Range range = unsignedRange(zero, lo, hi, flip);
#endif
    [[unroll]] for (int p = 0; p < PX; p++) {
#if SHIFT
        uint v = packBytes(clamp(requantize(ivec4(acc[p]) + c.bias, c, doubleMask) + zero, lo, hi));
#else
        uint v = requantizeFloats(acc[p], c, range, flip);
#endif
        if (ox + p < outW) storeY(out0 + p * quads, v);
    }
#else
    vec4 b = bias[cq];
    [[unroll]] for (int p = 0; p < PX; p++) {
        vec4 v = clamp(acc[p] + b, lo, hi);
        if (ox + p < outW) storeY(out0 + p * quads, v);
    }
#endif
}
