#version 450
// Statistics that normalise a row of a gate of QUANTIZED_LSTM: its mean, in steps of 2^-10, and 1 over its standard deviation as a
// multiplier and a right shift, bit for bit as in TensorFlow Lite's layer normalisation and its GetInvSqrtQuantizedMultiplierExp.
// One invocation computes one row.
#include "common.glsl"
#include "wide.glsl"

layout(set = 0, binding = 0) readonly buffer G { ivec4 gate[]; };
layout(set = 0, binding = 1) writeonly buffer S { ivec4 stats[]; }; // mean, multiplier, shift
layout(push_constant) uniform P {
    uint count;  // rows
    uint quads;  // of a row
    uint units;  // below 2^16
    int least;   // the variance to use if the computed one is below 1
};

// SaturatingRoundingDoublingHighMul, unless both numbers are -2^31.
int highMul(int a, int b) {
    int high, low;
    imulExtended(a, b, high, low);
    uint sum = uint(low) + 0x40000000u;
    if (sum < 0x40000000u) high++;
    return (high << 1) | int(sum >> 31);
}

// v * 2^n, saturated.
int shiftLeft(int v, int n) {
    int limit = (1 << (31 - n)) - 1;
    if (v > limit) return 0x7fffffff;
    if (v < -limit - 1) return int(0x80000000u);
    return v << n;
}

// 1 / sqrt(v) as multiplier * 2^-(31 + shift), v >= 1.
void inverseRoot(int v, out int multiplier, out int shift) {
    multiplier = 0x7fffffff;
    shift = 0;
    if (v <= 1) return;
    shift = 11;
    if (v >= 1 << 29) {
        v /= 4;
        shift++;
    }
    int pairs = (30 - findMSB(v)) / 2 - 1; // of bits, to shift left by
    shift -= pairs;
    v <<= 2 * pairs;
    // Fixed point with three integer bits. Newton's iteration: x (3 - v x^2) / 2.
    int half_ = v >> 1;
    half_ = (half_ + 1) >> 1;
    const int threeHalves = (1 << 28) + (1 << 27);
    int x = 1 << 28;
    [[unroll]] for (int k = 0; k < 5; k++) {
        int cube = shiftLeft(highMul(highMul(x, x), x), 6);
        x = shiftLeft(highMul(threeHalves, x) - highMul(half_, cube), 3);
    }
    multiplier = highMul(x, 1518500250); // sqrt(1/2)
    if (shift < 0) {
        multiplier <<= -shift;
        shift = 0;
    }
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    int sum = 0;
    uvec2 squares = uvec2(0u);
    for (uint q = 0u; q < quads; q++) {
        ivec4 v = mix(ivec4(0), gate[i * quads + q], lessThan(4u * q + uvec4(0u, 1u, 2u, 3u), uvec4(units)));
        sum += (v.x + v.y) + (v.z + v.w);
        uvec4 s = uvec4(v * v); // each at most 2^30
        squares = wideAdd(wideAdd(squares, uvec2(s.x + s.y, 0u)), uvec2(s.z + s.w, 0u));
    }
    uint size = uint(abs(sum));
    uint whole = size / units;
    int mean = int(whole * 1024u + (size - whole * units) * 1024u / units);
    if (sum < 0) mean = -mean;
    uvec2 a = wideMul(squares, uvec2((1u << 20) / units, 0u)), b = wideMul(uvec2(uint(abs(mean)), 0u), uvec2(uint(abs(mean)), 0u));
    int variance = wideLess(a, b) ? 0 : int(wideShiftRight(wideSub(a, b), 20u).x);
    int multiplier, shift;
    inverseRoot(variance < 1 ? least : variance, multiplier, shift);
    stats[i] = ivec4(mean, multiplier, shift, 0);
}
