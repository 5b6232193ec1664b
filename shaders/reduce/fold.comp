#version 450
// Folds a dimension: the largest, the smallest or the product of its elements, or the place of the largest or smallest.
// COLUMN: along a dimension that is not the innermost; one invocation folds a segment of at most `segment` elements for four
// neighbouring columns. Else: along the innermost; one invocation folds the rows of x that become one quad of y.
//
//   FOLD_<what>  MAX, MIN, PROD, PLACE
//   FROM_<type>  elements of x: F32, F16, I32, Q8 (bytes), KEY (of PLACE: pairs of quads, keys and places)
//   TO_<type>    elements of y: F32, F16, Q8, KEY; I32 (of PLACE: places)
//   WIDE, TEXEL  how x is read, see reach.glsl; WIDE and COLUMN: an invocation folds sixteen neighbouring columns
#include "common.glsl"
#include "divide.glsl"
#include "tensor.glsl"

// Bytes are folded at their place in their words, since shifting them would take longer than everything else: lane k of a
// Part holds byte k in place, in the order of unsigned numbers, the last one with its sign bit inverted.
const ivec4 bytes = ivec4(0xff, 0xff00, 0xff0000, 0xff000000);

// Part is the result of four lanes so far. neutral changes nothing; both folds two parts; further folds p and an element e
// that comes after everything in p; LANES(p, s) are lanes of p.
#ifdef FOLD_PLACE
struct Part { ivec4 key; ivec4 place; };
#define LANES(p, s) Part(p.key.s, p.place.s)
const Part neutral = Part(ivec4(0x80000000), ivec4(0x7fffffff));
Part choose(Part a, Part b, bvec4 second) { return Part(mix(a.key, b.key, second), mix(a.place, b.place, second)); }
Part further(Part p, Part e) { return choose(p, e, greaterThan(e.key, p.key)); }
// The larger key, of equal ones the first.
Part both(Part a, Part b) {
    bvec4 first = mix(lessThan(b.place, a.place), bvec4(false), notEqual(a.key, b.key));
    return choose(a, b, mix(first, bvec4(true), greaterThan(b.key, a.key)));
}
#else
#ifdef FROM_Q8
#define Part ivec4
#define LEAST ivec4(0, 0, 0, 0x80000000)
#define MOST ivec4(0xff, 0xff00, 0xff0000, 0x7fffffff)
#else
#define Part vec4
#define LEAST vec4(uintBitsToFloat(0xff800000u))
#define MOST vec4(uintBitsToFloat(0x7f800000u))
#endif
#define LANES(p, s) p.s
#define choose(a, b, second) mix(a, b, second)
#define further(p, e) both(p, e)
#if defined(FOLD_MAX)
#define neutral LEAST
Part both(Part a, Part b) { return max(a, b); }
#elif defined(FOLD_MIN)
#define neutral MOST
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
#define keysOf(q) (ivec4(int(q ^ turned() ^ uint(flip))) & bytes)
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

#if defined(FROM_Q8) && !defined(WIDE)
#define LINE 16u
#elif defined(FROM_F16)
#define LINE 8u
#else
#define LINE 4u
#endif
#include "spread.glsl"

#if defined(TO_F32)
#define TO vec4
#elif defined(TO_F16)
#define TO uvec2
#elif defined(TO_Q8)
#define TO uint
#else
#define TO ivec4
#endif

#include "reach.glsl"
layout(set = 0, binding = 1) writeonly buffer Y { TO y[]; };
layout(push_constant) uniform P {
    uint count;
#ifdef COLUMN
    Divisor inner;      // quads, WIDE groups, from one element of the dimension to the next
    Divisor segments;   // of the dimension
    uint n;             // elements of the dimension
    uint segment;
    uint lastMask;      // in the last element, lanes count if any bit of their byte is set here
    uint quads, c;      // quads and elements of a row of y
#else
    Divisor quads;      // of a row of y
    uint c;             // elements of a row of y
    uint xQuads;        // quads of a row of x
    uint lastMask;      // as above, in the last quad of a row
#endif
    uint off;           // 128 for signed 8-bit elements, else 0
    uint top;           // greater bytes count as this one: 1 for booleans
    int flip;           // PLACE: -1 for the smallest, 0 for the largest
    uint across;        // PLACE: 1 if the elements of the dimension are the quads of rows
};

// The bits of a word of bytes that are inverted in a Part.
uint turned() { return (off * 0x01010101u) ^ 0x80000000u; }

#ifndef FROM_KEY
// Quad q, element k of the dimension that is folded.
Part part(FROM q, uint k) {
#if defined(FOLD_PLACE)
    // Until it is settled, a place counts quads, and is the same for all four lanes.
#ifdef FROM_Q8
    return Part(keysOf(q), ivec4(k));
#else
    return Part(keysOf(q) ^ flip, ivec4(k));
#endif
#elif defined(FROM_F16)
    return unpackHalf4(q);
#elif defined(FROM_Q8)
    return ivec4(int(q ^ turned())) & ivec4(bytes.xyz, -1); // bits below the last byte make no difference
#else
    return q;
#endif
}
#endif

