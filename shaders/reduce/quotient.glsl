// Quotients of softmax as bytes. The kernel's push constants are
//   float most   the largest byte less the zero point
//   uint zeros   four times the zero point, of bytes as unsigned numbers
//   uint flip    the bits that make four of these signed ones
#ifndef NNGPU_QUOTIENT
#define NNGPU_QUOTIENT

// Numbers that are not negative are rounded by what lies in the last bits of their sum with one this large.
uint quotients(vec4 q) { return (packQuad8(floatBitsToInt(min(q, vec4(most)) + 12582912.0)) + zeros) ^ flip; }

#endif
