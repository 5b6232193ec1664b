#version 450
// The output of QUANTIZED_LSTM, or the input of its projection: the output gate, which has three integer bits, times tanh of the
// cell state, in 8 bits.
// One invocation computes one quad.
#include "common.glsl"
#include "fixedpoint.glsl"
#include "fixed16.glsl"
#include "tensor.glsl"

layout(set = 0, binding = 0) readonly buffer O { ivec4 outputGate[]; };
layout(set = 0, binding = 1) readonly buffer C { uvec2 c[]; };
layout(set = 0, binding = 2) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform P {
    uint count;       // quads
    int integerBits;  // of the cell state
    int multiplier, left, right;
    int zero;
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    ivec4 v = logistic16(outputGate[i]) * tanh16(unpackQuad16(c[i]), integerBits);
    y[i] = packQuad8(clamp(requantize4(v, multiplier, left, right) + zero, -128, 127));
}
