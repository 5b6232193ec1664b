#version 450
// A gate of QUANTIZED_LSTM before normalisation and activation, in 16 bits: the products of a row of the input and of the output
// state with rows of signed 8-bit weights, each sum rescaled to the gate separately. One invocation computes one quad of a row.
#include "common.glsl"
#include "divide.glsl"
#include "fixedpoint.glsl"
#include "fixed16.glsl"

layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) readonly buffer H { uint h[]; };
layout(set = 0, binding = 2) readonly buffer W { uint w[]; };
layout(set = 0, binding = 3) readonly buffer R { uint r[]; };
layout(set = 0, binding = 4) readonly buffer B { ivec4 bias[]; };
layout(set = 0, binding = 5) writeonly buffer G { ivec4 gate[]; };
layout(push_constant) uniform P {
    uint count;       // quads
    Divisor rowQuads; // in a row
    uint units;
    uint inputs, outputs; // sizes of a row of the input and of the output state
    int zero, stateZero;
    int multiplier, left, right;                // of the input's products
    int stateMultiplier, stateLeft, stateRight; // of the state's
    int biased;       // 0: the bias comes with the normalisation
};
#include "product8.glsl"

ivec4 inputProducts(uint row, uvec4 unit) {
    uint words = (inputs + 3u) / 4u;
    ivec4 sum = ivec4(0);
    for (uint k = 0u; k < words; k++) {
        ivec4 v = centred(x[row * words + k], zero, inputs - 4u * k);
        [[unroll]] for (uint lane = 0u; lane < 4u; lane++) sum[lane] += product(v, w[unit[lane] * words + k]);
    }
    return sum;
}

ivec4 stateProducts(uint row, uvec4 unit) {
    uint words = (outputs + 3u) / 4u;
    ivec4 sum = ivec4(0);
    for (uint k = 0u; k < words; k++) {
        ivec4 v = centred(h[row * words + k], stateZero, outputs - 4u * k);
        [[unroll]] for (uint lane = 0u; lane < 4u; lane++) sum[lane] += product(v, r[unit[lane] * words + k]);
    }
    return sum;
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q;
    uint row = divide(i, rowQuads, q);
    uvec4 unit = min(4u * q + uvec4(0u, 1u, 2u, 3u), uvec4(units - 1u)); // padding lanes repeat the last
    ivec4 sum = inputProducts(row, unit);
    if (biased != 0) sum += bias[q];
    ivec4 g = saturate16(requantize4(sum, multiplier, left, right));
    gate[i] = saturate16(g + requantize4(stateProducts(row, unit), stateMultiplier, stateLeft, stateRight));
}
