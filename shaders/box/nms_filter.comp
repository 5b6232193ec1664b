#version 450
// BOX_WITH_NMS_LIMIT, the first step: one invocation looks at one quad of scores, and says which boxes are to be considered.
#include "common.glsl"
#include "divide.glsl"
#include "nms.glsl"

layout(set = 0, binding = 0) readonly buffer X { uvec4 x[]; };
layout(set = 0, binding = 1) writeonly buffer S { uvec4 scores[]; };
layout(set = 0, binding = 2) writeonly buffer N { uvec4 counts[]; };
layout(push_constant) uniform P {
    uint count;    // quads
    Divisor quads; // in a row
    uint classes;
    float least;   // a box is considered above it
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q;
    divide(i, quads, q);
    uvec4 bits = x[i], v = uvec4(nnGone);
    [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
        uint c = 4u * q + lane;
        if (c > 0u && c < classes && isNumber(bits[lane]) && uintBitsToFloat(bits[lane]) > least) {
            v[lane] = bits[lane];
        }
    }
    scores[i] = v;
    counts[i] = uvec4(0u);
}
