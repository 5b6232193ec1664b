// Shared by the kernels on regions of images: one invocation computes one quad of a cell of a region.
#ifndef NNGPU_ROI
#define NNGPU_ROI

layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) readonly buffer B { vec4 boxes[]; };  // x1, y1, x2, y2
layout(set = 0, binding = 2) readonly buffer I { int images[]; }; // of boxes
layout(set = 0, binding = 3) writeonly buffer Y { vec4 y[]; };
layout(push_constant) uniform P {
    uint count; // quads
    Divisor quads, outWidth, outHeight;
    int width, height, batch; // of x
    float ratioX, ratioY;     // of boxes to pixels of x
    int samplesX, samplesY;   // of a cell; 0: by its size
};

// The cell that invocation i computes, and the row of x with which its image begins.
struct Cell {
    uint quad;
    uvec2 at;   // column, row
    vec4 box;   // in pixels of x
    int image;
};

Cell cellOf(uint i) {
    Cell c;
    uint cell = divide(i, quads, c.quad);
    uint box = divide(divide(cell, outWidth, c.at.x), outHeight, c.at.y);
    c.box = boxes[box] / vec4(ratioX, ratioY, ratioX, ratioY);
    c.image = clamp(images[box], 0, batch - 1) * height;
    return c;
}

// The quad of the cell's channels in a pixel, whose position is clamped to the image.
vec4 pixel(Cell c, int row, int column) {
    row = clamp(row, 0, height - 1);
    column = clamp(column, 0, width - 1);
    return x[uint((c.image + row) * width + column) * quads.value + c.quad];
}

const int unrolled = 8; // columns; lower/roi.go
#endif
