#version 450
// As softmax_q8.comp, along the innermost dimension: a team of invocations handles one row, whose quads they take in turn.
#include "common.glsl"
#include "tensor.glsl"
#include "divide.glsl"
#include "exp2.glsl"
#include "team.glsl"

layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform P {
    uint rows;
    Divisor inner; // 1
    uint quads;    // of a row
    uint c;        // elements of a row
    float rate;    // -log2(e) scale beta
    uint xOff;     // see unpackQuad8; distances do not depend on it
    float outScale;
    float most;    // see quotient.glsl
    uint zeros, flip;
};
#include "quotient.glsl"

// Padding lanes hold anything.
bvec4 used(uint q) { return lessThan(uvec4(4u * q) + uvec4(0u, 1u, 2u, 3u), uvec4(c)); }

// The exponentials of a quad.
vec4 powers(uint p, int top) { return nnExp2Rough(vec4(ivec4(top) - unpackQuad8(x[p], xOff)) * rate); }

void main() {
    TEAM_ROWS(row, rows) {
        uint first = row * quads;
        vec4 peak = vec4(-512.0);
        for (uint q = member(); q < quads; q += members()) peak = max(peak, mix(vec4(-512.0), vec4(unpackQuad8(x[first + q], xOff)), used(q)));
        peak = teamMax(peak);
        int top = int(max(max(peak.x, peak.y), max(peak.z, peak.w)));
        vec4 sums = vec4(0.0);
        for (uint q = member(); q < quads; q += members()) sums += mix(vec4(0.0), powers(first + q, top), used(q));
        sums = teamAdd(sums);
        float scale = outScale / ((sums.x + sums.y) + (sums.z + sums.w));
        for (uint q = member(); q < quads; q += members())
            y[first + q] = quotients(powers(first + q, top) * scale);
    }
}
