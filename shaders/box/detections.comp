#version 450
// DETECTION_POSTPROCESSING: one invocation writes one place of the results of an image, or of their padding. The variant
// may define
//   CLASSES  Detections are the anchors chosen in each class, in order.
// Otherwise anchors were chosen for all classes: each has a place for each class of a detection, its best classes in order.
#include "common.glsl"
#include "divide.glsl"
#include "scores.glsl"

layout(set = 0, binding = 0) readonly buffer X { ivec4 x[]; };
layout(set = 0, binding = 1) readonly buffer B { vec4 boxes[]; };
layout(set = 0, binding = 2) readonly buffer C { ivec2 chosen[]; }; // keys and anchors, `room` of them for each group
#ifdef CLASSES
layout(set = 0, binding = 3) readonly buffer R { ivec2 run[]; };    // keys and places of those chosen in an image, in order
#else
layout(set = 0, binding = 3) readonly buffer R { uint boxesOf[]; }; // how many were chosen
#endif
layout(set = 0, binding = 4) writeonly buffer S { int scores[]; };
layout(set = 0, binding = 5) writeonly buffer O { vec4 results[]; };
layout(set = 0, binding = 6) writeonly buffer L { int labels[]; };
layout(set = 0, binding = 7) writeonly buffer N { int counts[]; };
layout(push_constant) uniform P {
    uint count;
    Divisor pitch;   // places of an image with the padding
    uint places;     // of an image
    Divisor each;    // places of a detection, 1 for CLASSES
    Divisor room;    // of a group
    uint pairs;      // CLASSES: pairs of run for an image
    uint anchors;    // of an image
    uint classes;    // of an anchor
    uint quads;      // of the scores of an anchor
    int first;       // the number of the class behind the background
};

#ifdef CLASSES
bool there(uint n, uint place) { return place < pairs && run[n * pairs + place].x != nnNone; }
#else
// The class of the given rank, by score, of an anchor whose scores begin with quad `row`.
uint classOf(uint row, uint rank) {
    int lastKey = nnUnordered;
    uint last = 0u;
    for (uint k = 0u; k <= rank; k++) {
        int key = nnNone;
        uint best = classes;
        for (uint q = 0u; q < quads; q++) {
            ivec4 keys = scoreKeys(x[row + q]);
            [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
                uint label = 4u * q + lane;
                bool after = keys[lane] < lastKey || keys[lane] == lastKey && label > last;
                bool better = keys[lane] > key || keys[lane] == key && label < best;
                if (after && better && label - 1u < classes - 1u) { // the background wraps around
                    key = keys[lane];
                    best = label;
                }
            }
        }
        lastKey = key;
        last = best;
    }
    return min(last, classes - 1u);
}
#endif

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint place;
    uint n = divide(i, pitch, place);
    int score = 0, result = 0;
    vec4 box = vec4(0.0);
    uint anchor = 0u, of = 0u; // 0: no detection
#ifdef CLASSES
    if (place < places && there(n, place)) {
        uint at;
        of = 1u + min(divide(uint(run[n * pairs + place].y), room, at), classes - 2u);
        anchor = uint(chosen[(n * (classes - 1u) + of - 1u) * room.value + at].y);
        if (!there(n, place + 1u)) {
            counts[n] = int(place) + 1;
        }
    } else if (place == 0u) {
        counts[n] = 0;
    }
#else
    uint rank;
    uint at = divide(place, each, rank);
    uint most = boxesOf[n];
    if (place < places && at < most) {
        anchor = uint(chosen[n * room.value + at].y);
        of = classOf((n * anchors + min(anchor, anchors - 1u)) * quads, rank);
    }
    if (place == 0u) {
        counts[n] = int(most * each.value);
    }
#endif
    if (of != 0u) {
        anchor = n * anchors + min(anchor, anchors - 1u);
        score = x[anchor * quads + of / 4u][of % 4u];
        result = int(of) - 1 + first;
        box = boxes[anchor];
    }
    scores[i] = score;
    labels[i] = result;
    if (place < places) {
        results[n * places + place] = box;
    }
}
