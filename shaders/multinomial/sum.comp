#version 450
// The running sums that RANDOM_MULTINOMIAL draws from: for each class, e to the power of its logit minus the row's largest, plus
// those of the classes before it. A class whose logit is NaN counts as 0. One invocation computes one row; sums are compensated
// for their rounding errors.
#include "common.glsl"
#include "tensor.glsl"
#include "math.glsl"

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { vec4 y[]; };
layout(push_constant) uniform P {
    uint count;   // rows
    uint quads;   // of a row
    uint classes;
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    vec4 top = vec4(-nnInf);
    for (uint q = 0u; q < quads; q++) {
        vec4 v = unpackQuad(x[i * quads + q]);
        bvec4 larger = greaterThan(v, top);
        [[unroll]] for (uint lane = 0u; lane < 4u; lane++) larger[lane] = larger[lane] && 4u * q + lane < classes;
        top = mix(top, v, larger);
    }
    float largest = max(max(top.x, top.y), max(top.z, top.w));
    float sum = 0.0, low = 0.0;
    for (uint q = 0u; q < quads; q++) {
        vec4 v = unpackQuad(x[i * quads + q]);
        vec4 w = nnExp(v - largest);
        w = mix(w, vec4(0.0), isnan(v));
        w = mix(w, vec4(1.0), equal(v, vec4(largest))); // even if that is infinite
        [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
            float term = 4u * q + lane < classes ? w[lane] : 0.0;
            precise float rest = term - low;
            precise float next = sum + rest;
            precise float error = (next - sum) - rest;
            sum = next;
            low = error;
            w[lane] = sum;
        }
        y[i * quads + q] = w;
    }
}
