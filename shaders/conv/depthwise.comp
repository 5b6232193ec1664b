#version 450
// Depthwise convolution, one filter a channel. One invocation computes 4 channels of PX neighbouring output
// pixels of a row.
//
// macro | meaning
// PX    | pixels
// KW    | filter width, unrolled, with S the stride in x and no dilation: neighbouring pixels share columns;
//       | 0: any width, stride and dilation
#include "depthwise.glsl"

void main() {
    uint id = flatIndex();
    if (id >= count) return;
    int rest = int(id) / quads;
    int cq = int(id) - rest * quads;
    int row = rest / groups;
    int ox = (rest - row * groups) * PX;
    int n = row / outH;
    int iy0 = (row - n * outH) * strideH - padTop;
    int ix0 = ox * strideW - padLeft;

    vec4 acc[PX];
    [[unroll]] for (int p = 0; p < PX; p++) acc[p] = vec4(0);
    int ky = 0;
    do {
        int iy = iy0 + ky * dilationH;
        bool line = inside(iy, inH);
#ifndef ELEM_Q8
        if (!line) continue;
#endif
        int base = (n * inH + (line ? iy : 0)) * inW * quads + cq;
#if KW
        const int columns = (PX - 1) * S + KW;
        vec4 xv[columns];
        [[unroll]] for (int c = 0; c < columns; c++) {
            bool ok = line && inside(ix0 + c, inW);
            xv[c] = loadX(base + (ok ? ix0 + c : 0) * quads, ok);
        }
        [[unroll]] for (int kx = 0; kx < KW; kx++) {
            vec4 wv = texelFetch(w, (ky * KW + kx) * quads + cq);
            [[unroll]] for (int p = 0; p < PX; p++) acc[p] += xv[p * S + kx] * wv;
        }
#else
        int kx = 0;
        do {
            vec4 wv = texelFetch(w, (ky * kW + kx) * quads + cq);
            [[unroll]] for (int p = 0; p < PX; p++) {
                int ix = ix0 + p * strideW + kx * dilationW;
                bool ok = line && inside(ix, inW);
                acc[p] += loadX(base + (ok ? ix : 0) * quads, ok) * wv;
            }
        } while (++kx < kW);
#endif
    } while (++ky < kH);

    int out0 = (row * outW + ox) * quads + cq;
    EPILOGUE(cq)
    [[unroll]] for (int p = 0; p < PX; p++) {
        QUAD v = RESULT(acc[p]);
        if (ox + p < outW) storeY(out0 + p * quads, v);
    }
}
