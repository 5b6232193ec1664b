#version 450
// The hashes of LSH_PROJECTION, each of the bytes of a seed followed by those of a row of the input. One invocation computes
// the hash for one seed and one row.
#include "common.glsl"
#include "divide.glsl"

layout(set = 0, binding = 0) readonly buffer S { uint seeds[]; };
layout(set = 0, binding = 1) readonly buffer X { uint x[]; };  // without padding between elements
layout(set = 0, binding = 2) writeonly buffer H { uvec2 hashes[]; }; // of all rows for the first seed, then the next
layout(push_constant) uniform P {
    uint count;
    Divisor rows;
    Divisor bits;    // seeds of a hash
    uint pitch;      // of a row of seeds with its padding
    uint seedBytes;  // 2 or 4
    uint rowBytes;   // of a row of x
    uint words;      // of x
};

uint seed, start; // the seed; where the row begins

// Four bytes of x from byte p on; behind the end, anything.
uint inputAt(uint p) {
    uint low = x[min(p / 4u, words - 1u)], shift = 8u * (p & 3u);
    if (shift == 0u) return low;
    return (low >> shift) | (x[min(p / 4u + 1u, words - 1u)] << (32u - shift));
}

uint fetch32(uint p) {
    if (p >= seedBytes) return inputAt(start + p - seedBytes);
    uint left = 8u * (seedBytes - p), part = seed >> (8u * p);
    return left == 32u ? part : part | (inputAt(start) << left);
}
#include "farmhash.glsl"

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint row, bit;
    uint hash = divide(divide(i, rows, row), bits, bit);
    uint place = hash * pitch + bit;
    seed = seedBytes == 4u ? seeds[place] : (seeds[place / 2u] >> (16u * (place & 1u))) & 0xffffu;
    start = row * rowBytes;
    hashes[i] = farmhash(seedBytes + rowBytes);
}
