// What becomes of a quad of results: y[at], after r[at] is added if the push constant `added` says so. The bits are those of ADD
// behind the product. The including shader declares r, `added` and, for floats, lo and hi.
#ifdef ELEM_Q8
#include "fixedpoint.glsl"

// v are results of the product as they would be stored. What the ADD needs begins at channel[added], the push constants of
// binary.comp from `off` on; 0: nothing is added.
uint finished(ivec4 v, int at) {
    if (added == 0) return packBytes(v);
    ivec4 a = channel[added], b = channel[added + 1], c = channel[added + 2]; // off, negate, zeroA, zeroB; zeroZ, lo, hi, m0; m1, m2, s0, s1
    ivec4 x = rescale((v - a.z) << 20, b.w, c.z);
    ivec4 y = rescale((unpackQuad8(r[at], uint(a.x)) - a.w) << 20, c.x, c.w);
    v = rescale(x + y, c.y, channel[added + 3].x);
    return packBytes(clamp(v, b.y, b.z) + b.x);
}
#else
// v are sums, bias included, which are rounded to the type of y before something is added.
QUAD finished(vec4 v, int at) {
    if (added == 0) return packQuad(clamp(v, lo, hi));
    return packQuad(bound(unpackQuad(packQuad(v)) + unpackQuad(r[at]), lo, hi));
}
#endif
