// Functions of 16-bit fixed-point numbers, bit for bit as in gemmlowp's fixedpoint.h for
// int16. A number with n integer bits is v / 2^(15 - n).
#ifndef NNGPU_FIXED16
#define NNGPU_FIXED16

ivec4 saturate16(ivec4 v) { return clamp(v, ivec4(-32768), ivec4(32767)); }

// Product with as many integer bits as both have together: halves are rounded up.
ivec4 mul16(ivec4 a, ivec4 b) { return min((a * b + 16384) >> 15, ivec4(32767)); }

// v / 2^e, ties away from zero; e > 0.
ivec4 roundShift16(ivec4 v, int e) { return (v + (1 << (e - 1)) + (v >> 31)) >> e; }

// exp(a) for a <= 0 with n integer bits, 1 to 7. The result has none.
ivec4 exp16(ivec4 a, int n) {
    const int multiplier[7] = int[](25520, 19875, 12055, 4435, 600, 11, 0); // exp(-2^k), k from -2 on
    int fraction = 15 - n, quarter = 1 << (fraction - 2);
    ivec4 within = (a & (quarter - 1)) - quarter; // the part in [-1/4, 0)
    ivec4 x = (within << n) + 4096;               // its distance from -1/8, where the polynomial is expanded
    ivec4 x2 = mul16(x, x), x3 = mul16(x2, x), x4 = mul16(x2, x2);
    ivec4 higher = roundShift16(mul16(roundShift16(x4, 2) + x3, ivec4(10923)) + x2, 1);
    ivec4 y = saturate16(28918 + mul16(ivec4(28918), x + higher));
    ivec4 rest = within - a;
    [[unroll]] for (int k = -2; k <= 4; k++) {
        if (n > k) y = mix(y, mul16(y, ivec4(multiplier[k + 2])), notEqual(rest & (1 << (fraction + k)), ivec4(0)));
    }
    if (n > 5) y = mix(y, ivec4(0), lessThan(a, ivec4(-(1 << (20 - n)))));
    return mix(y, ivec4(32767), equal(a, ivec4(0)));
}

// 1 / ((1 + a) / 2) with two integer bits, for a from 0 to 1 without integer bits: Newton's iteration.
ivec4 reciprocal16(ivec4 a) {
    ivec4 denominator = (a + 32768) >> 1;
    ivec4 x = 23130 + mul16(denominator, ivec4(-15420));
    [[unroll]] for (int i = 0; i < 3; i++) {
        x += saturate16(mul16(x, 8192 - mul16(denominator, x)) << 2);
    }
    return x;
}

// 1 / (1 + exp(-a)), a with three integer bits; the result has none.
ivec4 logistic16(ivec4 a) {
    ivec4 y = saturate16(reciprocal16(exp16(-abs(a), 3)) << 1);
    y = mix(32767 - y, y, greaterThan(a, ivec4(0)));
    return mix(y, ivec4(16384), equal(a, ivec4(0)));
}

// tanh of a with n integer bits, 0 to 6; the result has none.
ivec4 tanh16(ivec4 a, int n) {
    ivec4 y = saturate16((reciprocal16(exp16(-abs(a), n + 1)) - 8192) << 2);
    return mix(mix(y, -y, lessThan(a, ivec4(0))), ivec4(0), equal(a, ivec4(0)));
}

// Quads of 16-bit elements: two to a word, the first in the low half.
ivec4 unpackQuad16(uvec2 q) { return ivec4(int(q.x << 16) >> 16, int(q.x) >> 16, int(q.y << 16) >> 16, int(q.y) >> 16); }
uvec2 packQuad16(ivec4 v) {
    uvec4 u = uvec4(v) & 0xffffu;
    return u.xz | (u.yw << 16);
}

#endif
