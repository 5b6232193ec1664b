#version 450
// Softmax of 8-bit elements: 2^(rate d), where d is the distance from the largest element, over the sum of these. One invocation
// handles one row or, with COLUMN, four neighbouring columns.
//
//   WIDE   of rows of whole groups of 16 elements, which are loaded and stored as one
//   TEXEL  WIDE: x is read through a texel buffer
#include "common.glsl"
#include "tensor.glsl"
#include "divide.glsl"
#include "exp2.glsl"

#ifdef WIDE
#define WORDS uvec4
#else
#define WORDS uint
#endif

#ifdef TEXEL
layout(set = 0, binding = 0) uniform usamplerBuffer x;
#define LOAD(i) texelFetch(x, int(i))
#else
layout(set = 0, binding = 0) readonly buffer X { WORDS x[]; };
#define LOAD(i) x[i]
#endif
layout(set = 0, binding = 1) writeonly buffer Y { WORDS y[]; };
layout(push_constant) uniform P {
    uint count;
    Divisor inner;    // from one step along the dimension to the next; 1 without COLUMN
    uint n;           // elements of the dimension (COLUMN), quads of a row; WIDE: groups of a row
    uint c;           // elements of a row
    float rate;       // -log2(e) scale beta
    uint xOff;        // see unpackQuad8; distances do not depend on it
    float outScale;   // 1 / scale of y
    float most;       // see quotient.glsl
    uint zeros, flip;
};
#include "quotient.glsl"

// Bytes at their place in their words, in the order of unsigned numbers, the last one with its sign bit inverted, to avoid
// shifts: SwiftShader shifts each lane by itself.
const ivec4 bytes = ivec4(0xff, 0xff00, 0xff0000, 0xff000000);
const vec4 places = vec4(1.0, 1.0 / 0x100, 1.0 / 0x10000, 1.0 / 0x1000000);

ivec4 lanes(uint word) { return ivec4(int(word ^ ((xOff * 0x01010101u) ^ 0x80000000u))) & bytes; }

// The exponentials of bytes; base is the largest of them times rate.
vec4 powers(uint word, vec4 base) { return nnExp2Rough(base - vec4(lanes(word)) * (places * rate)); }

uint result(uint word, vec4 base, vec4 scale) { return quotients(powers(word, base) * scale); }

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint at;
    uint first = divide(i, inner, at) * n * inner.value + at;
    uint last = first + (n - 1u) * inner.value;
    ivec4 peak = ivec4(0, 0, 0, 0x80000000);
#ifdef WIDE
    for (uint p = first; p <= last; p++) {
        uvec4 w = LOAD(p);
        peak = max(peak, max(max(lanes(w.x), lanes(w.y)), max(lanes(w.z), lanes(w.w))));
    }
#else
#ifdef COLUMN
    bvec4 used = bvec4(true);
#else
    // Padding lanes, which are in the last quad, hold anything.
    bvec4 used = lessThan(uvec4(4u * n - 4u) + uvec4(0u, 1u, 2u, 3u), uvec4(c));
#endif
    peak = mix(peak, lanes(LOAD(last)), used);
    for (uint p = first; p < last; p += inner.value) peak = max(peak, lanes(LOAD(p)));
#endif
    vec4 base = vec4(peak) * places;
#ifndef COLUMN
    base.w += 128.0;
    base = vec4(max(max(base.x, base.y), max(base.z, base.w)));
    base.w -= 128.0;
#endif
    base *= rate;
    vec4 sum = vec4(0.0);
#ifdef WIDE
    for (uint p = first; p <= last; p++) {
        uvec4 w = LOAD(p);
        sum += (powers(w.x, base) + powers(w.y, base)) + (powers(w.z, base) + powers(w.w, base));
    }
#else
    for (uint p = first; p < last; p += inner.value) sum += powers(LOAD(p), base);
    sum += mix(vec4(0.0), powers(LOAD(last), base), used);
#endif
#ifndef COLUMN
    sum = vec4((sum.x + sum.y) + (sum.z + sum.w));
#endif
    vec4 scale = outScale / sum;
    for (uint p = first; p <= last; p += inner.value) {
#ifdef WIDE
        uvec4 w = LOAD(p);
        y[p] = uvec4(result(w.x, base, scale), result(w.y, base, scale), result(w.z, base, scale), result(w.w, base, scale));
#else
        y[p] = result(LOAD(p), base, scale);
#endif
    }
}
