// Fixed-point arithmetic of the 8-bit operations, bit for bit as in TensorFlow Lite's reference kernels:
// gemmlowp fixedpoint.h and MultiplyByQuantizedMultiplier with double rounding.
//
// A real multiplier is m * 2^(left - right - 31) with m in [2^30, 2^31) or m = 0; left and right in 0..31,
// one of them 0. pack/fixedpoint.go makes the three numbers.
#ifndef NNGPU_FIXEDPOINT
#define NNGPU_FIXEDPOINT

// SaturatingRoundingDoublingHighMul for m >= 0: (a * m + 2^30) >> 31. The reference rounds negative halves
// with another nudge and a division towards zero; both give the floor of this sum.
ivec4 doublingHighMul(ivec4 a, ivec4 m) {
    ivec4 high, low;
    imulExtended(a, m, high, low);
    uvec4 sum = uvec4(low) + 0x40000000u;
    high += ivec4(lessThan(sum, uvec4(0x40000000u)));
    return (high << 1) | ivec4(sum >> 31);
}

// RoundingDivideByPOT: r / 2^e, ties away from zero. Precondition: |r| < 2^31 - 2^(e-1).
ivec4 roundingShiftRight(ivec4 r, ivec4 e) {
    ivec4 bias = ivec4((uvec4(1u) << uvec4(e)) >> 1);
    return (r + bias + ((r >> 31) & -ivec4(greaterThan(e, ivec4(0))))) >> e;
}

// Each lane times its own real multiplier.
ivec4 requantize4(ivec4 acc, ivec4 m, ivec4 left, ivec4 right) {
    return roundingShiftRight(doublingHighMul(acc << left, m), right);
}

// All lanes times one real multiplier.
ivec4 requantize4(ivec4 acc, int m, int left, int right) {
    ivec4 r = doublingHighMul(acc << left, ivec4(m));
    int bias = int((1u << uint(right)) >> 1);
    return (r + bias + ((r >> 31) & -int(right > 0))) >> right;
}

// The same with one shift, positive to the left.
ivec4 rescale(ivec4 v, int m, int s) { return requantize4(v, m, max(s, 0), max(-s, 0)); }

#endif
