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

// Bytes where they lie in their words, in the order of unsigned numbers, the last one with its sign bit turned: SwiftShader
// shifts each lane by itself.
const ivec4 bytes = ivec4(0xff, 0xff00, 0xff0000, 0xff000000);

ivec4 load(uint p) { return ivec4(int(x[p] ^ ((xOff * 0x01010101u) ^ 0x80000000u))) & bytes; }

// The exponentials of bytes whose distances from the largest are base less their values.
vec4 powers(uint p, vec4 base) {
    ivec4 d = ivec4(base - vec4(load(p)) * vec4(1.0, 1.0 / 0x100, 1.0 / 0x10000, 1.0 / 0x1000000)) & 0xff;
    return vec4(texelFetch(table, d.x).x, texelFetch(table, d.y).x, texelFetch(table, d.z).x, texelFetch(table, d.w).x);
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint at;
    uint first = divide(i, inner, at) * n * inner.value + at;
    uint last = first + (n - 1u) * inner.value;
#ifdef COLUMN
    bvec4 used = bvec4(true);
#else
    // Padding lanes, which are in the last quad, hold anything.
    bvec4 used = lessThan(uvec4(4u * n - 4u) + uvec4(0u, 1u, 2u, 3u), uvec4(c));
#endif
    ivec4 peak = mix(ivec4(0, 0, 0, 0x80000000), load(last), used);
    for (uint p = first; p < last; p += inner.value) peak = max(peak, load(p));
    vec4 base = vec4(peak) * vec4(1.0, 1.0 / 0x100, 1.0 / 0x10000, 1.0 / 0x1000000);
#ifndef COLUMN
    base.w += 128.0;
    base = vec4(max(max(base.x, base.y), max(base.z, base.w)));
    base.w -= 128.0;
#endif
    vec4 sum = vec4(0.0);
    for (uint p = first; p < last; p += inner.value) sum += powers(p, base);
    sum += mix(vec4(0.0), powers(last, base), used);
#ifndef COLUMN
    sum = vec4((sum.x + sum.y) + (sum.z + sum.w));
#endif
    vec4 scale = outScale / sum;
    for (uint p = first; p <= last; p += inner.value) {
        y[p] = packQuad8(clamp(ivec4(roundEven(powers(p, base) * scale)) + outZero, low, high));
    }
}
