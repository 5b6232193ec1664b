// Quotients of softmax as bytes. The kernel's push constants are
//   float most   the largest byte minus the zero point
//   uint zeros   the zero point of bytes as unsigned numbers, four times in a word
//   uint flip    the bits that make four such bytes signed
#ifndef NNGPU_QUOTIENT
#define NNGPU_QUOTIENT

// Adding a number this large rounds non-negative numbers: the result is in the last bits of the sum.
uint quotients(vec4 q) { return (packQuad8(floatBitsToInt(min(q, vec4(most)) + 12582912.0)) + zeros) ^ flip; }

#endif
