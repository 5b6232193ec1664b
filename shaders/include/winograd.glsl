// Winograd's minimal filtering F(TILE, 3): TILE neighbouring results of a filter of three taps by T = TILE + 2 products
// instead of 3 TILE. Input and filter are polynomials, multiplied by their values at T points, one of them infinity;
// here are the transforms of the input, of the filter and of the products (B', G and A' of Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015). Filters that are constants go through pack.Filter.WinogradTiles, with the same points.
//
// TILE | points
// 2    | 0, 1, -1, infinity
// 4    | 0, ALPHA, -ALPHA, BETA, -BETA, infinity
#ifndef NNGPU_WINOGRAD
#define NNGPU_WINOGRAD

const int T = TILE + 2;

#if TILE == 4
// Not 1 and 2: see pack.winogradPairs. Their squares are 1/2 and 2.
const float ALPHA = 0.70710678118654752, BETA = 1.41421356237309505;
#endif

// Input at the points.
vec4[T] toPoints(vec4 d[T]) {
    vec4 v[T];
#if TILE == 2
    v[0] = d[2] - d[0];
    v[1] = d[2] + d[1];
    v[2] = d[2] - d[1];
    v[3] = d[3] - d[1];
#else
    vec4 a = d[4] - 2.0 * d[2], ax = ALPHA * (d[3] - 2.0 * d[1]);
    vec4 b = d[4] - 0.5 * d[2], bx = BETA * (d[3] - 0.5 * d[1]);
    v[0] = (d[4] - 2.5 * d[2]) + d[0];
    v[1] = a + ax;
    v[2] = a - ax;
    v[3] = b + bx;
    v[4] = b - bx;
    v[5] = (d[5] - 2.5 * d[3]) + d[1];
#endif
    return v;
}

// Three taps of the filter at the points, each divided by the product of its differences from all others.
vec4[T] filterToPoints(vec4 g[3]) {
    vec4 v[T];
#if TILE == 2
    vec4 even = 0.5 * (g[0] + g[2]), odd = 0.5 * g[1];
    v[0] = -g[0];
    v[1] = even + odd;
    v[2] = even - odd;
    v[3] = g[2];
#else
    vec4 a = (-1.0 / 3.0) * (2.0 * g[0] + g[2]), ax = (-2.0 / 3.0 * ALPHA) * g[1];
    vec4 b = (1.0 / 6.0) * (g[0] + 2.0 * g[2]), bx = (1.0 / 6.0 * BETA) * g[1];
    v[0] = g[0];
    v[1] = a + ax;
    v[2] = a - ax;
    v[3] = b + bx;
    v[4] = b - bx;
    v[5] = g[2];
#endif
    return v;
}

// Results of products at the points.
vec4[TILE] fromPoints(vec4 m[T]) {
    vec4 y[TILE];
#if TILE == 2
    y[0] = m[0] + (m[1] + m[2]);
    y[1] = (m[1] - m[2]) + m[3];
#else
    vec4 a = m[1] + m[2], ax = m[1] - m[2], b = m[3] + m[4], bx = m[3] - m[4];
    y[0] = m[0] + (a + b);
    y[1] = ALPHA * ax + BETA * bx;
    y[2] = 0.5 * a + 2.0 * b;
    y[3] = (0.5 * ALPHA * ax + 2.0 * BETA * bx) + m[5];
#endif
    return y;
}

#endif
