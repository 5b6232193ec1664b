#version 450
// HEATMAP_MAX_KEYPOINT: one invocation finds four keypoints of a box: for each channel of one quad the largest element, the first
// of equal ones, then the extremum of the quadratic through it and its neighbours, mirrored at the edges. From NN HAL
// types.hal and Detectron's heatmaps_to_keypoints; tolerances are those of the HAL's reference implementation.
#include "common.glsl"
#include "divide.glsl"

layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) readonly buffer B { vec4 boxes[]; };
layout(set = 0, binding = 2) writeonly buffer S { vec4 scores[]; };
layout(set = 0, binding = 3) writeonly buffer K { vec4 keypoints[]; };
layout(push_constant) uniform P {
    uint count;    // quads of scores
    Divisor quads; // of a box
    uint channels;
    int size;      // of a heatmap
};

int mirrored(int at) { return at < 0 ? 1 : at >= size ? size - 2 : at; }

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q;
    uint box = divide(i, quads, q);
    uint base = box * uint(size * size) * quads.value + q;
    vec4 most = x[base];
    ivec4 place = ivec4(0);
    int n = size * size;
    for (int p = 0; p < n; p += 4) {
        [[unroll]] for (int k = 0; k < 4; k++) {
            vec4 v = x[base + uint(min(p + k, n - 1)) * quads.value];
            bvec4 more = greaterThan(v, most);
            most = mix(most, v, more);
            place = mix(place, ivec4(p + k), more);
        }
    }
    vec4 b = boxes[box];
    vec4 score = vec4(0.0);
    [[unroll]] for (int lane = 0; lane < 4; lane++) {
        if (4u * q + uint(lane) < channels) {
            ivec2 at = ivec2(place[lane] % size, place[lane] / size);
            float grid[9];
            [[unroll]] for (int k = 0; k < 9; k++) {
                int row = mirrored(at.y + k / 3 - 1), column = mirrored(at.x + k % 3 - 1);
                grid[k] = x[base + uint(row * size + column) * quads.value][lane];
            }
            // First derivatives, negative, and second ones.
            vec2 d = -vec2(grid[5] - grid[3], grid[7] - grid[1]) / 2.0;
            float dxx = grid[3] - 2.0 * grid[4] + grid[5], dyy = grid[1] - 2.0 * grid[4] + grid[7];
            float dxy = (grid[8] - grid[6] - grid[2] + grid[0]) / 4.0;
            precise float product = dxx * dyy;
            precise float square = dxy * dxy;
            float det = product - square;
            vec2 delta = vec2(0.0);
            if (abs(det) >= 1e-5 + 1e-5 * product) {
                delta = vec2(dyy * d.x - dxy * d.y, dxx * d.y - dxy * d.x) / det;
                float far = max(abs(delta.x), abs(delta.y));
                if (far > 1.5) {
                    delta *= 1.5 / far;
                }
            }
            vec2 bent = vec2(dxx * delta.x + dxy * delta.y, dxy * delta.x + dyy * delta.y);
            score[lane] = most[lane] - (dot(delta, d) - dot(bent, delta) / 2.0);
            vec2 to = (vec2(at) + delta + 0.5) / float(size);
            keypoints[box * channels + 4u * q + uint(lane)] = vec4(b.xy + to * (b.zw - b.xy), 0.0, 0.0);
        }
    }
    scores[i] = score;
}
