#version 450
// Places the rows of x into the rows of y, at an element offset that is no multiple of 4. One invocation
// writes one quad of y that holds elements of x; lanes before those keep what an earlier step wrote,
// lanes behind them become zero.
#include "common.glsl"
#include "divide.glsl"
#include "lanes.glsl"

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;
    Divisor touched;       // quads of a row of y that are written
    uint xRow;             // elements of a row of x
    uint xQuads, yQuads;   // quads of a row
    uint first;            // first quad of y written in a row
    uint skip;             // lanes of it that stay: 1, 2 or 3
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q;
    uint row = divide(i, touched, q);
    uint yi = row * yQuads + first + q;
    uint xi = row * xQuads + q;
    // Elements 4q - skip to 4q - skip + 3 of the row of x lie in two of its quads.
    uvec4 lo = uvec4(0u), hi = uvec4(0u);
    if (q > 0u) lo = lanes(x[xi - 1u]);
    else lo = lanes(y[yi]) ;
    if (q < xQuads) hi = lanes(x[xi]);
    uvec4 v;
    if (q == 0u) {
        uvec4 moved = skip == 1u ? hi.xxyz : skip == 2u ? hi.xxxy : hi.xxxx;
        v = mix(moved, lo, lessThan(laneIndex, uvec4(skip)));
    } else {
        v = skip == 1u ? uvec4(lo.w, hi.xyz) : skip == 2u ? uvec4(lo.zw, hi.xy) : uvec4(lo.yzw, hi.x);
    }
    y[yi] = pack(mix(uvec4(0u), v, lessThan(laneIndex, uvec4(xRow + skip - 4u * q))));
}
