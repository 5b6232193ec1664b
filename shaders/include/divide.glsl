// Division of an index by a number that is the same for the whole dispatch, done by multiplication: integer
// division is the slowest instruction on the CPU implementations.
//
// Granlund and Montgomery, "Division by invariant integers using multiplication" (1994), figure 4.1, for
// n < 2^31, where the sum cannot overflow. emit/push.go makes the numbers.
#ifndef NNGPU_DIVIDE
#define NNGPU_DIVIDE

struct Divisor {
    uint value;
    uint multiplier;
    uint shift;
};

uint divide(uint n, Divisor d) {
    uint high, low;
    umulExtended(n, d.multiplier, high, low);
    return (high + n) >> d.shift;
}

// Splits n into quotient (returned) and remainder.
uint divide(uint n, Divisor d, out uint remainder) {
    uint q = divide(n, d);
    remainder = n - q * d.value;
    return q;
}

#endif
