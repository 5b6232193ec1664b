#version 450
// BOX_WITH_NMS_LIMIT: one invocation selects a number of boxes of a list, and goes on where the step before stopped. It takes the
// box of the highest score, the first of equal ones, lowers the scores of boxes that overlap with it, and takes the next. The rest
// of a list stays together, in its order, so that no round looks at what is gone. The first step makes the lists, of boxes with
// scores that are high enough; invocations of rows that begin none do nothing.
//
// Kept boxes also have a rank, the lowest score so far. That is their score, except if scores rise because they are negative and
// are multiplied by less than 1.
#include "common.glsl"
#include "divide.glsl"
#include "nms.glsl"

layout(set = 0, binding = 0) readonly buffer X { uint scores[]; };
layout(set = 0, binding = 1) readonly buffer B { vec4 boxes[]; };
layout(set = 0, binding = 2) readonly buffer I { int images[]; };
layout(set = 0, binding = 3) buffer L { uvec2 left[]; };   // row, score
layout(set = 0, binding = 4) buffer N { uvec2 counts[]; }; // for each list: how many are selected, how many are left
layout(set = 0, binding = 5) buffer K { uvec4 kept[]; };   // row, score, rank
layout(push_constant) uniform P {
    uint count;       // rows times classes
    Divisor each;     // classes that are no background, at least 1
    uint rows;
    uint classes;
    uint stride;
    uint begin;       // 1 in the first step
    uint rounds;      // at most so many boxes are selected in this step
    uint limit;       // of a list
    int kernel;       // 0 hard, 1 linear, 2 gaussian
    float threshold;  // boxes with higher scores are considered
    float overlapped; // overlap from which on the hard and the linear kernel lower scores
    float sigma;      // of the gaussian one
    float least;      // that a lowered score must have
};

float area(vec4 b) { return (b.z - b.x) * (b.w - b.y); }

// The intersection over the union, 0 where that is not positive.
float overlap(vec4 a, vec4 b) {
    vec2 size = max(min(a.zw, b.zw) - max(a.xy, b.xy), vec2(0.0));
    precise float both = size.x * size.y;
    precise float either = area(a) + area(b) - both;
    return either > 0.0 && isNumber(floatBitsToUint(either)) && isNumber(floatBitsToUint(both)) ? both / either : 0.0;
}

float factor(float o) {
    if (kernel == 2) return exp(-o * o / sigma);
    if (o < overlapped) return 1.0;
    return kernel == 1 ? 1.0 - o : 0.0;
}

// Makes the list that begins at row first, and returns how long it is.
uint list(uint first, uint c) {
    int image = images[first];
    if (c >= classes || first > 0u && images[first - 1u] == image) return 0u;
    uint n = 0u;
    for (uint row = first; row < rows && images[row] == image; row++) {
        uint bits = scores[row * stride + c];
        if (isNumber(bits) && uintBitsToFloat(bits) > threshold) {
            left[(first + n) * stride + c] = uvec2(row, bits);
            n++;
        }
    }
    return n;
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint c;
    uint first = divide(i, each, c);
    c++;
    uint at = first * stride + c;
    uvec2 state = uvec2(0u);
    if (begin != 0u) {
        state.y = list(first, c);
    } else {
        state = counts[at];
    }
    uint n = state.x, m = state.y;
    uint by = nnNone; // the one selected last, as a place in its list
    vec4 box = vec4(0.0);
    for (uint round = 0u; round <= rounds && m > 0u && n < limit; round++) {
        uint best = nnNone, to = 0u, row = 0u;
        float most = 0.0;
        for (uint from = 0u; from < m; from += 4u) {
            [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
                uint k = from + lane;
                if (k < m && k != by) {
                    uvec2 x = left[at + k * stride];
                    float score = uintBitsToFloat(x.y);
                    if (by != nnNone) {
                        score *= factor(overlap(box, boxes[x.x * classes + c]));
                        x.y = floatBitsToUint(score);
                    }
                    if (by == nnNone || isNumber(x.y) && score >= least) {
                        if (by != nnNone) {
                            left[at + to * stride] = x;
                        }
                        if (best == nnNone || score > most) {
                            best = to;
                            most = score;
                            row = x.x;
                        }
                        to++;
                    }
                }
            }
        }
        m = to;
        by = nnNone;
        if (best == nnNone || round == rounds) break;
        uint slot = at + n * stride;
        float rank = n == 0u ? most : min(most, uintBitsToFloat(kept[slot - stride].z));
        kept[slot] = uvec4(row, floatBitsToUint(most), floatBitsToUint(rank), 0u);
        n++;
        by = best;
        box = boxes[row * classes + c];
    }
    counts[at] = uvec2(n, m);
}
