#version 450
// A step of an LSTM, from the contributions of inputs and output state to its gates. Gates lie side by side: input (unless
// coupled), forget, cell, output. One invocation computes one quad of the states.
//
// c' = clamp(logistic(forget) c + logistic(input) act(cell)), h' = logistic(output) act(c')
// If coupled, 1 - logistic(forget) takes the place of logistic(input).
#include "common.glsl"
#include "divide.glsl"
#include "math.glsl"

layout(set = 0, binding = 0) readonly buffer A { vec4 fromInput[]; };
layout(set = 0, binding = 1) readonly buffer R { vec4 fromState[]; };
layout(set = 0, binding = 2) readonly buffer C { vec4 c[]; };
layout(set = 0, binding = 3) writeonly buffer H { vec4 h[]; };
layout(set = 0, binding = 4) writeonly buffer N { vec4 next[]; };
layout(push_constant) uniform P {
    uint count;    // quads of a state
    Divisor quads; // of a row of it
    uint gates;    // 4, or 3 if coupled
    int act;       // ops.CellActivation
    float clip;    // the cell state is clamped to -clip and clip
};

vec4 activate(vec4 v) {
    if (act == 4) return nnTanh(v);
    if (act == 6) return nnLogistic(v);
    if (act == 1) return mix(v, vec4(0.0), lessThan(v, vec4(0.0)));
    if (act == 3) return mix(mix(v, vec4(0.0), lessThan(v, vec4(0.0))), vec4(6.0), greaterThan(v, vec4(6.0)));
    return v;
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q;
    uint row = divide(i, quads, q);
    uint at = row * gates * quads.value + q, first = gates - 3u;
    vec4 sums[3];
    [[unroll]] for (uint g = 0u; g < 3u; g++) {
        uint k = at + (first + g) * quads.value;
        sums[g] = fromInput[k] + fromState[k];
    }
    vec4 forget = nnLogistic(sums[0]), take = 1.0 - forget;
    if (gates == 4u) take = nnLogistic(fromInput[at] + fromState[at]);
    vec4 state = forget * c[i] + take * activate(sums[1]);
    state = mix(state, vec4(-clip), lessThan(state, vec4(-clip)));
    state = mix(state, vec4(clip), greaterThan(state, vec4(clip)));
    next[i] = state;
    h[i] = nnLogistic(sums[2]) * activate(state);
}
