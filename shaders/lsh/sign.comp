#version 450
// The bits of LSH_PROJECTION: whether the sum of hashes, each as a signed integer times the weight of its row, is positive. It is
// computed in float64, in the order of the rows, as in the reference implementation of the HAL. One invocation computes one
// bit.
#include "common.glsl"
#include "double.glsl"

layout(set = 0, binding = 0) readonly buffer H { uvec2 hashes[]; };
layout(set = 0, binding = 1) readonly buffer W { uint weights[]; };
layout(set = 0, binding = 2) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform P {
    uint count;       // with padding
    uint bits;
    uint rows;
    uint weightBytes; // 2 or 4; 0: all weights are 1
};

// Weight i as m * 2^e; infinity has e = 128 and m = 0, NaN has e = 128 and m above 0.
void weightAt(uint i, out bool negative, out int e, out uint m) {
    uint w, mantissa;
    int width, bias; // of the mantissa; e of the smallest exponent
    if (weightBytes == 4u) {
        w = weights[i];
        width = 23;
        bias = -149;
    } else {
        w = (weights[i / 2u] << (16u - 16u * (i & 1u))) & 0xffff0000u;
        w = (w & 0x80000000u) | ((w & 0x7fff0000u) >> 16); // the sign on top, everything else at the bottom
        width = 10;
        bias = -24;
    }
    negative = (w & 0x80000000u) != 0u;
    uint magnitude = w & 0x7fffffffu, top = magnitude >> width;
    m = magnitude & ((1u << width) - 1u);
    e = bias + max(int(top) - 1, 0);
    if (top == (weightBytes == 4u ? 255u : 31u)) {
        e = 128;
    } else if (top != 0u) {
        m |= 1u << width;
    }
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    if (i >= bits) {
        y[i] = 0u;
        return;
    }
    Double sum = Double(false, 0, uvec2(0u));
    bool positive = false, negative = false, unordered = false; // whether there were infinite terms, or NaN
    for (uint row = 0u; row < rows; row++) {
        Double term = doubleOf(hashes[i * rows + row]);
        if (weightBytes != 0u) {
            bool minus;
            int e;
            uint m;
            weightAt(row, minus, e, m);
            if (e == 128) {
                unordered = unordered || m != 0u || isZero(term);
                bool below = minus != term.negative;
                positive = positive || !below;
                negative = negative || below;
                continue;
            }
            term = times(term, minus, e, m);
        }
        sum = plus(sum, term);
    }
    bool above = positive || (!sum.negative && !isZero(sum));
    y[i] = above && !negative && !unordered ? 1u : 0u;
}
