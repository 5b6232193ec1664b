#version 450
// Depthwise convolution, one filter a channel, with square windows without dilation and the same stride both ways. One
// invocation computes 4 channels of RY x PX output pixels: it goes down the rows of the input once, and each row adds to
// all rows of the output that it belongs to. All loops are unrolled, so that many loads are in flight at a time.
//
// macro  | meaning
// RY, PX | rows and columns of output pixels
// KW     | width and height of the filter
// S      | stride
//
// Push constants and weights are those of depthwise.comp.
#include "depthwise.glsl"

const int COLUMNS = (PX - 1) * S + KW;
const int LINES = (RY - 1) * S + KW;

void main() {
    uint id = flatIndex();
    if (id >= count) return;
    int rest = int(id) / quads;
    int cq = int(id) - rest * quads;
    int band = rest / groups;
    int ox = (rest - band * groups) * PX;
    int bands = (outH + RY - 1) / RY;
    int n = band / bands;
    int oy = (band - n * bands) * RY;
    int iy0 = oy * S - padTop, ix0 = ox * S - padLeft;

    vec4 wv[KW * KW];
    [[unroll]] for (int t = 0; t < KW * KW; t++) wv[t] = texelFetch(w, t * quads + cq);
    vec4 acc[RY * PX];
    [[unroll]] for (int p = 0; p < RY * PX; p++) acc[p] = vec4(0);
    [[unroll]] for (int l = 0; l < LINES; l++) {
        bool line = inside(iy0 + l, inH);
        int base = (n * inH + (line ? iy0 + l : 0)) * inW * quads + cq;
        vec4 xv[COLUMNS];
        [[unroll]] for (int c = 0; c < COLUMNS; c++) {
            bool ok = line && inside(ix0 + c, inW);
            xv[c] = loadX(base + (ok ? ix0 + c : 0) * quads, ok);
        }
        [[unroll]] for (int r = 0; r < RY; r++) {
            if (l >= r * S && l < r * S + KW)
                [[unroll]] for (int kx = 0; kx < KW; kx++)
                    [[unroll]] for (int p = 0; p < PX; p++) acc[r * PX + p] += xv[p * S + kx] * wv[(l - r * S) * KW + kx];
        }
    }

    int out0 = ((n * outH + oy) * outW + ox) * quads + cq;
    EPILOGUE(cq)
    [[unroll]] for (int r = 0; r < RY; r++) {
        [[unroll]] for (int p = 0; p < PX; p++) {
            QUAD v = RESULT(acc[r * PX + p]);
            if (oy + r < outH && ox + p < outW) storeY(out0 + (r * outW + p) * quads, v);
        }
    }
}
