#version 450
// Bilinear resizing: one invocation computes up to `run` neighbouring quads of one output pixel. Positions
// and weights are those of TensorFlow Lite's reference_ops::ResizeBilinear.
//
//   TEXEL  x is read through a texel buffer
#include "common.glsl"
#include "divide.glsl"
#include "tensor.glsl"

#if defined(TEXEL) && defined(ELEM_F32)
layout(set = 0, binding = 0) uniform samplerBuffer x;
#define LOAD(p) texelFetch(x, int(p))
#elif defined(TEXEL)
layout(set = 0, binding = 0) uniform usamplerBuffer x;
#define LOAD(p) unpackFloats8(texelFetch(x, int(p)).x, off)
#else
layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
#ifdef ELEM_Q8
#define LOAD(p) unpackFloats8(x[p], off)
#else
#define LOAD(p) unpackQuad(x[p])
#endif
#endif
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;
    uint run;
    uint quads;                  // of a pixel
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
    uint last = min(part * run + run, quads);
    for (uint q = part * run; q < last; q++) {
        vec4 v = LOAD(aa + q) * waa + LOAD(ba + q) * wba + LOAD(ab + q) * wab + LOAD(bb + q) * wbb;
#ifdef ELEM_Q8
        y[pixel * quads + q] = packQuad8(ivec4(v + mix(vec4(0.5), vec4(-0.5), lessThan(v, vec4(0.0)))));
#else
        y[pixel * quads + q] = packQuad(v);
#endif
    }
}
