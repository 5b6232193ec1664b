#version 450
// Last of three kernels of a convolution of 3x3, stride 1, by Winograd's F(TILE, 3) in both directions: results from the
// sums of products at the T x T points. One invocation computes one quad of channels of TILE x TILE pixels.
//
// macro          | meaning
// TILE           | 2 or 4
// X_TEXEL        | 1: m is a texel buffer; 0: a storage buffer
// Y_TEXEL        | 1: y is a storage texel buffer; 0: a storage buffer
// ELEM_F32, _F16 | type of y; m is float32
//
// m: [T x T points][groups][rows][quads of a group of y]; row i is tile first + i.
#include "common.glsl"
#include "tensor.glsl"
#include "winograd.glsl"

#if X_TEXEL
layout(set = 0, binding = 0) uniform samplerBuffer m;
vec4 loadM(int i) { return texelFetch(m, i); }
#else
layout(set = 0, binding = 0) readonly buffer M { vec4 m[]; };
vec4 loadM(int i) { return m[i]; }
#endif
layout(set = 0, binding = 1) readonly buffer B { vec4 bias[]; };
#if Y_TEXEL
layout(set = 0, binding = 2, rgba32f) writeonly uniform imageBuffer y;
void storeY(int i, vec4 v) { imageStore(y, i, v); }
#else
layout(set = 0, binding = 2) writeonly buffer Y { QUAD y[]; };
void storeY(int i, vec4 v) { y[i] = packQuad(v); }
#endif

layout(push_constant) uniform P {
    uint count; // invocations
    int quads;  // of a pixel of y
    int groupQuads; // of those, in a group
    int first;  // tile of this dispatch
    int plane;  // quads of m at one point
    int tilesX, tilesY; // of an image
    int outH, outW;
    float lo, hi;
};

void main() {
    uint id = flatIndex();
    if (id >= count) return;
    int row = int(id) / quads;
    int quad = int(id) - row * quads;
    int group = quad / groupQuads;
    int from = (group * (plane / quads) + row - group) * groupQuads + quad;
    int tile = first + row;
    int tileRow = tile / tilesX;
    int n = tileRow / tilesY;
    int oy0 = (tileRow - n * tilesY) * TILE;
    int ox0 = (tile - tileRow * tilesX) * TILE;

    vec4 columns[T][TILE]; // [point][y]
    [[unroll]] for (int px = 0; px < T; px++) {
        vec4 d[T];
        [[unroll]] for (int py = 0; py < T; py++) d[py] = loadM(from + (py * T + px) * plane);
        columns[px] = fromPoints(d);
    }
    vec4 b = bias[quad];
    int corner = ((n * outH + oy0) * outW + ox0) * quads + quad;
    [[unroll]] for (int cy = 0; cy < TILE; cy++) {
        vec4 d[T];
        [[unroll]] for (int px = 0; px < T; px++) d[px] = columns[px][cy];
        vec4 r[TILE] = fromPoints(d);
        [[unroll]] for (int cx = 0; cx < TILE; cx++)
            if (oy0 + cy < outH && ox0 + cx < outW)
                storeY(corner + (cy * outW + cx) * quads, clamp(r[cx] + b, lo, hi));
    }
}
