// Sums and products of float64, rounded to nearest, ties to even, for devices without that type: bit for bit as in IEEE 754,
// except that exponents are unbounded. There is no infinity and no NaN.
#ifndef NNGPU_DOUBLE
#define NNGPU_DOUBLE
#include "wide.glsl"

// (negative ? -1 : 1) * m * 2^e, m of 2^52 to 2^53-1, or 0.
struct Double {
    bool negative;
    int e;
    uvec2 m;
};

bool isZero(Double a) { return (a.m.x | a.m.y) == 0u; }

// m * 2^e rounded. If m is beyond 2^54, its lowest bit may stand for all lower ones.
Double rounded(bool negative, int e, uvec2 m) {
    if ((m.x | m.y) == 0u) return Double(false, 0, m);
    int excess = wideTop(m) - 52;
    if (excess <= 0) return Double(negative, e + excess, wideShiftLeft(m, uint(-excess)));
    uint rest = m.x & ((1u << excess) - 1u), half_ = 1u << (excess - 1);
    m = wideShiftRight(m, uint(excess));
    if (rest > half_ || (rest == half_ && (m.x & 1u) != 0u)) m = wideAdd(m, uvec2(1u, 0u));
    if (m.y == 0x200000u) {
        m = uvec2(0u, 0x100000u);
        excess++;
    }
    return Double(negative, e + excess, m);
}

// a as a signed integer of 64 bits.
Double doubleOf(uvec2 a) {
    bool negative = int(a.y) < 0;
    return rounded(negative, 0, negative ? wideSub(uvec2(0u), a) : a);
}

// a * 2^-n, whose lowest bit is also set if any lower bit was.
uvec2 shiftSticky(uvec2 a, int n) {
    if (n > 63) return uvec2((a.x | a.y) != 0u ? 1u : 0u, 0u);
    uvec2 r = wideShiftRight(a, uint(n)), back = wideShiftLeft(r, uint(n));
    if (back != a) r.x |= 1u;
    return r;
}

Double plus(Double a, Double b) {
    if (isZero(a)) return b;
    if (isZero(b)) return a;
    if (a.e < b.e || (a.e == b.e && wideLess(a.m, b.m))) {
        Double c = a;
        a = b;
        b = c;
    }
    uvec2 x = wideShiftLeft(a.m, 10u), y = shiftSticky(wideShiftLeft(b.m, 10u), a.e - b.e);
    return rounded(a.negative, a.e - 10, a.negative == b.negative ? wideAdd(x, y) : wideSub(x, y));
}

// a times (negative ? -1 : 1) * m * 2^e, m < 2^24.
Double times(Double a, bool negative, int e, uint m) {
    uint high, middle, low, top, carry;
    umulExtended(a.m.x, m, middle, low);
    umulExtended(a.m.y, m, top, high);
    middle = uaddCarry(middle, high, carry);
    top += carry;
    negative = a.negative != negative;
    if (top == 0u) return rounded(negative, a.e + e, uvec2(low, middle));
    int n = findMSB(top) + 1; // 13 at most
    uvec2 p = uvec2((low >> n) | (middle << (32 - n)), (middle >> n) | (top << (32 - n)));
    if ((low & ((1u << n) - 1u)) != 0u) p.x |= 1u;
    return rounded(negative, a.e + e + n, p);
}

#endif
