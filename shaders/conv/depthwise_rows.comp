#version 450
// Depthwise convolution, one filter a channel, with square windows without dilation and the same stride both ways. One
// invocation computes 4 channels of RY x PX output pixels: it goes down the rows of the input once, and each row adds to
// all rows of the output that it belongs to. All loops are unrolled, so that many loads are in flight at a time.
//
// macro  | meaning
// RY, PX | rows and columns of output pixels
// KW     | width and height of the filter
// S      | stride
// ELEM   | ELEM_F32, ELEM_F16 or ELEM_Q8, as in depthwise.comp; all tensors are storage buffers
//
// Push constants and weights are those of depthwise.comp.
#include "common.glsl"
#include "requant.glsl"
#include "tensor.glsl"
#include "window.glsl"

layout(push_constant) uniform P {
    uint count;
    int quads;  // of a row of x and y
    int groups; // of PX pixels in a row of y
    int inH, inW, outH, outW;
    int kH, kW;
    int strideH, strideW, dilationH, dilationW, padTop, padLeft;
#ifdef ELEM_Q8
    uint flip;
    float xzero;
    int doubleMask, zero, lo, hi;
#else
    float lo, hi;
#endif
};

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) uniform samplerBuffer w;
#ifdef ELEM_Q8
vec4 loadX(int i) { return unpackFloats(x[i] ^ flip) - xzero; }
layout(set = 0, binding = 2) readonly buffer C { ivec4 channel[]; };
#include "channels.glsl"
#else
vec4 loadX(int i) { return unpackQuad(x[i]); }
layout(set = 0, binding = 2) readonly buffer B { vec4 bias[]; };
#endif
layout(set = 0, binding = 3) writeonly buffer Y { QUAD y[]; };

const int COLUMNS = (PX - 1) * S + KW;
const int LINES = (RY - 1) * S + KW;

void main() {
    uint id = flatIndex();
    if (id >= count) return;
    int rest = int(id) / quads;
    int cq = int(id) - rest * quads;
    int band = rest / groups;
    int ox = (rest - band * groups) * PX;
    int bands = (outH + RY - 1) / RY;
    int n = band / bands;
    int oy = (band - n * bands) * RY;
    int iy0 = oy * S - padTop, ix0 = ox * S - padLeft;

    vec4 wv[KW * KW];
    [[unroll]] for (int t = 0; t < KW * KW; t++) wv[t] = texelFetch(w, t * quads + cq);
    vec4 acc[RY * PX];
    [[unroll]] for (int p = 0; p < RY * PX; p++) acc[p] = vec4(0);
    [[unroll]] for (int l = 0; l < LINES; l++) {
        bool line = inside(iy0 + l, inH);
        int base = (n * inH + (line ? iy0 + l : 0)) * inW * quads + cq;
        vec4 xv[COLUMNS];
        [[unroll]] for (int c = 0; c < COLUMNS; c++) {
            bool ok = line && inside(ix0 + c, inW);
            vec4 v = loadX(base + (ok ? ix0 + c : 0) * quads);
            xv[c] = ok ? v : vec4(0);
        }
        [[unroll]] for (int r = 0; r < RY; r++) {
            if (l >= r * S && l < r * S + KW)
                [[unroll]] for (int kx = 0; kx < KW; kx++)
                    [[unroll]] for (int p = 0; p < PX; p++) acc[r * PX + p] += xv[p * S + kx] * wv[(l - r * S) * KW + kx];
        }
    }

    int out0 = ((n * outH + oy) * outW + ox) * quads + cq;
#ifdef ELEM_Q8
    Channels of = channels(cq);
#else
    vec4 b = bias[cq];
#endif
    [[unroll]] for (int r = 0; r < RY; r++) {
        [[unroll]] for (int p = 0; p < PX; p++) {
#ifdef ELEM_Q8
            ivec4 s = requantize(ivec4(acc[r * PX + p]) + of.bias, of, doubleMask) + zero;
            uint v = packBytes(clamp(s, lo, hi));
#else
            QUAD v = packQuad(clamp(acc[r * PX + p] + b, lo, hi));
#endif
            if (oy + r < outH && ox + p < outW) y[out0 + (r * outW + p) * quads] = v;
        }
    }
}
