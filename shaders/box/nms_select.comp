#version 450
// BOX_WITH_NMS_LIMIT: one invocation selects a number of boxes of a list, and goes on where the step before stopped: the box of the
// highest score, the first of equal ones, by which it lowers the scores of the others, and the next one. Invocations of a row that
// begins no list do nothing.
//
// The places where boxes are kept have what they rank by, too: the lowest score so far. That is their score, but where it rises
// because it is negative.
#include "common.glsl"
#include "divide.glsl"
#include "nms.glsl"

layout(set = 0, binding = 0) readonly buffer B { vec4 boxes[]; };
layout(set = 0, binding = 1) readonly buffer I { int images[]; };
layout(set = 0, binding = 2) buffer S { uint scores[]; };
layout(set = 0, binding = 3) buffer N { uint counts[]; }; // of a list: how many are selected
layout(set = 0, binding = 4) buffer K { uvec4 kept[]; };  // row, score, rank
layout(push_constant) uniform P {
    uint count;       // rows times classes
    Divisor each;     // classes that are no background, at least 1
    uint rows;
    uint classes;
    uint stride;
    uint rounds;      // boxes that are selected in this step at most
    uint limit;       // of a list
    int kernel;       // 0 hard, 1 linear, 2 gaussian
    float overlapped; // from it on the hard and the linear one lower scores
    float sigma;      // of the gaussian one
    float least;      // of a score that was lowered
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

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint c;
    uint first = divide(i, each, c);
    c++;
    int image = images[first];
    if (first > 0u && images[first - 1u] == image) return;
    uint at = first * stride + c;
    uint n = counts[at];
    if (n >= limit) return;
    uint end = first + 1u;
    while (end < rows && images[end] == image) {
        end++;
    }
    bool lower = false;
    vec4 by = vec4(0.0);
    for (uint round = 0u; round <= rounds; round++) {
        uint best = nnGone;
        float most = 0.0;
        for (uint from = first; from < end; from += 4u) {
            [[unroll]] for (uint k = 0u; k < 4u; k++) {
                uint row = from + k;
                uint slot = row * stride + c;
                uint bits = row < end ? scores[slot] : nnGone;
                if (bits != nnGone) {
                    float score = uintBitsToFloat(bits);
                    if (lower) {
                        score *= factor(overlap(by, boxes[row * classes + c]));
                        bits = floatBitsToUint(score);
                        bits = isNumber(bits) && score >= least ? bits : nnGone;
                        scores[slot] = bits;
                    }
                    if (bits != nnGone && (best == nnGone || score > most)) {
                        best = row;
                        most = score;
                    }
                }
            }
        }
        // A client that writes to images meanwhile can make a list shorter than what was selected of it.
        if (best == nnGone || round == rounds || n >= min(limit, end - first)) break;
        uint to = at + n * stride;
        float rank = n == 0u ? most : min(most, uintBitsToFloat(kept[to - stride].z));
        kept[to] = uvec4(best, floatBitsToUint(most), floatBitsToUint(rank), 0u);
        scores[best * stride + c] = nnGone;
        n++;
        lower = true;
        by = boxes[best * classes + c];
    }
    counts[at] = n;
}
