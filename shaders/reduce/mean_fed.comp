#version 450
// Mean over axes read from memory. One invocation adds up what becomes one quad of y. FROM and TO are as in
// sum_column.comp, both of one type.
//
// The axes may be anything: whatever they are, every index that is read is within x, and at most `expected`
// elements are summed up for one of y.
#include "common.glsl"
#include "divide.glsl"
#include "sum.glsl"

layout(set = 0, binding = 2) readonly buffer Axes { int axes[]; };   // of x, negative ones from the end
layout(push_constant) uniform P {
    uint count;
    Divisor quads;   // of a row of y
    uint c;          // elements of a row of y
    uint axisCount;
    int rank;        // of x, 1 to 4
    uint dims[4];    // of x, with ones in front
    uint pitch;      // elements of a row of x with its padding
    uint expected;   // elements of x for one of y
    SUM_PARAMETERS
};

#include "sum_finish.glsl"

#ifdef FROM_Q8
int fetch(uint e) { return int(((x[e >> 2] ^ (off * 0x01010101u)) >> (8u * (e & 3u))) & 0xffu); }
#else
float fetch(uint e) { return loadSum(x[e >> 2])[e & 3u]; }
#endif

void main() {
    uint i = flatIndex();
    if (i >= count) return;

    uvec4 reduced = uvec4(1u);   // by dimension: how many positions one sum covers
    for (uint k = 0u; k < axisCount; k++) {
        int a = axes[k];
        if (a < 0) a += rank;
        if (a >= 0 && a < rank) {
            bvec4 here = equal(ivec4(0, 1, 2, 3), ivec4(a + 4 - rank));
            reduced = mix(reduced, uvec4(dims[0], dims[1], dims[2], dims[3]), here);
        }
    }
    uint total = reduced.x * reduced.y * reduced.z * reduced.w;
    if (total != expected) {   // not the axes that the model has
        reduced = uvec4(1u);
        total = 1u;
    }

    uvec4 stride = uvec4(pitch * dims[2] * dims[1], pitch * dims[2], pitch, 1u);
    uint q;
    uint row = divide(i, quads, q);
    uvec4 rest = row * c + min(4u * q + uvec4(0u, 1u, 2u, 3u), uvec4(c - 1u));
    uvec4 first = uvec4(0u);
    [[unroll]] for (int d = 3; d >= 0; d--) {
        uint n = reduced[d] == 1u ? dims[d] : 1u;
        uvec4 up = rest / n;
        first += (rest - up * n) * stride[d];
        rest = up;
    }

    // Partial sums of 256 lose less by rounding than one long sum.
    SUM sum = SUM(0), part = SUM(0);
    uvec4 at = uvec4(0u);
    for (uint k = 0u; k < total; k++) {
        uvec4 e = first + at.x * stride.x + at.y * stride.y + at.z * stride.z + at.w;
        part += SUM(fetch(e.x), fetch(e.y), fetch(e.z), fetch(e.w));
        if ((k & 255u) == 255u) {
            sum += part;
            part = SUM(0);
        }
        at.w++;
        if (at.w == reduced.w) at = uvec4(at.xy, at.z + 1u, 0u);
        if (at.z == reduced.z) at = uvec4(at.x, at.y + 1u, 0u, at.w);
        if (at.y == reduced.y) at = uvec4(at.x + 1u, 0u, at.zw);
    }
    y[i] = finish(sum + part, q, quads.value, c);
}
