// Scores as keys (order.glsl), which have the same order: nnNone stands for no score, and for a NaN.
#ifndef NNGPU_SCORES
#define NNGPU_SCORES

#define ELEM_F32
#include "order.glsl"

const int nnNone = int(0x80000000);

ivec4 scoreKeys(ivec4 q) {
    ivec4 keys = keysOf(q);
    return mix(keys, ivec4(nnNone), equal(keys, ivec4(nnUnordered)));
}

#endif
