#version 450
// ROI_ALIGN: one invocation computes one quad of a cell: the mean of samples that divide it evenly. A sample is interpolated
// between the centres of pixels; one farther than a pixel from the image counts as 0. From the definition of NN HAL
// types.hal and Detectron's RoIAlign.
#include "common.glsl"
#include "divide.glsl"
#include "roi.glsl"

// Along one side of a cell, the first sample that may lie in the image, and how many may.
void inside(float begin, float step, float samples, int size, out float first, out int n) {
    first = clamp(floor((-1.0 - begin) / step) - 1.0, 0.0, samples);
    float last = clamp(ceil((float(size) - begin) / step) + 1.0, first, samples);
    // Boxes may be any numbers: whatever results, the loop ends.
    n = clamp(int(min(last - first, 1048576.0)), 0, max(4 * size + 16, 1));
}

// The two pixels around a place and the weight of the second; false where it is outside.
bool around(float at, int size, out int a, out int b, out float w) {
    bool within = at >= -1.0 && at <= float(size);
    at = within ? max(at, 0.0) : 0.0;
    a = min(int(at), size - 1);
    b = min(a + 1, size - 1);
    w = b > a ? at - float(a) : 0.0;
    return within;
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    Cell c = cellOf(i);
    vec2 cell = max(c.box.zw - c.box.xy, vec2(1.0)) / vec2(outWidth.value, outHeight.value);
    vec2 samples = mix(vec2(samplesX, samplesY), ceil(cell), equal(ivec2(samplesX, samplesY), ivec2(0)));
    vec2 begin = c.box.xy + cell * vec2(c.at);
    vec2 step = cell / samples;
    vec2 first;
    ivec2 n;
    inside(begin.x, step.x, samples.x, width, first.x, n.x);
    inside(begin.y, step.y, samples.y, height, first.y, n.y);
    vec4 sum = vec4(0.0);
    for (int v = 0; v < n.y; v++) {
        int y0, y1;
        float wy;
        if (!around(begin.y + step.y * (first.y + float(v) + 0.5), height, y0, y1, wy)) continue;
        for (int u = 0; u < n.x; u += unrolled) {
            [[unroll]] for (int k = 0; k < unrolled; k++) {
                int x0, x1;
                float wx;
                bool within = around(begin.x + step.x * (first.x + float(u + k) + 0.5), width, x0, x1, wx);
                if (within && u + k < n.x) {
                    sum += (pixel(c, y0, x0) * (1.0 - wx) + pixel(c, y0, x1) * wx) * (1.0 - wy) +
                        (pixel(c, y1, x0) * (1.0 - wx) + pixel(c, y1, x1) * wx) * wy;
                }
            }
        }
    }
    y[i] = sum / (samples.x * samples.y);
}
