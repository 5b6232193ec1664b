#version 450
// AXIS_ALIGNED_BBOX_TRANSFORM: one invocation computes one box of y, one quad.
#include "common.glsl"
#include "divide.glsl"
#include "box.glsl"

layout(set = 0, binding = 0) readonly buffer B { vec4 boxes[]; };
layout(set = 0, binding = 1) readonly buffer D { vec4 deltas[]; };
layout(set = 0, binding = 2) readonly buffer I { int images[]; }; // of boxes
layout(set = 0, binding = 3) readonly buffer S { vec4 sizes[]; }; // of images: height, width
layout(set = 0, binding = 4) writeonly buffer Y { vec4 y[]; };
layout(push_constant) uniform P {
    uint count;      // boxes of y
    Divisor classes; // boxes of y for each box of the input
    int batch;       // images
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint box = divide(i, classes);
    y[i] = transformed(boxes[box], deltas[i], sizes[clamp(images[box], 0, batch - 1)].xy);
}
