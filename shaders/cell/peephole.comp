#version 450
// The part of a gate of QUANTIZED_LSTM that comes from the cell state: its elements times 16-bit weights. One invocation computes
// one quad.
#include "common.glsl"
#include "divide.glsl"
#include "fixedpoint.glsl"
#include "fixed16.glsl"

layout(set = 0, binding = 0) readonly buffer G { ivec4 gate[]; };
layout(set = 0, binding = 1) readonly buffer C { uvec2 c[]; };
layout(set = 0, binding = 2) readonly buffer W { uvec2 weights[]; };
layout(set = 0, binding = 3) writeonly buffer Y { ivec4 y[]; };
layout(push_constant) uniform P {
    uint count;       // quads
    Divisor rowQuads; // in a row
    int multiplier, left, right;
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q;
    divide(i, rowQuads, q);
    ivec4 p = unpackQuad16(c[i]) * unpackQuad16(weights[q]);
    y[i] = saturate16(gate[i] + requantize4(p, multiplier, left, right));
}
