#version 450
// Nearest neighbour resizing: one invocation copies up to `run` neighbouring units of one pixel; a unit is
// WORDS 32-bit words. Positions are those of TensorFlow Lite's reference_ops::ResizeNearestNeighbor.
//
//   TEXEL  x, in units of 4 words, is read through a texel buffer
#include "common.glsl"
#include "divide.glsl"

#if WORDS == 4
#define UNIT uvec4
#elif WORDS == 2
#define UNIT uvec2
#else
#define UNIT uint
#endif

#ifdef TEXEL
layout(set = 0, binding = 0) uniform usamplerBuffer x;
#define LOAD(i) texelFetch(x, int(i))
#else
layout(set = 0, binding = 0) readonly buffer X { UNIT x[]; };
#define LOAD(i) x[i]
#endif
layout(set = 0, binding = 1) writeonly buffer Y { UNIT y[]; };
layout(push_constant) uniform P {
    uint count;
    uint run;
    uint units;                  // of a pixel
    Divisor runs;                // of a pixel
    Divisor yWidth, yHeight;
    int width, height;           // of x
    float scaleX, scaleY;        // pixels of x for one of y
    float shift;                 // 0.5 with half pixel centres
    float round_;                // 0.5 with aligned corners
};

uint source(uint p, float scale, int size) {
    precise float at = (float(p) + shift) * scale;
    return uint(min(int(floor(at + round_)), size - 1));
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint part, px, py;
    uint pixel = divide(i, runs, part);
    uint image = divide(divide(pixel, yWidth, px), yHeight, py);
    uint row = image * uint(height) + source(py, scaleY, height);
    uint from = (row * uint(width) + source(px, scaleX, width)) * units;
    uint to = pixel * units;
    uint last = min(part * run + run, units);
    for (uint u = part * run; u < last; u++) y[to + u] = LOAD(from + u);
}
