#version 450
// Depthwise convolution, one filter a channel, with windows of 3x3 without dilation and the same stride both ways, for
// processors. One invocation computes 4 channels of PX columns of up to `run` rows of output pixels: it goes down the rows of
// the input and loads each quad once, and the filter once for all rows. Sums that wait for rows below are all it keeps.
//
// macro | meaning
// PX    | columns of output pixels
// S     | stride, 1 or 2
//
// Push constants and weights are those of depthwise.comp, and how many rows.
#define WALK 1
#include "depthwise.glsl"

const int COLUMNS = (PX - 1) * S + 3;

// Adds the products of a row of the input with row ky of the filter.
#define ADD(sums, xv, ky) \
    [[unroll]] for (int kx = 0; kx < 3; kx++) \
        [[unroll]] for (int p = 0; p < PX; p++) sums[p] += xv[p * S + kx] * wv[(ky) * 3 + kx];

#define CLEAR(sums) [[unroll]] for (int p = 0; p < PX; p++) sums[p] = vec4(0);

void main() {
    uint id = flatIndex();
    if (id >= count) return;
    int rest = int(id) / quads;
    int cq = int(id) - rest * quads;
    int band = rest / groups;
    int ox = (rest - band * groups) * PX;
    int bands = (outH + run - 1) / run;
    int n = band / bands;
    int oy = (band - n * bands) * run;
    int iy = oy * S - padTop, ix0 = ox * S - padLeft;
    int begin = oy, end = min(oy + run, outH);

    vec4 wv[9];
    [[unroll]] for (int t = 0; t < 9; t++) wv[t] = texelFetch(w, t * quads + cq);
    EPILOGUE(cq)
    int column[COLUMNS]; // from the beginning of a row
    bool within[COLUMNS];
    [[unroll]] for (int c = 0; c < COLUMNS; c++) {
        within[c] = inside(ix0 + c, inW);
        column[c] = (within[c] ? ix0 + c : 0) * quads + cq;
    }
    vec4 xv[COLUMNS];
#define LINE(iy) { \
        bool line = inside(iy, inH); \
        int base = (n * inH + (line ? iy : 0)) * inW * quads; \
        [[unroll]] for (int c = 0; c < COLUMNS; c++) xv[c] = loadX(base + column[c], line && within[c]); \
    }

    vec4 next[PX];
    CLEAR(next)
#if S == 1
    vec4 after[PX];
    CLEAR(after)
    oy -= 2;
    do {
        LINE(iy)
        iy++;
        vec4 acc[PX];
        [[unroll]] for (int p = 0; p < PX; p++) {
            acc[p] = next[p];
            next[p] = after[p];
        }
        CLEAR(after)
        ADD(acc, xv, 2)
        ADD(next, xv, 1)
        ADD(after, xv, 0)
#else
    oy--;
    do {
        vec4 acc[PX];
        [[unroll]] for (int p = 0; p < PX; p++) acc[p] = next[p];
        CLEAR(next)
        LINE(iy - 1)
        ADD(acc, xv, 1)
        LINE(iy)
        iy += 2;
        ADD(acc, xv, 2)
        ADD(next, xv, 0)
#endif
        bool whole = oy >= begin;
        int out0 = ((n * outH + oy) * outW + ox) * quads + cq;
#define RESULT_OF(p) { \
            QUAD v = RESULT(acc[p]); \
            if (whole && ox + p < outW) storeY(out0 + p * quads, v); \
        }
#if defined(ELEM_Q8) && !SHIFT // rolled: SwiftShader compiles four of them for as long as all the rest
        int p = 0;
        do RESULT_OF(p) while (++p < PX);
#else
        [[unroll]] for (int p = 0; p < PX; p++) RESULT_OF(p)
#endif
    } while (++oy < end);
}
