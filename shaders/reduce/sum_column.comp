#version 450
// Sums along a dimension that is not the innermost. One invocation adds up a segment of at most `segment`
// elements for four neighbouring columns, or sixteen with WIDE. WIDE and TEXEL: see reach.glsl.
//
//   FROM_<type>  elements of x: F32, F16, Q8 (bytes), I32 (partial sums of bytes)
//   TO_<type>    F32, F16: the sum times `factor`; I32: the sum of the stored bytes as unsigned numbers;
//                Q8: that sum less `bias`, requantised
#include "common.glsl"
#include "divide.glsl"
#include "sum.glsl"
#include "spread.glsl"

layout(push_constant) uniform P {
    uint count;
    Divisor inner;      // quads, WIDE groups, from one element of the dimension to the next
    Divisor segments;   // of the dimension
    uint n;             // elements of the dimension
    uint segment;
    uint lastMask;      // 8-bit x: bytes that count in the last element
    uint quads, c;      // quads and elements of a row of y
    SUM_PARAMETERS
};

#include "sum_finish.glsl"

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint at, s;
    uint outer = divide(divide(i, inner, at), segments, s);
    at = spread(at, inner.value);
    uint place = (outer * segments.value + s) * inner.value + at;
    uint k = s * segment, to = min(n, k + segment);
    at += (outer * n + k) * inner.value;
#if defined(WIDE)
    SUM a = SUM(0), b = SUM(0), c4 = SUM(0), d = SUM(0);
    while (k < to) {
        uint begin = k, end = min(to, k + 256u);
        Bytes ab = noBytes, bb = noBytes, cb = noBytes, db = noBytes;
        for (; k < end; k++) {
            uvec4 w = FETCH(at) ^ flipped();
            add(ab, w.x);
            add(bb, w.y);
            add(cb, w.z);
            add(db, w.w);
            at += inner.value;
        }
        a += total(ab, end - begin);
        b += total(bb, end - begin);
        c4 += total(cb, end - begin);
        d += total(db, end - begin);
    }
    place *= 4u;
    y[place] = finish(a, place % quads, quads, c);
    y[place + 1u] = finish(b, place % quads + 1u, quads, c);
    y[place + 2u] = finish(c4, place % quads + 2u, quads, c);
    y[place + 3u] = finish(d, place % quads + 3u, quads, c);
#else
    SUM sum = SUM(0);
#ifdef FROM_Q8
    uint whole = min(to, n - 1u); // the masked element stays out of the loop
    while (k < whole) {
        uint begin = k, end = min(whole, k + 256u);
        Bytes b = noBytes;
        for (; k + 4u <= end; k += 4u) {
            [[unroll]] for (uint e = 0u; e < 4u; e++) add(b, x[at + e * inner.value] ^ flipped());
            at += 4u * inner.value;
        }
        for (; k < end; k++) {
            add(b, x[at] ^ flipped());
            at += inner.value;
        }
        sum += total(b, end - begin);
    }
    if (to == n) sum += unpackQuad8((x[at] ^ (off * 0x01010101u)) & lastMask, 0u);
#else
    for (; k < to; k++) {
        sum += loadSum(FETCH(at));
        at += inner.value;
    }
#endif
    y[place] = finish(sum, place % quads, quads, c);
#endif
}
