#version 450
// One invocation writes `run` neighbouring quads of y, from consecutive elements in the row-major order of x,
// whose rows have another length. A tensor in dense form is one row.
#include "common.glsl"
#include "divide.glsl"
#include "lanes.glsl"

layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;
    uint run;
    uint total;       // quads of y
    uint yRow;        // elements of a row of y
    Divisor yQuads;   // quads of a row of y
    Divisor xRow;     // elements of a row of x
    uint xPitch;      // the same with the padding
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q;
    uint row = divide(i * run, yQuads, q);
    uint column;
    uint start = divide(row * yRow + 4u * q, xRow, column) * xPitch;
    uint last = min(i * run + run, total);
    uint p = i * run;
    do {
        uvec4 v = uvec4(0u);
        [[unroll]] for (int k = 0; k < 4; k++) {
            if (4u * q + uint(k) < yRow) {
                uint e = start + column;
                v[k] = element(x[wordOf(e)], e);
                // Rows of x may end anywhere, and may be shorter than a quad.
                column++;
                if (column == xRow.value) {
                    column = 0u;
                    start += xPitch;
                }
            }
        }
        y[p] = pack(v);
        q++;
        if (q == yQuads.value) q = 0u;
    } while (++p < last);
}
