#version 450
// Sums along the innermost dimension. One invocation adds up the rows of x that become one quad of y.
// FROM and TO as in sum_column.comp, WIDE and TEXEL as in reach.glsl.
#include "common.glsl"
#include "divide.glsl"
#include "sum.glsl"

layout(push_constant) uniform P {
    uint count;
    Divisor quads;     // of a row of y
    uint c;            // elements of a row of y
    uint xQuads;       // quads of a row of x
    uint lastMask;     // 8-bit x: bytes that count in the last quad of a row
    SUM_PARAMETERS
};

#include "sum_finish.glsl"

#if defined(FROM_I32) || defined(FROM_Q8)
int sumLanes(ivec4 v) { return v.x + v.y + v.z + v.w; }
#else
float sumLanes(vec4 v) { return (v.x + v.y) + (v.z + v.w); }
#endif

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q;
    uint row = divide(i, quads, q) * c + 4u * q;
    uint rows = min(4u, c - 4u * q);
    SUM sum = SUM(0);
    for (uint r = 0u; r < rows; r++) {
        uint first = (row + r) * xQuads;
#if defined(WIDE)
        // Bytes of the last quad that do not count are subtracted again.
        uint k = first / 4u, last = (first + xQuads) / 4u;
        SUM s = SUM(0);
        while (k < last) {
            uint begin = k, end = min(last, k + 64u);
            Bytes b = noBytes;
            for (; k < end; k++) {
                uvec4 w = FETCH(k) ^ flipped();
                add(b, w.x);
                add(b, w.y);
                add(b, w.z);
                add(b, w.w);
            }
            s += total(b, 4u * (end - begin));
        }
        s -= unpackQuad8((FETCH(last - 1u).w ^ (off * 0x01010101u)) & ~lastMask, 0u);
#elif defined(FROM_Q8)
        // The masked quad stays out of the loop.
        uint last = xQuads - 1u, k = 0u; // the last one is masked
        SUM s = unpackQuad8((x[first + last] ^ (off * 0x01010101u)) & lastMask, 0u);
        while (k < last) {
            uint begin = k, end = min(last, k + 256u);
            Bytes b = noBytes;
            for (; k + 4u <= end; k += 4u) {
                [[unroll]] for (uint e = 0u; e < 4u; e++) add(b, x[first + k + e] ^ flipped());
            }
            for (; k < end; k++) add(b, x[first + k] ^ flipped());
            s += total(b, end - begin);
        }
#else
        // The padding of floats and of partial sums is zero.
        SUM s = SUM(0);
        for (uint k = 0u; k < xQuads; k++) s += loadSum(FETCH(first + k));
#endif
        sum = mix(sum, SUM(sumLanes(s)), equal(uvec4(r), uvec4(0u, 1u, 2u, 3u)));
    }
    y[i] = finish(sum, q, quads.value, c);
}
