#version 450
// BOX_WITH_NMS_LIMIT, the last step: rows of the outputs, in the order of lists and of selection in each, and 0 behind the last.
// The box for a row is found by descending through the sums of the lists' lengths.
//
// The variant may define BOXES: one invocation writes the box of one row. Otherwise it writes scores, classes and images of four.
#include "common.glsl"
#include "divide.glsl"
#include "nms.glsl"

layout(set = 0, binding = 0) readonly buffer K { uvec4 kept[]; };
layout(set = 0, binding = 1) readonly buffer S { uint sums[]; };
#ifdef BOXES
layout(set = 0, binding = 2) readonly buffer B { vec4 boxes[]; };
layout(set = 0, binding = 3) writeonly buffer Z { vec4 outBoxes[]; };
#else
layout(set = 0, binding = 2) readonly buffer I { int images[]; };
layout(set = 0, binding = 3) writeonly buffer Y { uvec4 outScores[]; };
layout(set = 0, binding = 4) writeonly buffer C { ivec4 outClasses[]; };
layout(set = 0, binding = 5) writeonly buffer J { ivec4 outImages[]; };
layout(set = 0, binding = 6) writeonly buffer M { ivec4 found[]; };
#endif
layout(push_constant) uniform P {
    uint count;     // BOXES: rows; else quads of them
    uint most;      // rows
    Divisor stride; // slots in a row of boxes
    uint rows;      // of boxes
    uint classes;
    uint top;       // the highest level of sums, of one element
    uint n[5];      // elements of each level
    uint at[5];     // where each begins
};

// The row of the boxes that row y of the outputs has, its class, and the bits of its score.
// A client that writes to an input meanwhile may leave anything in the buffers.
uvec3 place(uint y) {
    uint slot = 0u;
    for (int level = int(top) - 1; level >= 0; level--) {
        slot *= nnRun;
        uint last = min(slot + nnRun, n[level]) - 1u;
        while (slot < last && y >= sums[at[level] + slot]) {
            y -= sums[at[level] + slot];
            slot++;
        }
    }
    uint c;
    uint first = divide(slot, stride, c);
    uvec4 k = kept[min(first + y, rows - 1u) * stride.value + c];
    return uvec3(min(k.x, rows - 1u), min(c, classes - 1u), k.y);
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint total = min(sums[at[top]], most);
#ifdef BOXES
    vec4 box = vec4(0.0);
    if (i < total) {
        uvec3 k = place(i);
        box = boxes[k.x * classes + k.y];
    }
    outBoxes[i] = box;
#else
    uvec4 score = uvec4(0u);
    ivec4 class_ = ivec4(0), image = ivec4(0);
    [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
        if (4u * i + lane < total) {
            uvec3 k = place(4u * i + lane);
            score[lane] = k.z;
            class_[lane] = int(k.y);
            image[lane] = images[k.x];
        }
    }
    outScores[i] = score;
    outClasses[i] = class_;
    outImages[i] = image;
    if (i == 0u) {
        found[0] = ivec4(int(total), 0, 0, 0);
    }
#endif
}
