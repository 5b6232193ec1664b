#version 450
// The numbers of a sparse LSH_PROJECTION from their bits, highest bit first. One invocation computes one number.
#include "common.glsl"

layout(set = 0, binding = 0) readonly buffer B { uint bitAt[]; };
layout(set = 0, binding = 1) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform P {
    uint count;  // with padding
    uint hashes;
    uint bits;   // of a number, 1 to 32
    uint apart;  // added to a number once for each hash before it
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint v = 0u;
    if (i < hashes) {
        for (uint b = 0u; b < bits; b++) v = (v << 1) | bitAt[i * bits + b];
        v += i * apart;
    }
    y[i] = v;
}
