#version 450
// What a convolution of 8 bits knows of its output channels (see channels.glsl), for a filter that is known at run time only:
// one invocation folds the zero points into the biases of a quad of channels. With x' and w' unsigned,
// bias[n] - xzero * sum (w'[n] - wzero).
#include "common.glsl"

layout(set = 0, binding = 0) readonly buffer W { uint w[]; };      // [channels, taps, quads]
layout(set = 0, binding = 1) readonly buffer B { ivec4 bias[]; };
layout(set = 0, binding = 2) readonly buffer C { ivec4 known[]; }; // but for the biases; of the first quads
layout(set = 0, binding = 3) writeonly buffer Y { ivec4 channel[]; };
layout(push_constant) uniform P {
    uint count;
    uint channels, taps, quads; // of w
    uint lastMask;              // bytes that count in the last quad of a row
    uint flip;                  // makes w unsigned
    int terms;                  // elements of a channel
    int xzero, wzero;
    uint knownQuads; // those behind are like the last of them
};

uint sumBytes(uint v) {
    uint pair = (v & 0x00ff00ffu) + ((v >> 8) & 0x00ff00ffu);
    return (pair & 0xffffu) + (pair >> 16);
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    ivec4 sum = ivec4(0);
    for (uint t = 0u; t < taps; t++) {
        for (uint q = 0u; q < quads; q++) {
            uint mask = q == quads - 1u ? lastMask : 0xffffffffu;
            [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
                uint n = min(4u * i + lane, channels - 1u);
                sum[lane] += int(sumBytes((w[(n * taps + t) * quads + q] ^ flip) & mask));
            }
        }
    }
    uint from = 5u * min(i, knownQuads - 1u);
    channel[5u * i] = bias[i] - xzero * (sum - wzero * terms);
    [[unroll]] for (uint k = 1u; k < 5u; k++) channel[5u * i + k] = known[from + k];
}
