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

bvec4 used(uint q) { return lessThan(ivec4(int(4u * q)) + ivec4(0, 1, 2, 3), ivec4(int(c))); }

void main() {
    uint row = flatIndex();
    if (row >= rows) return;
    uint first = row * quads;
    // Of the last quad some lanes may be padding.
    vec4 peak = mix(vec4(-nnInf), unpackQuad(x[first + quads - 1u]), used(quads - 1u));
    for (uint q = 0u; q < quads - 1u; q += UNROLL) {
        // Repeating a quad does no harm here.
        [[unroll]] for (uint k = 0u; k < UNROLL; k++) peak = max(peak, unpackQuad(x[first + min(q + k, quads - 2u)]));
    }
    float top = max(max(peak.x, peak.y), max(peak.z, peak.w));
    vec4 sums = vec4(0.0);
    for (uint q = 0u; q < quads; q += UNROLL) {
        [[unroll]] for (uint k = 0u; k < UNROLL; k++) {
            uint at = min(q + k, quads - 1u);
            vec4 e = nnExp((unpackQuad(x[first + at]) - top) * beta);
            sums += mix(vec4(0.0), e, used(q + k));
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
