#version 450
// Bilinear resizing: one invocation computes up to `run` neighbouring quads of one output pixel. Positions
// and weights are those of TensorFlow Lite's reference_ops::ResizeBilinear.
//
//   TEXEL  x is read through a texel buffer
//   WIDE   for bytes in pixels of whole groups of 16: a group takes the place of a quad
#include "common.glsl"
#include "divide.glsl"
#include "tensor.glsl"

#ifdef WIDE
#define UNIT uvec4
#else
#define UNIT QUAD
#endif

#if defined(TEXEL) && defined(ELEM_F32)
layout(set = 0, binding = 0) uniform samplerBuffer x;
#define LOAD(p) texelFetch(x, int(p))
#elif defined(TEXEL)
layout(set = 0, binding = 0) uniform usamplerBuffer x;
#ifdef WIDE
#define LOAD(p) texelFetch(x, int(p))
#else
#define LOAD(p) texelFetch(x, int(p)).x
#endif
#else
layout(set = 0, binding = 0) readonly buffer X { UNIT x[]; };
#define LOAD(p) x[p]
#endif
layout(set = 0, binding = 1) writeonly buffer Y { UNIT y[]; };
layout(push_constant) uniform P {
    uint count;
    uint run;
    uint quads;                  // of a pixel; WIDE: groups
    Divisor runs;                // of a pixel
    Divisor yWidth, yHeight;
    int width, height;           // of x
    float scaleX, scaleY;        // pixels of x for one of y
    float shift;                 // 0.5 with half pixel centres
    uint off;                    // 8-bit: see unpackQuad8
};

// The two positions around that of output pixel p, and the weight of the second.
float source(uint p, float scale, int size, out uint a, out uint b) {
    precise float at = (float(p) + shift) * scale;
    precise float s = at - shift;
    float f = floor(s);
    a = uint(max(int(f), 0));
    b = uint(clamp(int(ceil(s)), 0, size - 1));
    return s - float(a);
}

#ifdef ELEM_Q8
// Sums of the bytes of words a, b, c and d times weights, which are scaled down by the place of the byte.
uint blend(uint a, uint b, uint c, uint d, vec4 wa, vec4 wb, vec4 wc, vec4 wd) {
    uint turned = off == 0u ? 0x80000000u : 0x00808080u;
    vec4 bias = off == 0u ? vec4(0.0, 0.0, 0.0, 2147483648.0) : vec4(-128.0, -32768.0, -8388608.0, 0.0);
    const ivec4 bytes = ivec4(0xff, 0xff00, 0xff0000, 0xff000000);
    vec4 v = (vec4(ivec4(int(a ^ turned)) & bytes) + bias) * wa + (vec4(ivec4(int(b ^ turned)) & bytes) + bias) * wb
        + (vec4(ivec4(int(c ^ turned)) & bytes) + bias) * wc + (vec4(ivec4(int(d ^ turned)) & bytes) + bias) * wd;
    return packQuad8(ivec4(v + mix(vec4(0.5), vec4(-0.5), lessThan(v, vec4(0.0)))));
}
#endif

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint part, px, py;
    uint pixel = divide(i, runs, part);
    uint image = divide(divide(pixel, yWidth, px), yHeight, py);
    uint xa, xb, ya, yb;
    float wx = source(px, scaleX, width, xa, xb);
    float wy = source(py, scaleY, height, ya, yb);
    uint rowA = (image * uint(height) + ya) * uint(width);
    uint rowB = (image * uint(height) + yb) * uint(width);
    uint aa = (rowA + xa) * quads, ab = (rowA + xb) * quads;
    uint ba = (rowB + xa) * quads, bb = (rowB + xb) * quads;
    float waa = (1.0 - wy) * (1.0 - wx), wab = (1.0 - wy) * wx;
    float wba = wy * (1.0 - wx), wbb = wy * wx;
    uint q = part * run, last = min(q + run, quads);
#ifdef ELEM_Q8
    const vec4 places = vec4(1.0, 1.0 / 0x100, 1.0 / 0x10000, 1.0 / 0x1000000);
    vec4 wa = waa * places, wb = wba * places, wc = wab * places, wd = wbb * places;
    do {
        UNIT a = LOAD(aa + q), b = LOAD(ba + q), c = LOAD(ab + q), d = LOAD(bb + q);
#ifdef WIDE
        [[unroll]] for (uint k = 0u; k < 4u; k++) a[k] = blend(a[k], b[k], c[k], d[k], wa, wb, wc, wd);
        y[pixel * quads + q] = a;
#else
        y[pixel * quads + q] = blend(a, b, c, d, wa, wb, wc, wd);
#endif
    } while (++q < last);
#else
    do {
        vec4 v = unpackQuad(LOAD(aa + q)) * waa + unpackQuad(LOAD(ba + q)) * wba + unpackQuad(LOAD(ab + q)) * wab + unpackQuad(LOAD(bb + q)) * wbb;
        y[pixel * quads + q] = packQuad(v);
    } while (++q < last);
#endif
}
