#version 450
// The windows of a convolution of few channels, as rows of a matrix: if every pixel were padded to a quad, a quarter to three
// quarters of the products would be with zeroes. One invocation computes the same quad of up to `run` rows that follow each other:
// what it has to know of the elements takes longer to load than they do.
//
// TEXEL: 1: x is a texel buffer, of at least two channels, so that four elements are of two pixels at most; 0: a storage buffer
//
// x: float32 (ELEM_F32) or 8-bit (ELEM_Q8), a quad for each pixel. y: [pixel of the output][quads of taps x channels]; what is
// outside of the image and in the padding of the last quad is zero or, of 8 bits, the zero point.
#include "common.glsl"
#include "tensor.glsl"
#include "window.glsl"

#if TEXEL && defined(ELEM_Q8)
layout(set = 0, binding = 0) uniform usamplerBuffer x;
#elif TEXEL
layout(set = 0, binding = 0) uniform samplerBuffer x;
#elif defined(ELEM_Q8)
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
#else
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
#endif
// For each element of a row: row and column in the window, pixels from its corner, channel or, of 8 bits, what its byte is
// multiplied by to be the last one of its word. Padding elements have a row outside of every image.
layout(set = 0, binding = 1) readonly buffer E { ivec4 element[]; };
layout(set = 0, binding = 2) writeonly buffer Y { QUAD y[]; };

layout(push_constant) uniform P {
    uint count; // invocations
    int quads;  // of a row of y
    int rows, run;
    int first;  // pixel of this dispatch
    int inH, inW, outH, outW;
    int strideH, strideW, padTop, padLeft;
    uint zero;  // of 8 bits: the zero point of x
};

void main() {
    uint id = flatIndex();
    if (id >= count) return;
    int row = int(id) / quads;
    int quad = int(id) - row * quads;
    row *= run;
    ivec4 e[4] = ivec4[4](element[4 * quad], element[4 * quad + 1], element[4 * quad + 2], element[4 * quad + 3]);
    ivec3 origin = windowOrigin(first + row, outW, outH, inH, ivec2(strideH, strideW), ivec2(padTop, padLeft));
    ivec2 last = ivec2(outH - 1, outW - 1) * ivec2(strideH, strideW) - ivec2(padTop, padLeft);
    int end = min(row + run, rows);
    do {
        int corner = (origin.x + origin.y) * inW + origin.z;
        bool ok[4];
        int pixel[4];
        [[unroll]] for (int i = 0; i < 4; i++) {
            ok[i] = inside(origin.y + e[i].x, inH) && inside(origin.z + e[i].y, inW);
            pixel[i] = ok[i] ? corner + e[i].z : 0;
        }
#if TEXEL
        int other = ok[3] ? pixel[3] : ok[2] ? pixel[2] : pixel[1]; // of the second pixel, of which there may be no more elements
#endif
#ifdef ELEM_Q8
        uint v = 0u;
#if TEXEL
        uint a = texelFetch(x, pixel[0]).x, b = texelFetch(x, other).x;
#endif
#else
        vec4 v;
#if TEXEL
        vec4 a = texelFetch(x, pixel[0]), b = texelFetch(x, other);
#endif
#endif
        [[unroll]] for (int i = 0; i < 4; i++) {
#if TEXEL
            bool second = i == 3 || i != 0 && e[i].z != e[0].z;
#endif
#if defined(ELEM_Q8) && TEXEL
            uint byte = ((second ? b : a) * uint(e[i].w)) >> 24;
#elif defined(ELEM_Q8)
            uint byte = (x[pixel[i]] * uint(e[i].w)) >> 24;
#elif TEXEL
            vec4 q = second ? b : a;
            float f = e[i].w == 0 ? q.x : e[i].w == 1 ? q.y : q.z;
#else
            float f = x[4 * pixel[i] + (ok[i] ? e[i].w : 0)];
#endif
#ifdef ELEM_Q8
            v |= (ok[i] ? byte : zero) << 8 * i;
#else
            v[i] = ok[i] ? f : 0.0;
#endif
        }
        y[row * quads + quad] = v;
        origin.z += strideW;
        if (origin.z > last.y) {
            origin.yz = ivec2(origin.y + strideH, -padLeft);
            if (origin.y > last.x) origin.xy = ivec2(origin.x + inH, -padTop);
        }
    } while (++row < end);
}