#ifdef FROM_KEY
#define load(i, k) Part(x[2u * (i)], x[2u * (i) + 1u])
#else
#define load(i, k) part(FETCH(i), k)
#endif

// p, with lanes that do not count made neutral.
Part masked(Part p, uint mask) {
    return choose(neutral, p, notEqual(ivec4(int(mask)) & bytes, ivec4(0)));
}

#ifndef WIDE
// Folds elements `from` to `to` - 1 of n, which lie `stride` quads apart, the first at quad `first`. The last of the n is masked,
// and stays out of the loop.
Part fold(uint first, uint stride, uint n, uint from, uint to) {
    uint at = first + from * stride, k = from, whole = min(to, n - 1u);
#if defined(FROM_KEY) // none of them is masked
    Part p = load(at, k);
#elif defined(FOLD_PLACE)
    Part p = Part(neutral.key, ivec4(k));
#else
    Part p = neutral;
#endif
#ifdef FROM_Q8 // unrolled, because a word is little work
    for (; k + 4u <= whole; k += 4u) {
        [[unroll]] for (uint e = 0u; e < 4u; e++) p = further(p, load(at + e * stride, k + e));
        at += 4u * stride;
    }
#endif
    for (; k < whole; k++) {
        p = further(p, load(at, k));
        at += stride;
    }
    if (to == n) p = further(p, masked(load(at, k), lastMask));
    return p;
}
#elif !defined(COLUMN)
// Folds the n groups of a row from group `first` on.
Part foldRow(uint first, uint n) {
#if defined(FOLD_PLACE)
    Part p = Part(neutral.key, ivec4(0));
#else
    Part p = neutral;
#endif
    uint k = 0u;
    for (; k < n - 1u; k++) {
        uvec4 w = FETCH(first + k);
        [[unroll]] for (uint e = 0u; e < 4u; e++) p = further(p, part(w[e], 4u * k + e));
    }
    uvec4 w = FETCH(first + k);
    [[unroll]] for (uint e = 0u; e < 3u; e++) p = further(p, part(w[e], 4u * k + e));
    return further(p, masked(part(w.w, 4u * k + 3u), lastMask));
}
#endif

// Bytes as numbers, so that lanes can be compared with each other.
ivec4 numbers(ivec4 p) {
    p = (p & bytes) >> ivec4(0, 8, 16, 24);
    return ivec4(p.xyz, p.w + 128);
}

Part settled(Part p) {
#if defined(FOLD_PLACE) && !defined(FROM_KEY)
    if (across != 0u) p.place = 4 * p.place + ivec4(0, 1, 2, 3);
#ifdef FROM_Q8
    p.key = numbers(p.key);
#endif
#elif defined(FROM_Q8)
    p = min(numbers(p), ivec4(top));
#endif
    return p;
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
    y[i] = packQuad8(p) ^ (off * 0x01010101u);
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
    at = spread(at, inner.value);
    uint from = s * segment, to = (outer * segments.value + s) * inner.value + at;
#ifdef WIDE
    uint k = from, last = min(n, from + segment);
    at += (outer * n + k) * inner.value;
#ifdef FOLD_PLACE
    Part start = Part(neutral.key, ivec4(k));
#else
    Part start = neutral;
#endif
    Part a = start, b = start, c = start, d = start;
    for (; k < last; k++) {
        uvec4 w = FETCH(at);
        a = further(a, part(w.x, k));
        b = further(b, part(w.y, k));
        c = further(c, part(w.z, k));
        d = further(d, part(w.w, k));
        at += inner.value;
    }
    to *= 4u;
    store(settled(a), to, to % quads, quads);
    store(settled(b), to + 1u, to % quads + 1u, quads);
    store(settled(c), to + 2u, to % quads + 2u, quads);
    store(settled(d), to + 3u, to % quads + 3u, quads);
#else
    store(settled(fold(outer * n * inner.value + at, inner.value, n, from, min(n, from + segment))), to, to % quads, quads);
#endif
#else
    uint q;
    uint row = divide(i, quads, q) * c + 4u * q;
    uint rows = min(4u, c - 4u * q);
    Part all = neutral;
    for (uint r = 0u; r < rows; r++) {
#ifdef WIDE
        Part p = settled(foldRow((row + r) * (xQuads / 4u), xQuads / 4u));
#else
        Part p = settled(fold((row + r) * xQuads, 1u, xQuads, 0u, xQuads));
#endif
        p = both(p, LANES(p, zwxy));
        p = both(p, LANES(p, yxwz));
        all = choose(all, p, equal(uvec4(r), uvec4(0u, 1u, 2u, 3u)));
    }
    store(all, i, q, quads.value);
#endif
}
