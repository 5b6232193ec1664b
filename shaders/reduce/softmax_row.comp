#version 450
// Softmax along the innermost dimension: one invocation handles one row.
//
//   LOG     y = beta (x - max) - log(sum)
//   UNROLL  quads an iteration; 4 keeps the loops of long rows short
#include "common.glsl"
#include "tensor.glsl"
#include "math.glsl"

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint rows;
    uint quads;   // of a row
    uint c;       // elements of a row
    float beta;
};

bvec4 used(uint q) { return lessThan(uvec4(4u * q) + uvec4(0u, 1u, 2u, 3u), uvec4(c)); }

void main() {
    uint row = flatIndex();
    if (row >= rows) return;
    uint first = row * quads;
    vec4 peak = vec4(-nnInf);
    for (uint q = 0u; q < quads; q += UNROLL) {
        [[unroll]] for (uint k = 0u; k < UNROLL; k++) {
            // Repeating the last quad does no harm here.
            uint at = min(q + k, quads - 1u);
            peak = max(peak, mix(vec4(-nnInf), unpackQuad(x[first + at]), used(at)));
        }
    }
    float top = max(max(peak.x, peak.y), max(peak.z, peak.w));
    vec4 sums = vec4(0.0);
    for (uint q = 0u; q < quads; q += UNROLL) {
        [[unroll]] for (uint k = 0u; k < UNROLL; k++) {
            uint at = min(q + k, quads - 1u);
            vec4 e = nnExp((unpackQuad(x[first + at]) - top) * beta);
            sums += mix(vec4(0.0), e, lessThan(uvec4(4u * (q + k)) + uvec4(0u, 1u, 2u, 3u), uvec4(c)));
        }
    }
    float sum = (sums.x + sums.y) + (sums.z + sums.w);
#ifdef LOG
    float shift = nnLog(sum);
#else
    float scale = 1.0 / sum;
#endif
    for (uint q = 0u; q < quads; q += UNROLL) {
        [[unroll]] for (uint k = 0u; k < UNROLL; k++) {
            uint at = min(q + k, quads - 1u);
            vec4 v = (unpackQuad(x[first + at]) - top) * beta;
#ifdef LOG
            v -= shift;
#else
            v = nnExp(v) * scale;
#endif
            y[first + at] = packQuad(mix(vec4(0.0), v, used(at)));
        }
    }
}
