#version 450
// The end of a matrix product whose sums were computed in parts (gemm_shared.comp, SPLIT): adds the parts in their order, so
// that results are always the same bits, then the bias, and stores what the product would have stored. One invocation
// computes one quad of y.
//
// macro | meaning
// ELEM  | ELEM_F32, ELEM_F16 or ELEM_Q8: type of y; sums are float32 or int32
#include "common.glsl"
#include "divide.glsl"
#include "tensor.glsl"

#ifdef ELEM_Q8
#define SUM ivec4
#else
#define SUM vec4
#endif
layout(set = 0, binding = 0) readonly buffer S { SUM sums[]; }; // [part][pixel][quad]
#ifdef ELEM_Q8
#include "requant.glsl"
layout(set = 0, binding = 1) readonly buffer C { ivec4 channel[]; };
#include "channels.glsl"
#else
layout(set = 0, binding = 1) readonly buffer B { vec4 bias[]; };
#endif
layout(set = 0, binding = 2) writeonly buffer Y { QUAD y[]; };
layout(set = 0, binding = 3) readonly buffer R { QUAD r[]; };

layout(push_constant) uniform P {
    uint count;       // quads of y
    Divisor outQuads; // of a row of y
    uint parts;
#ifdef ELEM_Q8
    int doubleMask, zero, lo, hi; // as in gemm_q8.comp
#else
    float lo, hi;
#endif
    int added; // see added.glsl
};
#include "added.glsl"

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint nq;
    divide(i, outQuads, nq);
    SUM v = sums[i];
    for (uint part = 1u; part < parts; part++) v += sums[part * count + i];
#ifdef ELEM_Q8
    Channels c = channels(int(nq));
    y[i] = finished(clamp(requantize(v + c.bias, c, doubleMask) + zero, lo, hi), int(i));
#else
    y[i] = finished(v + bias[nq], int(i));
#endif
}
