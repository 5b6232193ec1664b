#version 450
// The states of QUANTIZED_16BIT_LSTM from its gates, numbers with three integer bits. The cell state has four, and tanh takes a
// number with three; the output has none: it is rounded to 8 bits around 128. One invocation computes one quad of each.
#include "common.glsl"
#include "fixed16.glsl"
#include "tensor.glsl"

layout(set = 0, binding = 0) readonly buffer G { ivec4 gate[]; }; // input, forget, cell, output
layout(set = 0, binding = 1) readonly buffer C { uvec2 c[]; };
layout(set = 0, binding = 2) writeonly buffer N { uvec2 next[]; };
layout(set = 0, binding = 3) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform P {
    uint count; // quads
    uint pitch; // from gate to gate
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    ivec4 taken = mul16(logistic16(gate[i]), tanh16(gate[i + 2u * pitch], 3));
    ivec4 kept = mul16(logistic16(gate[i + pitch]), unpackQuad16(c[i]));
    ivec4 state = saturate16(roundShift16(taken, 4) + kept);
    ivec4 result = mul16(logistic16(gate[i + 3u * pitch]), tanh16(saturate16(state << 1), 3));
    next[i] = packQuad16(state);
    y[i] = packQuad8(128 + clamp(roundShift16(result, 8), -128, 127));
}
