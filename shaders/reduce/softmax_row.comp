#version 450
// Softmax along the innermost dimension: one invocation handles one row.
//
//   LOG     y = beta (x - max) - log(sum)
//   TEXEL   x, of f32, is read through a texel buffer
//   UNROLL  quads an iteration; 4 keeps the loops of long rows short
#include "common.glsl"
#include "tensor.glsl"
#include "math.glsl"
#include "exp2.glsl"

#ifdef TEXEL
layout(set = 0, binding = 0) uniform samplerBuffer x;
#define LOAD(i) texelFetch(x, int(i))
#else
layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
#define LOAD(i) unpackQuad(x[i])
#endif
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
    uint first = row * quads, q;
    uint whole = quads - 1u; // of the last quad some lanes may be padding
    vec4 peak = mix(vec4(-nnInf), LOAD(first + whole), used(whole));
    for (q = 0u; q + UNROLL <= whole; q += UNROLL) {
        [[unroll]] for (uint k = 0u; k < UNROLL; k++) peak = max(peak, LOAD(first + q + k));
    }
    for (; q < whole; q++) peak = max(peak, LOAD(first + q));
    float top = max(max(peak.x, peak.y), max(peak.z, peak.w));
    float rate = beta * 1.44269504; // log2(e)
    vec4 sums = vec4(0.0);
    for (q = 0u; q + UNROLL <= whole; q += UNROLL) {
        [[unroll]] for (uint k = 0u; k < UNROLL; k++) sums += nnExp2Down((LOAD(first + q + k) - top) * rate);
    }
    for (; q < quads; q++) sums += mix(vec4(0.0), nnExp2Down((LOAD(first + q) - top) * rate), used(q));
    float sum = (sums.x + sums.y) + (sums.z + sums.w);
#ifdef LOG
    float shift = nnLog(sum);
#define RESULT(v) ((v) - top) * beta - shift
#else
    float scale = 1.0 / sum;
#define RESULT(v) nnExp2Down(((v) - top) * rate) * scale
#endif
    for (q = 0u; q + UNROLL <= whole; q += UNROLL) {
        [[unroll]] for (uint k = 0u; k < UNROLL; k++) y[first + q + k] = packQuad(RESULT(LOAD(first + q + k)));
    }
    for (; q < quads; q++) y[first + q] = packQuad(mix(vec4(0.0), RESULT(LOAD(first + q)), used(q)));
}
