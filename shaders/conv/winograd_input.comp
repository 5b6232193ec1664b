#version 450
// First of three kernels of a convolution of 3x3, stride 1, by Winograd's F(TILE, 3) in both directions: the input at the
// T x T points. One invocation transforms one quad of channels of the T x T pixels that a tile of TILE x TILE results needs.
//
// macro          | meaning
// TILE           | 2 or 4
// X_TEXEL        | 1: x is a texel buffer; 0: a storage buffer
// Y_TEXEL        | 1: v is a storage texel buffer; 0: a storage buffer
// ELEM_F32, _F16 | type of x; v is float32
//
// v: [T x T points][groups][rows][quads of a group of x]; row i is tile first + i, the last ones repeat the last tile.
#include "common.glsl"
#include "tensor.glsl"
#include "window.glsl"
#include "winograd.glsl"

#if X_TEXEL
layout(set = 0, binding = 0) uniform samplerBuffer x;
vec4 loadX(int i) { return texelFetch(x, i); }
#else
layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
vec4 loadX(int i) { return unpackQuad(x[i]); }
#endif
#if Y_TEXEL
layout(set = 0, binding = 1, rgba32f) writeonly uniform imageBuffer v;
void storeV(int i, vec4 q) { imageStore(v, i, q); }
#else
layout(set = 0, binding = 1) writeonly buffer V { vec4 v[]; };
void storeV(int i, vec4 q) { v[i] = q; }
#endif

layout(push_constant) uniform P {
    uint count;  // invocations: quads of v at one point
    int quads;   // of a pixel of x
    int groupQuads; // of those, in a group
    int first;   // tile of this dispatch
    int last;    // tile of the tensor
    int tilesX, tilesY; // of an image
    int inH, inW;
    int padTop, padLeft;
};

void main() {
    uint id = flatIndex();
    if (id >= count) return;
    int row = int(id) / quads;
    int tile = min(first + row, last);
    int tileRow = tile / tilesX;
    int n = tileRow / tilesY;
    int iy0 = (tileRow - n * tilesY) * TILE - padTop;
    int ix0 = (tile - tileRow * tilesX) * TILE - padLeft;
    int quad = int(id) - row * quads;
    int corner = ((n * inH + iy0) * inW + ix0) * quads + quad;
    int group = quad / groupQuads;
    int to = (group * (int(count) / quads) + row - group) * groupQuads + quad;

    vec4 columns[T][T]; // [x][point]
    [[unroll]] for (int cx = 0; cx < T; cx++) {
        bool columnOK = inside(ix0 + cx, inW);
        vec4 d[T];
        [[unroll]] for (int cy = 0; cy < T; cy++) {
            bool ok = columnOK && inside(iy0 + cy, inH);
            vec4 q = loadX(ok ? corner + (cy * inW + cx) * quads : 0);
            d[cy] = ok ? q : vec4(0);
        }
        columns[cx] = toPoints(d);
    }
    [[unroll]] for (int py = 0; py < T; py++) {
        vec4 d[T];
        [[unroll]] for (int cx = 0; cx < T; cx++) d[cx] = columns[cx][py];
        d = toPoints(d);
        [[unroll]] for (int px = 0; px < T; px++) storeV(to + (py * T + px) * int(count), d[px]);
    }
}
