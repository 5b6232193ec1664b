// Which columns an invocation takes. The variant defines LINE, the quads of 64 bytes.
#ifndef NNGPU_SPREAD
#define NNGPU_SPREAD

// A reordering of the numbers below n, or of those in whole blocks of 8 * LINE: eight neighbours, which a CPU computes at a time,
// get quads from eight cache lines, and the invocations after them the other quads of these lines. Walking down columns, each
// load then waits for eight lines at once; quads side by side would wait for only one or two.
uint spread(uint at, uint n) {
    uint block = 8u * LINE;
    return (at | (block - 1u)) < n ? (at & ~(block - 1u)) + (at & 7u) * LINE + (at / 8u & (LINE - 1u)) : at;
}

#endif
