#version 450
// The projection of QUANTIZED_LSTM: rows of 8 bits times rows of signed 8-bit weights, with a bias. One invocation computes one
// quad of a row.
#include "common.glsl"
#include "divide.glsl"
#include "fixedpoint.glsl"
#include "tensor.glsl"

layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) readonly buffer W { uint w[]; };
layout(set = 0, binding = 2) readonly buffer B { ivec4 bias[]; };
layout(set = 0, binding = 3) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform P {
    uint count;       // quads
    Divisor rowQuads; // in a row
    uint outputs;
    uint size;        // of a row of x
    int zero, outputZero;
    int multiplier, left, right;
    int biased;
    int low, high;    // bounds
};
#include "product8.glsl"

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q, words = (size + 3u) / 4u;
    uint row = divide(i, rowQuads, q);
    uvec4 unit = min(4u * q + uvec4(0u, 1u, 2u, 3u), uvec4(outputs - 1u)); // padding lanes repeat the last
    ivec4 sum = ivec4(0);
    for (uint k = 0u; k < words; k++) {
        ivec4 v = centred(x[row * words + k], zero, size - 4u * k);
        [[unroll]] for (uint lane = 0u; lane < 4u; lane++) sum[lane] += product(v, w[unit[lane] * words + k]);
    }
    if (biased != 0) sum += bias[q];
    y[i] = packQuad8(clamp(requantize4(sum, multiplier, left, right) + outputZero, low, high));
}
