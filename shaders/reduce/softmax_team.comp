#version 450
// Softmax along the innermost dimension: a team of invocations handles one row, whose quads they take in turn.
//
//   LOG  y = beta (x - max) - log(sum)
#include "common.glsl"
#include "tensor.glsl"
#include "math.glsl"
#include "exp2.glsl"
#include "team.glsl"

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint rows;
    uint quads; // of a row
    uint c;     // elements of a row
    float beta;
};

bvec4 used(uint q) { return lessThan(ivec4(int(4u * q)) + ivec4(0, 1, 2, 3), ivec4(int(c))); }

void main() {
    TEAM_ROWS(row, rows) {
        uint first = row * quads;
        vec4 peak = vec4(-nnInf);
        for (uint q = member(); q < quads; q += members()) peak = max(peak, mix(vec4(-nnInf), unpackQuad(x[first + q]), used(q)));
        peak = teamMax(peak);
        float top = max(max(peak.x, peak.y), max(peak.z, peak.w));
        float rate = beta * 1.44269504; // log2(e)
        vec4 sums = vec4(0.0);
        for (uint q = member(); q < quads; q += members())
            sums += mix(vec4(0.0), nnExp2Down((unpackQuad(x[first + q]) - top) * rate), used(q));
        sums = teamAdd(sums);
        float sum = (sums.x + sums.y) + (sums.z + sums.w);
#ifdef LOG
        float shift = nnLog(sum);
#else
        float scale = 1.0 / sum;
#endif
        for (uint q = member(); q < quads; q += members()) {
            vec4 v = unpackQuad(x[first + q]) - top;
#ifdef LOG
            v = v * beta - shift;
#else
            v = nnExp2Down(v * rate) * scale;
#endif
            y[first + q] = packQuad(mix(vec4(0.0), v, used(q)));
        }
    }
}
