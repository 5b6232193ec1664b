#version 450
// ROI_POOLING: one invocation computes one quad of a cell: the largest of its pixels, 0 where it has none. From NN HAL
// types.hal and Detectron's RoIPool.
#include "common.glsl"
#include "divide.glsl"
#include "roi.glsl"

// Far beyond what images have, and small enough for integers.
vec4 whole(vec4 v) { return clamp(sign(v) * floor(abs(v) + 0.5), -16777216.0, 16777216.0); }

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    Cell c = cellOf(i);
    vec4 box = whole(c.box);
    vec2 cell = max(box.zw - box.xy + 1.0, vec2(1.0)) / vec2(outWidth.value, outHeight.value);
    vec2 at = vec2(c.at);
    // Which pixels a cell has must not depend on how a device rounds.
    precise vec2 first = cell * at;
    precise vec2 last = cell * (at + 1.0);
    first += box.xy;
    last += box.xy;
    ivec2 from = clamp(ivec2(floor(first)), ivec2(0), ivec2(width, height));
    ivec2 to = clamp(ivec2(ceil(last)), ivec2(0), ivec2(width, height));
    vec4 most = vec4(0.0);
    bool any = false;
    for (int v = from.y; v < to.y; v++) {
        for (int u = from.x; u < to.x; u += unrolled) {
            [[unroll]] for (int k = 0; k < unrolled; k++) {
                if (u + k < to.x) {
                    vec4 p = pixel(c, v, u + k);
                    most = any ? max(most, p) : p;
                    any = true;
                }
            }
        }
    }
    y[i] = most;
}
