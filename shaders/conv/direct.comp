#version 450
// Convolution of any kind with the filter and bias as ordinary tensors: for filters that are known only
// at run time, depth multipliers, and whatever the faster kernels refuse. One invocation computes 4 output
// channels of one pixel.
//
// macro      | meaning
// ELEM       | ELEM_F32, ELEM_F16 or ELEM_Q8
// DEPTHWISE  | 1: filter [1, kH, kW, Co], output channel n reads input channel n / multiplier;
//            | 0: filter [Co, kH, kW, Ci]
// GROUPED    | 1: filter [Co, kH, kW, channels], output channel n reads those of group n / multiplier
// TRANSPOSED | 1: input pixel i meets tap t at output pixel i * stride + t - pad
#include "common.glsl"
#include "requant.glsl"
#include "tensor.glsl"
#include "window.glsl"

layout(push_constant) uniform P {
    uint count;
    int kq;       // quads of a row of x
    int channels; // of x; GROUPED: of a group
    int outQuads; // quads of a row of y
    int outChannels;
    int inH, inW, outH, outW;
    int kH, kW;
    int strideH, strideW, dilationH, dilationW, padTop, padLeft;
    int multiplier;
#ifdef ELEM_Q8
    uint flip, wflip; // make x and w unsigned
    int xzero, wzero; // their zero points then
    int doubleMask, zero, lo, hi;
#else
    float lo, hi;
#endif
};

#ifdef ELEM_Q8
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) readonly buffer W { uint w[]; };
layout(set = 0, binding = 2) readonly buffer B { ivec4 bias[]; };
layout(set = 0, binding = 3) writeonly buffer Y { uint y[]; };
layout(set = 0, binding = 4) readonly buffer C { ivec4 channel[]; }; // multiplier, shift
#define SUM ivec4
#define LANE int
ivec4 loadX(int i) { return ivec4(unpackBytes(x[i] ^ flip)) - xzero; }
ivec4 loadW(int i) { return ivec4(unpackBytes(w[i] ^ wflip)) - wzero; }
#else
#ifdef ELEM_F16
layout(set = 0, binding = 0) readonly buffer X { uvec2 x[]; };
layout(set = 0, binding = 1) readonly buffer W { uvec2 w[]; };
layout(set = 0, binding = 2) readonly buffer B { uvec2 bias[]; };
layout(set = 0, binding = 3) writeonly buffer Y { uvec2 y[]; };
#define half4(v) unpackHalf4(v)
#else
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) readonly buffer W { vec4 w[]; };
layout(set = 0, binding = 2) readonly buffer B { vec4 bias[]; };
layout(set = 0, binding = 3) writeonly buffer Y { vec4 y[]; };
#define half4(v) (v)
#endif
#define SUM vec4
#define LANE float
vec4 loadX(int i) { return half4(x[i]); }
vec4 loadW(int i) { return half4(w[i]); }
#endif

// Lanes of the last quad of x and w beyond the channels hold anything when quantised.
SUM keepLanes(SUM v, int first, int limit) {
    return SUM(first < limit ? v.x : LANE(0), first + 1 < limit ? v.y : LANE(0),
               first + 2 < limit ? v.z : LANE(0), first + 3 < limit ? v.w : LANE(0));
}

LANE sum4(SUM v) { return v.x + v.y + v.z + v.w; }

void main() {
    uint id = flatIndex();
    if (id >= count) return;
    int p = int(id) / outQuads;
    int nq = int(id) - p * outQuads;
#if TRANSPOSED
    ivec3 origin = windowOrigin(p, outW, outH, inH, ivec2(1), -ivec2(padTop, padLeft));
#else
    ivec3 origin = windowOrigin(p, outW, outH, inH, ivec2(strideH, strideW), ivec2(padTop, padLeft));
#endif
    int taps = kH * kW;
    ivec4 n = min(ivec4(nq * 4) + ivec4(0, 1, 2, 3), ivec4(outChannels - 1));

    SUM acc = SUM(0);
    int t = 0;
    do {
        int ky = t / kW;
#if TRANSPOSED
        int iy = origin.y - ky, ix = origin.z - (t - ky * kW); // times the stride
        if (min(iy, ix) < 0) continue;
        ivec2 from = ivec2(iy, ix) / ivec2(strideH, strideW);
        if (from.x * strideH != iy || from.y * strideW != ix) continue;
        iy = from.x;
        ix = from.y;
#else
        int iy = origin.y + ky * dilationH, ix = origin.z + (t - ky * kW) * dilationW;
#endif
        if (!inside(iy, inH) || !inside(ix, inW)) continue;
        int xi = ((origin.x + iy) * inW + ix) * kq;
#if DEPTHWISE
        ivec4 c = n / multiplier;
        SUM xv = SUM(loadX(xi + c.x / 4)[c.x & 3], loadX(xi + c.y / 4)[c.y & 3],
                     loadX(xi + c.z / 4)[c.z & 3], loadX(xi + c.w / 4)[c.w & 3]);
        acc += xv * loadW(t * outQuads + nq);
#elif GROUPED
        ivec4 c = n / multiplier * channels;
        ivec4 wi = (n * taps + t) * ((channels + 3) / 4);
        int k = 0;
        do {
            SUM xv = SUM(loadX(xi + c.x / 4)[c.x & 3], loadX(xi + c.y / 4)[c.y & 3],
                         loadX(xi + c.z / 4)[c.z & 3], loadX(xi + c.w / 4)[c.w & 3]);
            ivec4 q = wi + k / 4;
            acc += xv * SUM(loadW(q.x)[k & 3], loadW(q.y)[k & 3], loadW(q.z)[k & 3], loadW(q.w)[k & 3]);
            c++;
        } while (++k < channels);
#else
        int q = 0;
        do {
            SUM xv = keepLanes(loadX(xi + q), 4 * q, channels);
            ivec4 wi = (n * taps + t) * kq + q;
            acc += SUM(sum4(xv * loadW(wi.x)), sum4(xv * loadW(wi.y)), sum4(xv * loadW(wi.z)), sum4(xv * loadW(wi.w)));
        } while (++q < kq);
#endif
    } while (++t < taps);

#ifdef ELEM_Q8
    ivec4 s = requantizeChannels(acc + bias[nq], channel[2 * nq], channel[2 * nq + 1], doubleMask) + zero;
    y[id] = packBytes(clamp(s, lo, hi));
#else
    SUM v = clamp(acc + half4(bias[nq]), lo, hi);
    v = keepLanes(v, 4 * nq, outChannels);
#ifdef ELEM_F16
    y[id] = packHalf4(v);
#else
    y[id] = v;
#endif
#endif
}
