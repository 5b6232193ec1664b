#version 450
// Folds a dimension: the largest, the smallest or the product of its elements, or the place of the largest or smallest.
// COLUMN: along a dimension that is not the innermost; one invocation folds a segment of at most `segment` elements for four
// neighbouring columns. Else: along the innermost; one invocation folds the rows of x that become one quad of y.
//
//   FOLD_<what>  MAX, MIN, PROD, PLACE
//   FROM_<type>  elements of x: F32, F16, I32, Q8 (bytes), KEY (of PLACE: pairs of quads, keys and places)
//   TO_<type>    elements of y: F32, F16, Q8, KEY; I32 (of PLACE: places)
#include "common.glsl"
#include "divide.glsl"
#include "tensor.glsl"

// Part is what four lanes have come to. neutral changes nothing; both is the fold of two; LANES(p, s) are lanes of p.
#ifdef FOLD_PLACE
struct Part { ivec4 key; ivec4 place; };
#define LANES(p, s) Part(p.key.s, p.place.s)
const Part neutral = Part(ivec4(0x80000000), ivec4(0x7fffffff));
Part choose(Part a, Part b, bvec4 second) { return Part(mix(a.key, b.key, second), mix(a.place, b.place, second)); }
// The larger key, of equal ones the first.
Part both(Part a, Part b) {
    bvec4 first = mix(lessThan(b.place, a.place), bvec4(false), notEqual(a.key, b.key));
    return choose(a, b, mix(first, bvec4(true), greaterThan(b.key, a.key)));
}
#else
#ifdef FROM_Q8
#define Part uvec4
#define LEAST 0u
#define MOST 255u
#else
#define Part vec4
#define LEAST uintBitsToFloat(0xff800000u)
#define MOST uintBitsToFloat(0x7f800000u)
#endif
#define LANES(p, s) p.s
#define choose(a, b, second) mix(a, b, second)
#if defined(FOLD_MAX)
#define neutral Part(LEAST)
Part both(Part a, Part b) { return max(a, b); }
#elif defined(FOLD_MIN)
#define neutral Part(MOST)
Part both(Part a, Part b) { return min(a, b); }
#else
#define neutral Part(1.0)
Part both(Part a, Part b) { return a * b; }
#endif
#endif

#if defined(FOLD_PLACE) && !defined(FROM_KEY)
#if defined(FROM_F32)
#define ELEM_F32
#elif defined(FROM_F16)
#define ELEM_F16
#elif defined(FROM_I32)
#define ELEM_I32
#else
#define BITS uint
#define keysOf(q) unpackQuad8(q, off)
#endif
#include "order.glsl"
#define FROM BITS
#elif defined(FROM_KEY)
#define FROM ivec4
#elif defined(FROM_F32)
#define FROM vec4
#elif defined(FROM_F16)
#define FROM uvec2
#else
#define FROM uint
#endif

#if defined(TO_F32)
#define TO vec4
#elif defined(TO_F16)
#define TO uvec2
#elif defined(TO_Q8)
#define TO uint
#else
#define TO ivec4
#endif

layout(set = 0, binding = 0) readonly buffer X { FROM x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { TO y[]; };
layout(push_constant) uniform P {
    uint count;
#ifdef COLUMN
    Divisor inner;      // quads from one element of the dimension to the next
    Divisor segments;   // of the dimension
    uint n;             // elements of the dimension
    uint segment;
    uint lastMask;      // bytes of which any bit is set for the lanes that count in the last element
    uint quads, c;      // quads and elements of a row of y
#else
    Divisor quads;      // of a row of y
    uint c;             // elements of a row of y
    uint xQuads;        // quads of a row of x
    uint lastMask;      // as above, in the last quad of a row
#endif
    uint off;           // 128 for signed 8-bit elements, else 0
    uint top;           // greater bytes count as this: 1 for booleans
    int flip;           // of PLACE: -1 for the smallest, 0 for the largest
    uint across;        // of PLACE: 1 where the elements of the dimension are quads of rows
};

// Quad i of x, element k of the dimension that is folded.
Part load(uint i, uint k) {
#if defined(FROM_KEY)
    return Part(x[2u * i], x[2u * i + 1u]);
#elif defined(FOLD_PLACE)
    return Part(keysOf(x[i]) ^ flip, across != 0u ? ivec4(4u * k) + ivec4(0, 1, 2, 3) : ivec4(k));
#elif defined(FROM_F16)
    return unpackHalf4(x[i]);
#elif defined(FROM_Q8)
    // In unsigned order, whatever the sign.
    return min((uvec4(x[i] ^ (off * 0x01010101u)) >> uvec4(0u, 8u, 16u, 24u)) & 0xffu, uvec4(top));
#else
    return x[i];
#endif
}

// p without the lanes that do not count.
Part masked(Part p, uint mask) {
    return choose(neutral, p, notEqual(uvec4(mask) & uvec4(0xffu, 0xff00u, 0xff0000u, 0xff000000u), uvec4(0u)));
}

// Quad i of y, quad q of a row of rowQuads.
void store(Part p, uint i, uint q, uint rowQuads) {
#if defined(TO_KEY)
    y[2u * i] = p.key;
    y[2u * i + 1u] = p.place;
#elif defined(FOLD_PLACE)
    uint used = c & 3u;
    bool padded = used != 0u && q == rowQuads - 1u;
    y[i] = padded ? mix(ivec4(0), p.place, lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(used))) : p.place;
#elif defined(TO_Q8)
    y[i] = packQuad8(ivec4(p)) ^ (off * 0x01010101u);
#elif defined(TO_F16)
    y[i] = packHalf4(clearPadding(p, q, rowQuads, c));
#else
    y[i] = clearPadding(p, q, rowQuads, c);
#endif
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
#ifdef COLUMN
    uint at, s;
    uint outer = divide(divide(i, inner, at), segments, s);
    uint first = outer * n * inner.value + at;
    uint from = s * segment, to = min(n, from + segment);
    Part all = neutral;
    // What is masked stays out of the loop.
    uint whole = min(to, n - 1u);
    for (uint k = from; k < whole; k++) all = both(all, load(first + k * inner.value, k));
    if (to == n) all = both(all, masked(load(first + whole * inner.value, whole), lastMask));
    store(all, i, i % quads, quads);
#else
    uint q;
    uint row = divide(i, quads, q) * c + 4u * q;
    uint rows = min(4u, c - 4u * q);
    Part all = neutral;
    [[unroll]] for (uint r = 0u; r < 4u; r++) {
        if (r < rows) {
            uint first = (row + r) * xQuads;
            Part p = neutral;
            uint last = xQuads - 1u;
            for (uint k = 0u; k < last; k++) p = both(p, load(first + k, k));
            p = both(p, masked(load(first + last, last), lastMask));
            p = both(p, LANES(p, zwxy));
            p = both(p, LANES(p, yxwz));
            all = choose(all, p, equal(uvec4(r), uvec4(0u, 1u, 2u, 3u)));
        }
    }
    store(all, i, q, quads.value);
#endif
}
