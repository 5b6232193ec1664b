#version 450
// Softmax along the innermost dimension: one invocation handles one row, and goes through it twice.
//
//   LOG     y = beta (x - max) - log(sum)
//   TEXEL   x, of f32, is read through a texel buffer
//   UNROLL  quads an iteration
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
    float rate = beta * 1.44269504; // log2(e)
    // For each lane, the largest so far (never -infinity, whose distance from itself is NaN) and the sum of exponentials relative
    // to it.
    vec4 peak = max(vec4(-3.40282347e38), mix(vec4(-nnInf), LOAD(first + whole), used(whole)));
    vec4 sums = mix(vec4(0.0), nnExp2Down((LOAD(first + whole) - peak) * rate), used(whole));
    for (q = 0u; q + UNROLL <= whole; q += UNROLL) {
        vec4 v[UNROLL], before = peak;
        [[unroll]] for (uint k = 0u; k < UNROLL; k++) v[k] = LOAD(first + q + k);
        [[unroll]] for (uint k = 0u; k < UNROLL; k++) peak = max(peak, v[k]);
        sums *= nnExp2Down((before - peak) * rate);
        [[unroll]] for (uint k = 0u; k < UNROLL; k++) sums += nnExp2Down((v[k] - peak) * rate);
    }
    for (; q < whole; q++) {
        vec4 v = LOAD(first + q), before = peak;
        peak = max(peak, v);
        sums = sums * nnExp2Down((before - peak) * rate) + nnExp2Down((v - peak) * rate);
    }
    float top = max(max(peak.x, peak.y), max(peak.z, peak.w));
    sums *= nnExp2Down((peak - top) * rate);
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
