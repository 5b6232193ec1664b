#version 450
// Sums of floats along the innermost dimension. A team of invocations adds up the rows of x that become one quad of y,
// taking their quads in turn. FROM and TO as in sum_column.comp.
#include "common.glsl"
#include "divide.glsl"
#include "sum.glsl"
#include "team.glsl"

layout(push_constant) uniform P {
    uint count;
    Divisor quads; // of a row of y
    uint c;        // elements of a row of y
    uint xQuads;   // quads of a row of x
    SUM_PARAMETERS
};

#include "sum_finish.glsl"

void main() {
    TEAM_ROWS(i, count) {
        uint q;
        uint row = divide(i, quads, q) * c + 4u * q;
        uint rows = min(4u, c - 4u * q);
        vec4 sum = vec4(0.0);
        for (uint r = 0u; r < rows; r++) {
            uint first = (row + r) * xQuads;
            vec4 s = vec4(0.0); // the padding of x is zero
            for (uint k = member(); k < xQuads; k += members()) s += loadSum(x[first + k]);
            sum = mix(sum, vec4((s.x + s.y) + (s.z + s.w)), equal(uvec4(r), uvec4(0u, 1u, 2u, 3u)));
        }
        sum = teamAdd(sum);
        if (member() == 0u) y[i] = finish(sum, q, quads.value, c);
    }
}
