// Requantisation of int32 sums with one multiplier a channel, as TFLite does it.
#ifndef NNGPU_REQUANT
#define NNGPU_REQUANT

// requantizeChannels scales acc by multiplier * 2^(shift - 31), multiplier in [2^30, 2^31).
//
// TFLite has two roundings, both exact here. Double: a saturating rounding doubling high multiplication,
// floor((a*m + 2^30) / 2^31), then a right shift that rounds ties away from zero. Single: one rounding,
// half up, of the 64-bit product. They differ in the 2^30 and in the correction of negative ties, so a
// mask (-1 double, 0 single) selects between them.
ivec4 requantizeChannels(ivec4 acc, ivec4 multiplier, ivec4 shift, int doubleMask) {
    ivec4 e = max(-shift, ivec4(0));
    acc <<= max(shift, ivec4(0));
    ivec4 hi, lo;
    imulExtended(acc, multiplier, hi, lo);
    ivec4 shifted = -ivec4(greaterThan(e, ivec4(0))); // -1 where the right shift is not 0
    uvec4 nudge = uvec4(ivec4(0x40000000) & (~shifted | doubleMask));
    uvec4 sum = uvec4(lo) + nudge;
    hi += ivec4(lessThan(sum, nudge)); // carry
    ivec4 r = (hi << 1) | ivec4(sum >> 31u);
    ivec4 halfUnit = (ivec4(1) << e) >> 1;
    return (r + halfUnit + ((r >> 31) & shifted & doubleMask)) >> e;
}

// packBytes keeps the low 8 bits of each component; component 0 in the low byte. Products instead of shifts:
// see requantizeFloat.
uint packBytes(ivec4 v) {
    uvec4 u = uvec4(v) & 255u;
    return (u.x | u.y * 256u) | (u.z * 65536u | u.w * 16777216u);
}

// unpackBytes spreads the bytes of w; the low byte in component 0.
uvec4 unpackBytes(uint w) { return (uvec4(w) >> uvec4(0u, 8u, 16u, 24u)) & 255u; }

#endif
