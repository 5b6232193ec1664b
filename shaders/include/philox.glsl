// Random bits from a counter: Philox 4x32 with ten rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
// 1, 2, 3", 2011). Four words for each counter and key.
#ifndef NNGPU_PHILOX
#define NNGPU_PHILOX

uvec4 philox(uvec4 counter, uvec2 key) {
    [[unroll]] for (int i = 0; i < 10; i++) {
        uvec2 high, low;
        umulExtended(counter.xz, uvec2(0xd2511f53u, 0xcd9e8d57u), high, low);
        counter = uvec4(high.y ^ counter.y ^ key.x, low.y, high.x ^ counter.w ^ key.y, low.x);
        key += uvec2(0x9e3779b9u, 0xbb67ae85u);
    }
    return counter;
}

#endif
