// Sums of products of signed bytes, four of a word at a time.
#ifndef NNGPU_PRODUCT8
#define NNGPU_PRODUCT8

ivec4 signedBytes(uint word) { return ivec4(int(word << 24) >> 24, int(word << 16) >> 24, int(word << 8) >> 24, int(word) >> 24); }

// Bytes minus their zero point; those behind the first `left` are padding and count as 0.
ivec4 centred(uint word, int zero, uint left) {
    return mix(ivec4(0), signedBytes(word) - zero, lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(left)));
}

int product(ivec4 v, uint weights) {
    ivec4 p = v * signedBytes(weights);
    return (p.x + p.y) + (p.z + p.w);
}

#endif
