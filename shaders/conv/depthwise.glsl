// What the kernels of depthwise convolutions have in common: push constants, bindings, how they load quads of x, and how sums
// become quads of y.
//
// macro   | meaning
// ELEM    | ELEM_F32, ELEM_F16, or ELEM_Q8: 8-bit, sums in float: the host checked that they stay below 2^24, so are exact
// SHIFT   | 8-bit: 1: requantise with shifts; 0: with floats, see channels.glsl
// Y_TEXEL | 1: float32: y is a storage texel buffer (rgba32f); 0: a storage buffer
// X_TEXEL | 1: x is a texel buffer (float32: rgba32f, float16: rg32ui, 8-bit: r32ui); 0: a storage buffer
//
// Weights: texels [ky][kx][quad of channels], float; those of 8-bit filters as pack.Quantized.DepthwiseFloats has them.
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
    uint flip;    // makes x unsigned: 0 or 0x80808080
    uint outside; // four times the zero point of x
    int doubleMask, zero, lo, hi;
#else
    float lo, hi;
#endif
#ifdef WALK
    int run; // rows of y that an invocation computes at most
#endif
};

#if X_TEXEL
#if defined(ELEM_Q8)
layout(set = 0, binding = 0) uniform usamplerBuffer x;
#define LOAD(i) texelFetch(x, i).x
#elif defined(ELEM_F16)
layout(set = 0, binding = 0) uniform usamplerBuffer x;
#define LOAD(i) texelFetch(x, i).xy
#else
layout(set = 0, binding = 0) uniform samplerBuffer x;
#define LOAD(i) texelFetch(x, i)
#endif
#else
layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
#define LOAD(i) x[i]
#endif
layout(set = 0, binding = 1) uniform samplerBuffer w;
#if Y_TEXEL
layout(set = 0, binding = 3, rgba32f) writeonly uniform imageBuffer y;
void storeY(int i, vec4 v) { imageStore(y, i, v); }
#else
layout(set = 0, binding = 3) writeonly buffer Y { QUAD y[]; };
void storeY(int i, QUAD v) { y[i] = v; }
#endif

// loadX returns the quad at i, or what lies outside of the image.
#ifdef ELEM_Q8
// Bytes are at their places in the word, so that byte k is 256^k times too large, and weights are as many times too small. The
// last one is signed, less by 128, for which the bias makes up.
vec4 loadX(int i, bool ok) {
    uint word = LOAD(i);
    return vec4(ivec4(int((ok ? word : outside) ^ flip ^ 0x80000000u)) & ivec4(0xff, 0xff00, 0xff0000, 0xff000000));
}

layout(set = 0, binding = 2) readonly buffer C { ivec4 channel[]; };
#include "channels.glsl"
#if SHIFT
#define EPILOGUE(cq) Channels of = channels(cq);
#define RESULT(sum) packBytes(clamp(requantize(ivec4(sum) + of.bias, of, doubleMask) + zero, lo, hi))
#else
#define EPILOGUE(cq) Channels of = channels(cq); Range range = unsignedRange(zero, lo, hi, flip);
#define RESULT(sum) requantizeFloats(sum, of, range, flip)
#endif
#else
vec4 loadX(int i, bool ok) {
    vec4 v = unpackQuad(LOAD(i));
    return ok ? v : vec4(0);
}

layout(set = 0, binding = 2) readonly buffer B { vec4 bias[]; };
#define EPILOGUE(cq) vec4 of = bias[cq];
#define RESULT(sum) packQuad(clamp((sum) + of, lo, hi))
#endif
