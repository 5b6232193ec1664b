// FarmHash's Fingerprint64 of a string of bytes: for each length it does what CityHash64 of version 1.1 does. The including shader
// defines fetch32(p), the four bytes of the string from byte p on; bytes behind its end may be anything.
#ifndef NNGPU_FARMHASH
#define NNGPU_FARMHASH
#include "wide.glsl"

const uvec2 farmK0 = WIDE(0xc3a5c85cu, 0x97cb3127u);
const uvec2 farmK1 = WIDE(0xb492b66fu, 0xbe98f273u);
const uvec2 farmK2 = WIDE(0x9ae16a3bu, 0x2f90404fu);

uvec2 fetch64(uint p) { return uvec2(fetch32(p), fetch32(p + 4u)); }

uvec2 farmMix(uvec2 v) { return v ^ uvec2(v.y >> 15, 0u); }

uvec2 farmJoin(uvec2 u, uvec2 v, uvec2 mul) {
    uvec2 a = farmMix(wideMul(u ^ v, mul));
    return wideMul(farmMix(wideMul(v ^ a, mul)), mul);
}

uvec2 farm16(uint size) {
    uvec2 mul = wideAdd(farmK2, uvec2(2u * size, 0u));
    if (size >= 8u) {
        uvec2 a = wideAdd(fetch64(0u), farmK2), b = fetch64(size - 8u);
        uvec2 c = wideAdd(wideMul(wideRotate(b, 37u), mul), a);
        uvec2 d = wideMul(wideAdd(wideRotate(a, 25u), b), mul);
        return farmJoin(c, d, mul);
    }
    if (size >= 4u) {
        uvec2 a = wideAdd(uvec2(size, 0u), wideShiftLeft(uvec2(fetch32(0u), 0u), 3u));
        return farmJoin(a, uvec2(fetch32(size - 4u), 0u), mul);
    }
    uint first = fetch32(0u) & 0xffu, middle = fetch32(size / 2u) & 0xffu, last = fetch32(size - 1u) & 0xffu;
    uvec2 y = uvec2(first + (middle << 8), 0u), z = uvec2(size + (last << 2), 0u);
    return wideMul(farmMix(wideMul(y, farmK2) ^ wideMul(z, farmK0)), farmK2);
}

uvec2 farm32(uint size) {
    uvec2 mul = wideAdd(farmK2, uvec2(2u * size, 0u));
    uvec2 a = wideMul(fetch64(0u), farmK1), b = fetch64(8u);
    uvec2 c = wideMul(fetch64(size - 8u), mul), d = wideMul(fetch64(size - 16u), farmK2);
    uvec2 u = wideAdd(wideAdd(wideRotate(wideAdd(a, b), 43u), wideRotate(c, 30u)), d);
    uvec2 v = wideAdd(wideAdd(a, wideRotate(wideAdd(b, farmK2), 18u)), c);
    return farmJoin(u, v, mul);
}

uvec2 farm64(uint size) {
    uvec2 mul = wideAdd(farmK2, uvec2(2u * size, 0u));
    uvec2 a = wideMul(fetch64(0u), farmK2), b = fetch64(8u);
    uvec2 c = wideMul(fetch64(size - 8u), mul), d = wideMul(fetch64(size - 16u), farmK2);
    uvec2 y = wideAdd(wideAdd(wideRotate(wideAdd(a, b), 43u), wideRotate(c, 30u)), d);
    uvec2 z = farmJoin(y, wideAdd(wideAdd(a, wideRotate(wideAdd(b, farmK2), 18u)), c), mul);
    uvec2 e = wideMul(fetch64(16u), mul), f = fetch64(24u);
    uvec2 g = wideMul(wideAdd(y, fetch64(size - 32u)), mul), h = wideMul(wideAdd(z, fetch64(size - 24u)), mul);
    uvec2 u = wideAdd(wideAdd(wideRotate(wideAdd(e, f), 43u), wideRotate(g, 30u)), h);
    uvec2 v = wideAdd(wideAdd(e, wideRotate(wideAdd(f, a), 18u)), g);
    return farmJoin(u, v, mul);
}

// The state of a string of more than 64 bytes.
struct Farm {
    uvec2 x, y, z;
    uvec2 v1, v2, w1, w2;
};

// Hashes 32 bytes from p on with two seeds.
void farmWeak(uint p, uvec2 a, uvec2 b, out uvec2 first, out uvec2 second) {
    uvec2 z = fetch64(p + 24u);
    a = wideAdd(a, fetch64(p));
    b = wideRotate(wideAdd(wideAdd(b, a), z), 21u);
    uvec2 c = a;
    a = wideAdd(wideAdd(a, fetch64(p + 8u)), fetch64(p + 16u));
    first = wideAdd(a, z);
    second = wideAdd(wideAdd(b, wideRotate(a, 44u)), c);
}

// Mixes 64 bytes from p on into s. factor is 1 except for the last ones.
void farmChunk(inout Farm s, uint p, uvec2 mul, uint factor) {
    uvec2 by = uvec2(factor, 0u);
    s.x = wideMul(wideRotate(wideAdd(wideAdd(s.x, s.y), wideAdd(s.v1, fetch64(p + 8u))), 37u), mul);
    s.y = wideMul(wideRotate(wideAdd(wideAdd(s.y, s.v2), fetch64(p + 48u)), 42u), mul);
    s.x ^= wideMul(s.w2, by);
    s.y = wideAdd(s.y, wideAdd(wideMul(s.v1, by), fetch64(p + 40u)));
    s.z = wideMul(wideRotate(wideAdd(s.z, s.w1), 33u), mul);
    farmWeak(p, wideMul(s.v2, mul), wideAdd(s.x, s.w1), s.v1, s.v2);
    farmWeak(p + 32u, wideAdd(s.z, s.w2), wideAdd(s.y, fetch64(p + 16u)), s.w1, s.w2);
    uvec2 x = s.x;
    s.x = s.z;
    s.z = x;
}

uvec2 farmLong(uint size) {
    const uvec2 seed = uvec2(81u, 0u);
    Farm s;
    s.x = wideAdd(wideMul(seed, farmK2), fetch64(0u));
    s.y = wideAdd(wideMul(seed, farmK1), uvec2(113u, 0u));
    s.z = wideMul(farmMix(wideAdd(wideMul(s.y, farmK2), uvec2(113u, 0u))), farmK2);
    s.v1 = s.v2 = s.w1 = s.w2 = uvec2(0u);
    uint end = (size - 1u) / 64u * 64u;
    for (uint p = 0u; p < end; p += 64u) farmChunk(s, p, farmK1, 1u);
    uvec2 mul = wideAdd(farmK1, uvec2((s.z.x & 0xffu) << 1, 0u));
    s.w1 = wideAdd(s.w1, uvec2((size - 1u) & 63u, 0u));
    s.v1 = wideAdd(s.v1, s.w1);
    s.w1 = wideAdd(s.w1, s.v1);
    farmChunk(s, size - 64u, mul, 9u);
    uvec2 a = wideAdd(wideAdd(farmJoin(s.v1, s.w1, mul), wideMul(farmMix(s.y), farmK0)), s.z);
    return farmJoin(a, wideAdd(farmJoin(s.v2, s.w2, mul), s.x), mul);
}

// Fingerprint64 of a string of so many bytes, at least one.
uvec2 farmhash(uint size) {
    if (size <= 16u) return farm16(size);
    if (size <= 32u) return farm32(size);
    if (size <= 64u) return farm64(size);
    return farmLong(size);
}

#endif
