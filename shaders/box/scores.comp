#version 450
// Which anchors are candidates: a row of keys for each group of anchors that suppress each other, nnNone if the score is not
// above the threshold. The variant defines one of
//   BEST     A group is an image; the score of an anchor is that of its best class except the background. One invocation
//            computes one key.
//   CLASSES  A group is a class of an image, except the background. One invocation computes a quad of keys.
//   CHOSEN   A group is an image; its scores are those that were chosen in its classes, room for each in the order of
//            classes. One invocation computes one key.
#include "common.glsl"
#include "divide.glsl"
#include "scores.glsl"

#ifdef CHOSEN
layout(set = 0, binding = 0) readonly buffer C { ivec2 chosen[]; }; // of each group of CLASSES
layout(set = 0, binding = 1) readonly buffer N { uint counts[]; };  // of them
layout(set = 0, binding = 2) writeonly buffer K { int keys[]; };
layout(push_constant) uniform P {
    uint count;    // keys
    Divisor image; // keys of an image, room for all of its classes
    Divisor room;  // of a class
    uint classes;  // of an image
    uint pitch;    // of keys, by image
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint at, place;
    uint n = divide(i, image, at);
    uint group = n * classes + divide(at, room, place);
    keys[n * pitch + at] = place < counts[group] ? chosen[group * room.value + place].x : nnNone;
}
#else

#ifdef BEST
layout(set = 0, binding = 0) readonly buffer X { ivec4 x[]; };
layout(set = 0, binding = 1) writeonly buffer K { int keys[]; };
#else
layout(set = 0, binding = 0) readonly buffer X { int x[]; };
layout(set = 0, binding = 1) writeonly buffer K { ivec4 keys[]; };
#endif
layout(push_constant) uniform P {
    uint count;
    Divisor row;   // keys of a group, for CLASSES quads of them
    Divisor groups; // of an image
    uint anchors;  // of an image
    uint classes;  // of an anchor
    uint quads;    // of the scores of an anchor
    uint pitch;    // of keys, by group; for CLASSES in quads
    int threshold; // a key
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint at;
    uint group = divide(i, row, at);
#ifdef BEST
    ivec4 best = ivec4(nnNone);
    for (uint q = 0u; q < quads; q++) {
        ivec4 k = scoreKeys(x[i * quads + q]);
        uvec4 label = 4u * q + uvec4(0u, 1u, 2u, 3u);
        bvec4 counts = lessThan(label - 1u, uvec4(classes - 1u)); // the background wraps around
        best = max(best, mix(ivec4(nnNone), k, counts));
    }
    int key = max(max(best.x, best.y), max(best.z, best.w));
    keys[group * pitch + at] = key > threshold ? key : nnNone;
#else
    uint label;
    uint n = divide(group, groups, label);
    ivec4 scores = ivec4(0x7fc00000);
    [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
        uint anchor = 4u * at + lane;
        if (anchor < anchors) {
            scores[lane] = x[(n * anchors + anchor) * quads * 4u + label + 1u];
        }
    }
    ivec4 k = scoreKeys(scores);
    keys[group * pitch + at] = mix(ivec4(nnNone), k, greaterThan(k, ivec4(threshold)));
#endif
}
#endif
