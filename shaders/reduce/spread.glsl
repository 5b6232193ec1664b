// Which columns an invocation takes. The variant defines LINE, the quads of 64 bytes.
#ifndef NNGPU_SPREAD
#define NNGPU_SPREAD

// A reordering of the numbers below n, or of those in whole blocks of 8 * LINE: eight neighbours, which a CPU computes at a time,
// get quads of eight lines of the cache, and whoever follows them the others of these lines. Walking down columns, each load
// then waits for eight lines at once, where quads side by side wait for one or two.
uint spread(uint at, uint n) {
    uint block = 8u * LINE;
    return (at | (block - 1u)) < n ? (at & ~(block - 1u)) + (at & 7u) * LINE + (at / 8u & (LINE - 1u)) : at;
}

#endif
