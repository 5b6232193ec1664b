#version 450
// Softmax of 8-bit elements with a table of e^(-scale beta d) for the distances d = 0..255 from the
// largest element, as TensorFlow Lite's optimized_ops::Softmax for 8 bits. One invocation handles one row
// or, with COLUMN, four neighbouring columns.
#include "common.glsl"
#include "tensor.glsl"
#include "divide.glsl"

layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) uniform samplerBuffer table;
layout(set = 0, binding = 2) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform P {
    uint count;
    Divisor inner;    // quads from one step along the dimension to the next; 1 without COLUMN
    uint n;           // elements of the dimension (COLUMN), quads of a row
    uint c;           // elements of a row
    uint xOff;        // see unpackQuad8; distances do not depend on it
    float outScale;   // 1 / scale of y
    int outZero;
    int low, high;
};

ivec4 load(uint p) { return unpackQuad8(x[p] ^ (xOff * 0x01010101u), 0u); }

float power(int d) { return texelFetch(table, d).x; }
vec4 power(ivec4 d) { return vec4(power(d.x), power(d.y), power(d.z), power(d.w)); }

// Padding lanes hold anything: this is 255 in the lanes of elements.
ivec4 mask(uint k) {
#ifdef COLUMN
    return ivec4(255);
#else
    return mix(ivec4(0), ivec4(255), lessThan(uvec4(4u * k) + uvec4(0u, 1u, 2u, 3u), uvec4(c)));
#endif
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint at;
    uint first = divide(i, inner, at) * n * inner.value + at;
    ivec4 top = ivec4(0);
    for (uint k = 0u; k < n; k++) top = max(top, load(first + k * inner.value) & mask(k));
#ifndef COLUMN
    top = ivec4(max(max(top.x, top.y), max(top.z, top.w)));
#endif
    vec4 sum = vec4(0.0);
    for (uint k = 0u; k < n; k++) {
        ivec4 m = mask(k);
        vec4 e = power(clamp(top - load(first + k * inner.value), 0, 255));
        sum += mix(vec4(0.0), e, equal(m, ivec4(255)));
    }
#ifndef COLUMN
    sum = vec4((sum.x + sum.y) + (sum.z + sum.w));
#endif
    vec4 scale = outScale / sum;
    for (uint k = 0u; k < n; k++) {
        uint p = first + k * inner.value;
        vec4 v = power(clamp(top - load(p), 0, 255)) * scale;
        y[p] = packQuad8(clamp(ivec4(roundEven(v)) + outZero, low, high));
    }
}
