#version 450
// Nearest neighbour resizing: one invocation copies up to `run` neighbouring units of each of up to `pixels` pixels of a row; a
// unit is WORDS 32-bit words. Positions are those of TensorFlow Lite's reference_ops::ResizeNearestNeighbor.
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
    Divisor blocks, yHeight;     // blocks of pixels in a row of y
    uint pixels, yWidth;
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
    uint part, block, py;
    uint row = divide(divide(i, runs, part), blocks, block);
    uint image = divide(row, yHeight, py);
    uint from = (image * uint(height) + source(py, scaleY, height)) * uint(width);
    uint first = part * run, last = min(first + run, units);
    uint px = block * pixels, end = min(px + pixels, yWidth);
    do {
        uint at = (from + source(px, scaleX, width)) * units, to = (row * yWidth + px) * units;
        uint u = first;
        do y[to + u] = LOAD(at + u);
        while (++u < last);
    } while (++px < end);
}
