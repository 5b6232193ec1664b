// What a convolution knows of a quad of output channels: bias with all zero points folded in, and how sums
// become 8-bit values. The including shader declares the buffer `channel`. Five words a channel:
// bias, multiplier, 2^left shift, half unit of the right shift, right shift (SHIFT) or 2^-right shift as float.
#ifndef NNGPU_CHANNELS
#define NNGPU_CHANNELS
#include "requant.glsl"

struct Channels {
    ivec4 bias, multiplier, left, halfUnit, last;
};

Channels channels(int quad) {
    int i = 5 * quad;
    ivec4 last = channel[i + 4];
#if SHIFT
    last &= 31; // the device may have made the records (conv/channels.comp), and nothing vouches for its memory
#endif
    return Channels(channel[i], channel[i + 1], channel[i + 2], channel[i + 3], last);
}

ivec4 requantize(ivec4 acc, Channels c, int doubleMask) {
#if SHIFT
    return requantizeChannels(acc * c.left, c.multiplier, -c.last, doubleMask);
#else
    return requantizeFloat(acc, c.multiplier, c.left, c.halfUnit, intBitsToFloat(c.last), doubleMask);
#endif
}

#endif
