#version 450
// The records that an 8-bit product has of its output channels (channels.glsl), for filters and matrices that are known only at
// run time: one invocation folds the zero points into the biases of a quad of channels. With x' and w' unsigned, the result is
// bias[n] - xzero * sum (w'[n] - wzero).
//
// macro   | meaning
// COLUMNS | as in pack.comp
#include "common.glsl"
#include "divide.glsl"

layout(set = 0, binding = 0) readonly buffer W { uint w[]; };
layout(set = 0, binding = 1) readonly buffer B { ivec4 bias[]; };  // the same for all matrices
layout(set = 0, binding = 2) readonly buffer C { ivec4 known[]; }; // everything except the biases; of the first quads
layout(set = 0, binding = 3) writeonly buffer Y { ivec4 channel[]; };
layout(push_constant) uniform P {
    uint count;
    Divisor quads;           // of channels of a matrix
    uint pitch;              // of Y, from matrix to matrix
    uint channels, rowQuads; // of a matrix, of a row of w
    uint rows;               // COLUMNS: of a matrix; else those of a channel, its taps
    uint lastMask;           // bytes that count in the last quad of a row
    uint flip;               // makes w unsigned
    int terms;               // elements of a channel
    int xzero, wzero;
    uint knownQuads; // quads behind them are like the last one
};

#if !COLUMNS
uint sumBytes(uint v) {
    uint pair = (v & 0x00ff00ffu) + ((v >> 8) & 0x00ff00ffu);
    return (pair & 0xffffu) + (pair >> 16);
}
#endif

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint quad;
    uint matrix = divide(i, quads, quad);
#if COLUMNS
    ivec4 sum = ivec4(0);
    uint at = matrix * rows * rowQuads + quad;
    for (uint k = 0u; k < rows;) {
        uvec2 pairs = uvec2(0u); // pairs of 16-bit sums, which have room for 257 bytes
        for (uint end = min(k + 257u, rows); k < end; k++, at += rowQuads) {
            uint v = w[at] ^ flip;
            pairs += uvec2(v, v >> 8) & 0x00ff00ffu;
        }
        sum += ivec4(pairs & 0xffffu, pairs >> 16);
    }
#else
    ivec4 sum = ivec4(0);
    for (uint t = 0u; t < rows; t++) {
        for (uint q = 0u; q < rowQuads; q++) {
            uint mask = q == rowQuads - 1u ? lastMask : 0xffffffffu;
            [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
                uint n = matrix * channels + min(4u * quad + lane, channels - 1u);
                sum[lane] += int(sumBytes((w[(n * rows + t) * rowQuads + q] ^ flip) & mask));
            }
        }
    }
#endif
    uint from = 5u * min(quad, knownQuads - 1u), to = matrix * pitch + 5u * quad;
    channel[to] = bias[quad] - xzero * (sum - wzero * terms);
    [[unroll]] for (uint k = 1u; k < 5u; k++) channel[to + k] = known[from + k];
}
