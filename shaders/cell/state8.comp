#version 450
// The cell state of QUANTIZED_LSTM from its gates, numbers with three integer bits. One invocation computes one quad.
#include "common.glsl"
#include "fixed16.glsl"

layout(set = 0, binding = 0) readonly buffer I { ivec4 inputGate[]; }; // the forget gate if coupled
layout(set = 0, binding = 1) readonly buffer F { ivec4 forgetGate[]; };
layout(set = 0, binding = 2) readonly buffer M { ivec4 cellGate[]; };
layout(set = 0, binding = 3) readonly buffer C { uvec2 c[]; };
layout(set = 0, binding = 4) writeonly buffer N { uvec2 next[]; };
layout(push_constant) uniform P {
    uint count;   // quads
    int coupled;  // 1: the input gate is 1 - forget gate
    int shift;    // to the right, of a product of gates: how many more fraction bits it has than the cell state
    int clip;     // 32768: none
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    ivec4 keep = logistic16(forgetGate[i]);
    ivec4 take = coupled != 0 ? 32767 - keep : logistic16(inputGate[i]);
    ivec4 taken = roundShift16(take * tanh16(cellGate[i], 3), shift);
    ivec4 state = saturate16(roundShift16(keep * unpackQuad16(c[i]), 15) + taken);
    next[i] = packQuad16(clamp(state, ivec4(-clip), ivec4(clip)));
}
