// Unsigned integers of 64 bits, as (low, high) words, for devices without such integers. Sums and products wrap around.
#ifndef NNGPU_WIDE
#define NNGPU_WIDE

// high * 2^32 + low, in the order in which such constants are written.
#define WIDE(high, low) uvec2(low, high)

uvec2 wideAdd(uvec2 a, uvec2 b) {
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 wideSub(uvec2 a, uvec2 b) {
    uint borrow;
    uint low = usubBorrow(a.x, b.x, borrow);
    return uvec2(low, a.y - b.y - borrow);
}

uvec2 wideMul(uvec2 a, uvec2 b) {
    uint high, low;
    umulExtended(a.x, b.x, high, low);
    return uvec2(low, high + a.x * b.y + a.y * b.x);
}

// Shifts by n of 0 to 63.
uvec2 wideShiftRight(uvec2 a, uint n) {
    if (n >= 32u) return uvec2(a.y >> (n - 32u), 0u);
    return n == 0u ? a : uvec2((a.x >> n) | (a.y << (32u - n)), a.y >> n);
}

uvec2 wideShiftLeft(uvec2 a, uint n) {
    if (n >= 32u) return uvec2(0u, a.x << (n - 32u));
    return n == 0u ? a : uvec2(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}

// Rotation to the right by n of 1 to 63, but not 32.
uvec2 wideRotate(uvec2 a, uint n) {
    if (n > 32u) {
        a = a.yx;
        n -= 32u;
    }
    return uvec2((a.x >> n) | (a.y << (32u - n)), (a.y >> n) | (a.x << (32u - n)));
}

bool wideLess(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }

// The place of the highest bit of a, which is not 0.
int wideTop(uvec2 a) { return a.y != 0u ? 32 + findMSB(a.y) : findMSB(a.x); }

#endif
