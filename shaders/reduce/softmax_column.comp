#version 450
// Softmax along a dimension that is not the innermost: one invocation handles four neighbouring columns.
// LOG as in softmax_row.comp.
#include "common.glsl"
#include "tensor.glsl"
#include "math.glsl"
#include "exp2.glsl"
#include "divide.glsl"

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;
    Divisor inner;   // quads from one element of the dimension to the next
    uint n;          // elements of the dimension
    uint quads;      // of a row of the tensor
    uint c;          // elements of a row
    float beta;
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint at;
    uint first = divide(i, inner, at) * n * inner.value + at;
    vec4 top = unpackQuad(x[first]);
    for (uint k = 1u; k < n; k++) top = max(top, unpackQuad(x[first + k * inner.value]));
    float rate = beta * 1.44269504; // log2(e)
    vec4 sum = vec4(0.0);
    uint k = 0u;
    do sum += nnExp2Down((unpackQuad(x[first + k * inner.value]) - top) * rate);
    while (++k < n);
#ifdef LOG
    vec4 shift = nnLog(sum);
#else
    vec4 scale = 1.0 / sum;
#endif
    k = 0u;
    do {
        uint p = first + k * inner.value;
        vec4 v = unpackQuad(x[p]) - top;
#ifdef LOG
        v = v * beta - shift;
#else
        v = nnExp2Down(v * rate) * scale;
#endif
        y[p] = packQuad(clearPadding(v, at, quads, c));
    } while (++k < n);
}
