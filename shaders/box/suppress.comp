#version 450
// Chooses candidates of each group: the first, and then each that does not overlap with a chosen one before it, up to a limit.
// Candidates are in order, as pairs of a key and the index of a box; they are looked at in rounds of 128, so that many
// invocations do all of the work on a group except a few comparisons of bits. The variant defines one of
//   COMPARE  One invocation compares a candidate with those chosen in earlier rounds, and with those before it in its round:
//            a bit for each that it overlaps with, and its own bit if it is out in any case.
//   CHOOSE   One invocation goes through the candidates of a group.
#include "common.glsl"
#include "divide.glsl"
#include "box.glsl"
#include "scores.glsl"

const uint round_ = 128u;  // candidates; lower/suppress.go
const uint unrolled = 8u; // boxes in a round of a loop; lower/suppress.go

layout(push_constant) uniform P {
    uint count;
    Divisor groups; // of an image
    uint from;      // first candidate of the round
    uint pairs;     // candidates of a group
    uint room;      // at most so many are chosen of a group
    uint boxesOf;   // an image
    float least;    // boxes overlap from this ratio on
};

layout(set = 0, binding = 0) readonly buffer R { ivec2 run[]; };
layout(set = 0, binding = 1) readonly buffer B { vec4 boxes[]; };

uvec4 bitOf(uint at) {
    return mix(uvec4(0u), uvec4(1u << (at & 31u)), equal(uvec4(at >> 5), uvec4(0u, 1u, 2u, 3u)));
}

#ifdef COMPARE
layout(set = 0, binding = 2) readonly buffer T { vec4 taken[]; };  // boxes of the chosen candidates
layout(set = 0, binding = 3) readonly buffer N { uint counts[]; }; // how many are chosen
layout(set = 0, binding = 4) writeonly buffer M { uvec4 masks[]; };

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint group = i / round_, at = i % round_;
    uint n = from == 0u ? 0u : counts[group];
    if (n >= room) return;
    uint first = group * pairs + from, base = divide(group, groups) * boxesOf;
    ivec2 own = ivec2(nnNone, 0);
    if (from + at < pairs) {
        own = run[first + at];
    }
    bool gone = own.x == nnNone;
    uvec4 mask = uvec4(0u);
    if (!gone) {
        vec4 box = boxes[base + min(uint(own.y), boxesOf - 1u)];
        for (uint k = 0u; k < n && !gone; k += unrolled) {
            [[unroll]] for (uint u = 0u; u < unrolled; u++) {
                gone = gone || overlap(taken[group * room + min(k + u, n - 1u)], box, least);
            }
        }
        for (uint k = 0u; k < at && !gone; k++) {
            if (overlap(boxes[base + min(uint(run[first + k].y), boxesOf - 1u)], box, least)) {
                mask |= bitOf(k);
            }
        }
    }
    masks[i] = gone ? bitOf(at) : mask;
}

#elif defined(CHOOSE)
layout(set = 0, binding = 2) readonly buffer M { uvec4 masks[]; };
layout(set = 0, binding = 3) buffer N { uint counts[]; };
layout(set = 0, binding = 4) writeonly buffer T { vec4 taken[]; };
layout(set = 0, binding = 5) writeonly buffer C { ivec2 chosen[]; }; // pairs of run

void main() {
    uint group = flatIndex();
    if (group >= count) return;
    uint n = from == 0u ? 0u : counts[group];
    uint base = divide(group, groups) * boxesOf;
    uvec4 kept = uvec4(0u);
    for (uint at = 0u; at < round_ && n < room; at++) {
        uvec4 own = bitOf(at);
        if ((masks[group * round_ + at] & (kept | own)) == uvec4(0u)) {
            ivec2 pair = run[group * pairs + from + at];
            taken[group * room + n] = boxes[base + min(uint(pair.y), boxesOf - 1u)];
            chosen[group * room + n] = pair;
            kept |= own;
            n++;
        }
    }
    counts[group] = n;
}
#endif
