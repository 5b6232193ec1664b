// Position of the input window of an output pixel, for convolutions over images.
#ifndef NNGPU_WINDOW
#define NNGPU_WINDOW

// windowOrigin returns (first input row of the batch, y, x) of the window of output pixel p; y and x may lie
// outside of the image.
ivec3 windowOrigin(int p, int outW, int outH, int inH, ivec2 stride, ivec2 pad) {
    int row = p / outW;
    int n = row / outH;
    return ivec3(n * inH, (row - n * outH) * stride.x - pad.x, (p - row * outW) * stride.y - pad.y);
}

// inside reports whether 0 <= v < limit in one comparison.
bool inside(int v, int limit) { return uint(v) < uint(limit); }

#endif
