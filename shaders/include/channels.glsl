// The data of a convolution for a quad of output channels, and how sums become 8-bit values. The including shader declares the
// buffer `channel`, five words a channel; pack.Filter.Channels and pack.Quantized.FloatChannels write them.
#ifndef NNGPU_CHANNELS
#define NNGPU_CHANNELS
#include "requant.glsl"

#if SHIFT
// Bias with all zero points folded in, multiplier, 2^left shift, half unit of the right shift, right shift.
struct Channels {
    ivec4 bias, multiplier, left, halfUnit, last;
};

Channels channels(int quad) {
    int i = 5 * quad;
    // The device may have made the records (conv/channels.comp), so nothing guarantees their values.
    return Channels(channel[i], channel[i + 1], channel[i + 2], channel[i + 3], channel[i + 4] & 31);
}

ivec4 requantize(ivec4 acc, Channels c, int doubleMask) { return requantizeChannels(acc * c.left, c.multiplier, -c.last, doubleMask); }
#else
// Bias as above; multiplier in [2^30, 2^31); the nudge added to products before their lowest 31 bits are dropped; both again in
// units of 2^31, the multiplier also split into its 12 highest bits and the others; 2^-right shift, and 1/2 if that is less
// than 1; the result of the first rounding below which ties are rounded down.
struct Channels {
    vec4 bias;
    ivec4 multiplier, nudge;
    vec4 factor, high, low, start;
    vec4 scale, halfUnit, below;
};

Channels channels(int quad) {
    const float unit = 1.0 / 2147483648.0;
    int i = 5 * quad;
    ivec4 multiplier = channel[i + 1], nudge = channel[i + 2];
    vec4 scale = intBitsToFloat(channel[i + 3]);
    return Channels(intBitsToFloat(channel[i]), multiplier, nudge, vec4(multiplier) * unit, vec4(multiplier & 0x7ff80000) * unit,
                    vec4(multiplier & 0x7ffff) * unit, vec4(nudge) * unit - 0.01, scale, vec4(lessThan(scale, vec4(0.75))) * 0.5,
                    intBitsToFloat(channel[i + 4]));
}

// Zero point and bounds of bytes once flip has made them unsigned.
struct Range {
    float zero, lo, hi;
};

Range unsignedRange(int zero, int lo, int hi, uint flip) {
    int offset = int(flip & 128u);
    return Range(float(zero + offset), float(lo + offset), float(hi + offset));
}

// requantizeFloats is requantizeChannels for sums whose magnitude with bias is below 2^23 (pack.Quantized.FitsFloats), on devices
// where a shift of a vector by a variable or a 64-bit product takes dozens of instructions. Its results are bytes that
// flip would make unsigned.
//
// First r = floor((sum * multiplier + nudge) / 2^31). The product of high bits is exact, and the other products are off by less
// than 1/1000. So the floor of their sum minus 1/100 is r or one less. Its remainder is below 2^32, and has its highest bit set
// exactly if the floor is one less: 32 bits hold it, although the numbers that it is the difference of wrap around.
// Then comes the right shift, whose additions are exact too.
uint requantizeFloats(vec4 acc, Channels c, Range y, uint flip) {
    vec4 sum = acc + c.bias;
    vec4 top = floor(sum * (1.0 / 4096.0)) * 4096.0;
    vec4 r = top * c.high + floor(top * c.low + (sum - top) * c.factor + c.start);
    ivec4 rest = ivec4(sum) * c.multiplier + c.nudge - ivec4(r) * (-2147483647 - 1);
    r += vec4(lessThan(rest, ivec4(0)));
    r -= vec4(lessThan(r, c.below));
    vec4 v = clamp(floor(r * c.scale + c.halfUnit) + y.zero, y.lo, y.hi);
    return uint(int(v.x + v.y * 256.0 + v.z * 65536.0) | int(v.w) * 16777216) ^ flip;
}
#endif

#endif
