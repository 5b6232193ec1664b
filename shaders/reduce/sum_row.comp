#version 450
// Sums along the innermost dimension. One invocation adds up the rows of x that become one quad of y.
// FROM and TO as in sum_column.comp.
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

#ifdef FROM_Q8
int sumLanes(uint w) {
    // Bytes 0 and 2, 1 and 3 in 16-bit halves.
    uint pair = (w & 0x00ff00ffu) + ((w >> 8) & 0x00ff00ffu);
    return int((pair & 0xffffu) + (pair >> 16));
}
#else
#ifdef FROM_I32
int sumLanes(ivec4 v) { return v.x + v.y + v.z + v.w; }
#else
float sumLanes(vec4 v) { return (v.x + v.y) + (v.z + v.w); }
#endif
#endif

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q;
    uint row = divide(i, quads, q) * c + 4u * q;
    uint rows = min(4u, c - 4u * q);
    SUM sum = SUM(0);
    [[unroll]] for (uint r = 0u; r < 4u; r++) {
        if (r < rows) {
            uint first = (row + r) * xQuads;
#ifdef FROM_Q8
            int s = 0;
            for (uint k = 0u; k < xQuads; k++) {
                s += sumLanes((x[first + k] ^ (off * 0x01010101u)) & (k == xQuads - 1u ? lastMask : 0xffffffffu));
            }
            sum[r] = s;
#else
            // The padding of floats and of partial sums is zero.
            SUM s = SUM(0);
            for (uint k = 0u; k < xQuads; k++) s += loadSum(x[first + k]);
            sum[r] = sumLanes(s);
#endif
        }
    }
    y[i] = finish(sum, q, quads.value, c);
}
