#version 450
// Sums along a dimension that is not the innermost. One invocation adds up a segment of at most `segment`
// elements for four neighbouring columns.
//
//   FROM_<type>  elements of x: F32, F16, Q8 (bytes), I32 (partial sums of bytes)
//   TO_<type>    F32, F16: the sum times `factor`; I32: the sum of the stored bytes as unsigned numbers;
//                Q8: that sum less `bias`, requantised
#include "common.glsl"
#include "divide.glsl"
#include "sum.glsl"

layout(push_constant) uniform P {
    uint count;
    Divisor inner;      // quads from one element of the dimension to the next
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
    uint first = outer * n * inner.value + at;
    uint from = s * segment, to = min(n, from + segment);
    SUM sum = SUM(0);
#ifdef FROM_Q8
    // 257 bytes fit a 16-bit half: bytes 0 and 2, 1 and 3 are added in pairs.
    for (uint k = from; k < to;) {
        uint stop = min(to, k + 256u);
        uvec2 pairs = uvec2(0u);
        for (; k < stop; k++) {
            uint w = (x[first + k * inner.value] ^ (off * 0x01010101u)) & (k == n - 1u ? lastMask : 0xffffffffu);
            pairs += uvec2(w, w >> 8) & 0x00ff00ffu;
        }
        sum += ivec4(pairs & 0xffffu, pairs >> 16);
    }
#else
    for (uint k = from; k < to; k++) sum += loadSum(x[first + k * inner.value]);
#endif
    y[i] = finish(sum, i % quads, quads, c);
}
