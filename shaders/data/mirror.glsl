// Where the kernels of padding read.
#ifndef NNGPU_MIRROR
#define NNGPU_MIRROR

#ifdef MIRROR
#define EDGE edge
#else
#define EDGE 0u
#endif

// The position in x along a dimension of n elements, given the position in y minus the padding before it.
// Results from n on are outside. edge is 1 if the mirrored elements begin with the outermost
// (symmetric), 0 if they leave it out (reflect).
uint source(uint at, uint n, uint edge) {
#ifdef MIRROR
    int i = int(at);
    if (i < 0) i = -i - int(edge);
    if (i >= int(n)) i = 2 * int(n) - 2 + int(edge) - i;
    return uint(i);
#else
    return at;
#endif
}

#endif
