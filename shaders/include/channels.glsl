// What a convolution knows of a quad of output channels, and how sums become 8-bit values. The including shader declares the
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
    // The device may have made the records (conv/channels.comp), and nothing vouches for its memory.
    return Channels(channel[i], channel[i + 1], channel[i + 2], channel[i + 3], channel[i + 4] & 31);
}

ivec4 requantize(ivec4 acc, Channels c, int doubleMask) { return requantizeChannels(acc * c.left, c.multiplier, -c.last, doubleMask); }
#else
// Bias as above; multiplier in [2^30, 2^31); what is added to products before the first 31 bits go; the same two as numbers of
// 2^31, the multiplier also as its 12 highest bits and the others; 2^-right shift, and a half where it is less than 1; below
// which results of the first rounding ties are rounded down.
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

// Zero point and bounds of bytes that flip makes unsigned.
struct Range {
    float zero, lo, hi;
};

Range unsignedRange(int zero, int lo, int hi, uint flip) {
    int offset = int(flip & 128u);
    return Range(float(zero + offset), float(lo + offset), float(hi + offset));
}

// requantizeFloats is requantizeChannels of sums whose magnitude with bias is below 2^23 (pack.Quantized.FitsFloats), for devices
// without shifts of vectors by a variable and products of 64 bits, where each takes dozens of instructions. Its result are
// bytes that flip makes unsigned.
//
// First r = floor((sum * multiplier + nudge) / 2^31). The product of high bits is exact, and what the others add to it off by
// less than 1/1000. So that less 1/100 has r as its floor or one less, and the remainder for it, below 2^32, has its highest
// bit set if it is one less: that 32 bits hold, although what it is the difference of wraps around.
// Then the right shift: all that it adds, too, is exact.
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
