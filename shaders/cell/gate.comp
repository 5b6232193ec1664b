#version 450
// A gate of QUANTIZED_16BIT_LSTM before its activation, a number with three integer bits: the product of a row, the input followed
// by the output state, with rows of 8-bit weights, and a bias. As the reference implementation of the HAL does, and as its expected
// results require, the recurrent weights nevertheless come first in a row of weights, and the input weights behind them. One
// invocation computes one quad of a row.
#include "common.glsl"
#include "divide.glsl"
#include "fixedpoint.glsl"
#include "fixed16.glsl"

layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) readonly buffer H { uint h[]; };
layout(set = 0, binding = 2) readonly buffer R { uint r[]; };
layout(set = 0, binding = 3) readonly buffer W { uint w[]; };
layout(set = 0, binding = 4) readonly buffer B { ivec4 bias[]; };
layout(set = 0, binding = 5) writeonly buffer G { ivec4 gate[]; };
layout(push_constant) uniform P {
    uint count;       // quads
    Divisor rowQuads; // in a row
    uint units;
    uint size;        // of a row of the input
    int zero, weightZero;
    int multiplier, left, right;
};

int byteOf(uint word, uint i) { return int((word >> (8u * (i & 3u))) & 0xffu); }

// Element d of a row of the input and the output state.
int valueAt(uint row, uint d) {
    if (d < size) return byteOf(x[row * ((size + 3u) / 4u) + d / 4u], d);
    d -= size;
    return byteOf(h[row * rowQuads.value + d / 4u], d);
}

// Element d of a row of the weights.
int weightAt(uint row, uint d) {
    if (d < units) return byteOf(r[row * rowQuads.value + d / 4u], d);
    d -= units;
    return byteOf(w[row * ((size + 3u) / 4u) + d / 4u], d);
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q;
    uint row = divide(i, rowQuads, q);
    uvec4 unit = min(4u * q + uvec4(0u, 1u, 2u, 3u), uvec4(units - 1u)); // padding lanes repeat the last
    ivec4 acc = bias[q];
    for (uint d = 0u; d < size + units; d++) {
        int v = valueAt(row, d) - zero;
        [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
            acc[lane] += v * (weightAt(unit[lane], d) - weightZero);
        }
    }
    gate[i] = saturate16(requantize4(acc, multiplier, left, right));
}
