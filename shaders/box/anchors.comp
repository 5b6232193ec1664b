#version 450
// DETECTION_POSTPROCESSING: one invocation computes the box, y1, x1, y2, x2, of one anchor of an image.
#include "common.glsl"
#include "divide.glsl"

layout(set = 0, binding = 0) readonly buffer D { vec4 deltas[]; };  // dy, dx, dh, dw, then lanes that do not count
layout(set = 0, binding = 1) readonly buffer A { vec4 anchors[]; }; // y, x of the center, height, width
layout(set = 0, binding = 2) writeonly buffer B { vec4 boxes[]; };
layout(push_constant) uniform P {
    uint count;        // anchors of all images
    Divisor anchorsOf; // anchors of an image
    uint deltaQuads;   // of an anchor
    float scaleY;      // deltas are divided by these
    float scaleX;
    float scaleH;
    float scaleW;
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint at;
    divide(i, anchorsOf, at);
    vec4 anchor = anchors[at], delta = deltas[i * deltaQuads] / vec4(scaleY, scaleX, scaleH, scaleW);
    vec2 centre = anchor.xy + anchor.zw * delta.xy;
    vec2 half_ = anchor.zw * exp(delta.zw) * 0.5;
    boxes[i] = vec4(centre - half_, centre + half_);
}
