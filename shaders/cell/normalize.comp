#version 450
// Layer normalisation of a gate of QUANTIZED_LSTM with the statistics from deviation.comp, 16-bit weights and a bias in steps of
// 2^-10 of the weights' step; the result has three integer bits. One invocation computes one quad.
#include "common.glsl"
#include "divide.glsl"
#include "fixedpoint.glsl"
#include "fixed16.glsl"

layout(set = 0, binding = 0) readonly buffer G { ivec4 gate[]; };
layout(set = 0, binding = 1) readonly buffer S { ivec4 stats[]; };
layout(set = 0, binding = 2) readonly buffer W { uvec2 weights[]; };
layout(set = 0, binding = 3) readonly buffer B { ivec4 bias[]; };
layout(set = 0, binding = 4) writeonly buffer Y { ivec4 y[]; };
layout(push_constant) uniform P {
    uint count;       // quads
    Divisor rowQuads; // in a row
    int multiplier, left, right; // the scale of the weights, in steps of 2^-12
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q;
    ivec4 s = stats[divide(i, rowQuads, q)];
    ivec4 v = requantize4(1024 * gate[i] - s.x, s.y, 0, s.z) * unpackQuad16(weights[q]) + bias[q];
    uvec4 magnitude = (uvec4(abs(v)) + 512u) >> 10; // rounded, halves away from 0
    v = mix(ivec4(magnitude), -ivec4(magnitude), lessThan(v, ivec4(0)));
    y[i] = saturate16(requantize4(v, multiplier, left, right));
}
