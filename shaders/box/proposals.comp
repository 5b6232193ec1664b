#version 450
// GENERATE_PROPOSALS, except for sorting and suppressing. The variant defines one of
//   DECODE  One invocation computes the box and the key of the score of one anchor at one position of an image.
//   FILTER  One invocation removes a candidate if its box is too small, or has its center outside of the image.
//   TAKE    One invocation writes one row of the outputs: of the first image, then of the next; 0 behind the last.
#include "common.glsl"
#include "divide.glsl"
#include "box.glsl"
#include "scores.glsl"

#if defined(DECODE)
layout(set = 0, binding = 0) readonly buffer X { int x[]; };        // scores
layout(set = 0, binding = 1) readonly buffer D { vec4 deltas[]; };  // of each anchor
layout(set = 0, binding = 2) readonly buffer A { vec4 anchors[]; };
layout(set = 0, binding = 3) readonly buffer I { vec4 images[]; };  // height, width
layout(set = 0, binding = 4) writeonly buffer B { vec4 boxes[]; };
layout(set = 0, binding = 5) writeonly buffer K { int keys[]; };
layout(push_constant) uniform P {
    uint count;
    Divisor each;   // anchors of a position
    Divisor width;  // positions of a row
    Divisor height; // rows of an image
    uint quads;     // of scores of a position
    uint pitch;     // of keys, by image
    float ratioX;   // of the image to the input
    float ratioY;
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint anchor, column, row;
    uint position = divide(i, each, anchor);
    uint n = divide(divide(position, width, column), height, row);
    vec2 shift = vec2(float(column) * ratioX, float(row) * ratioY);
    boxes[i] = transformed(anchors[anchor] + shift.xyxy, deltas[i], images[n].xy);
    uint at = i - n * each.value * width.value * height.value;
    keys[n * pitch + at] = scoreKeys(ivec4(x[position * quads * 4u + anchor])).x;
}

#elif defined(FILTER)
layout(set = 0, binding = 0) readonly buffer B { vec4 boxes[]; };
layout(set = 0, binding = 1) readonly buffer I { vec4 images[]; };
layout(set = 0, binding = 2) buffer R { ivec2 run[]; };
layout(push_constant) uniform P {
    uint count;
    Divisor pairs;  // pairs of run for an image
    uint boxesOf;   // an image
    float smallest; // width and height must be above it
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint n = divide(i, pairs);
    vec4 box = boxes[n * boxesOf + min(uint(run[i].y), boxesOf - 1u)];
    vec2 size = box.zw - box.xy;
    bvec4 in_ = bvec4(greaterThan(size, vec2(smallest)), lessThan(box.xy + size / 2.0, images[n].yx));
    if (!all(in_)) {
        run[i].x = nnNone;
    }
}

#elif defined(TAKE)
layout(set = 0, binding = 0) readonly buffer X { int x[]; }; // scores
layout(set = 0, binding = 1) readonly buffer B { vec4 boxes[]; };
layout(set = 0, binding = 2) readonly buffer C { ivec2 chosen[]; };
layout(set = 0, binding = 3) readonly buffer N { uint counts[]; };
layout(set = 0, binding = 4) writeonly buffer S { int scores[]; };
layout(set = 0, binding = 5) writeonly buffer O { vec4 results[]; };
layout(set = 0, binding = 6) writeonly buffer J { int of[]; };
layout(set = 0, binding = 7) writeonly buffer M { ivec4 found[]; };
layout(push_constant) uniform P {
    uint count;   // rows, with the padding
    uint rows;
    uint images;
    uint room;    // of an image
    uint boxesOf; // an image
    Divisor each; // anchors of a position
    uint quads;   // of scores of a position
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint n = images, place = 0u, sum = 0u;
    for (uint k = 0u; k < images; k++) {
        uint next = sum + counts[k];
        if (sum <= i && i < next) {
            n = k;
            place = i - sum;
        }
        sum = next;
    }
    int score = 0;
    vec4 box = vec4(0.0);
    if (n < images) {
        uint at = min(uint(chosen[n * room + place].y), boxesOf - 1u) + n * boxesOf;
        box = boxes[at];
        uint anchor;
        uint position = divide(at, each, anchor);
        score = x[position * quads * 4u + anchor];
    }
    scores[i] = score;
    of[i] = n < images ? int(n) : 0;
    if (i < rows) {
        results[i] = box;
    }
    if (i == 0u) {
        found[0] = ivec4(int(min(sum, rows)), 0, 0, 0);
    }
}
#endif
