#version 450
// One invocation computes one quad of y = (x - zero) * scale; y is float32 or float16 (ELEM_F32, ELEM_F16,
// tensor.glsl). The scale may depend on the channel, which is constant over `inner` quads; the
// buffer of scales then has one quad for each channel (or for each quad of channels, with inner 1).
// x has 8 bits, or 16 with WIDE.
#include "common.glsl"
#include "tensor.glsl"

#ifdef WIDE
#define WORDS uvec2
#define unpack unpackWide4
#else
#define WORDS uint
#define unpack unpackQuad8
#endif

layout(set = 0, binding = 0) readonly buffer X { WORDS x[]; };
layout(set = 0, binding = 1) readonly buffer S { vec4 scales[]; };
layout(set = 0, binding = 2) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;    // quads
    uint rowQuads; // in a row
    uint c;        // elements in a row
    uint off;      // 128 (0x8000) for signed elements, else 0
    int zero;
    uint inner, channels;
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    vec4 scale = scales[channels == 1u ? 0u : i / inner % channels];
    vec4 v = vec4(unpack(x[i], off) - zero) * scale;
    y[i] = packQuad(clearPadding(v, i, rowQuads, c));
}
