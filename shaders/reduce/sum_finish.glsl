#ifdef FROM_Q8
// The bits of a word of x to invert for add.
uint flipped() { return (off * 0x01010101u) ^ 0x80000000u; }
#endif

// finish turns a complete sum into a quad of y: quad q of a row of `quads` quads and c elements.
TO finish(SUM sum, uint q, uint quads, uint c) {
#if defined(TO_I32)
    uint used = c & 3u;
    if (used != 0u && q == quads - 1u) sum *= ivec4(lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(used)));
    return sum;
#elif defined(TO_Q8)
    return packQuad8(clamp(requantize4(sum - bias, multiplier, leftShift, rightShift) + zero, low, high));
#else
    vec4 v = clearPadding(clamp(sum * factor, low, high), q, quads, c);
#ifdef TO_F16
    return packHalf4(v);
#else
    return v;
#endif
#endif
}
