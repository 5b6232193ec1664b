#version 450
// One invocation computes one quad of y = clamp(round(x / scale) + zero), ties away from zero; x is
// float32 or float16 (ELEM_F32, ELEM_F16, tensor.glsl). y has 8 bits, or 16 with WIDE.
#include "common.glsl"
#include "tensor.glsl"
#include "math.glsl"

#ifdef WIDE
#define WORDS uvec2
#define pack packWide4
const float far = 1048576.0;
#else
#define WORDS uint
#define pack packQuad8
const float far = 4096.0;
#endif

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { WORDS y[]; };
layout(push_constant) uniform P {
    uint count; // quads
    float scale;
    int zero;
    int lo, hi; // of the type
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    vec4 v = unpackQuad(x[i]);
    // Division may be off by 2.5 ulp, which would move ties: add the quotient of the exact remainder. The
    // bound keeps infinities out and is far beyond the range of the type.
    precise vec4 q = clamp(v / scale, -far, far);
    vec4 low;
    precise vec4 high = nnTwoProduct(q, vec4(scale), low);
    q = clamp(q + ((v - high) - low) / scale, -far, far);
    vec4 whole = trunc(q);
    whole += sign(q) * vec4(greaterThanEqual(abs(q - whole), vec4(0.5)));
    y[i] = pack(clamp(ivec4(whole) + zero, lo, hi));
}
