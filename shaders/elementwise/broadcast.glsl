// Where the operands of a broadcasting operation lie for quad i of the output.
//
// The variant defines BROADCAST:
//   0  both operands have the layout of the output.
//   1  The quads of the output form a grid of up to four dimensions, size0 the innermost; an operand has a
//      stride in quads for each, 0 where it is repeated.
//   2  Operand a has the layout of the output; operand b is repeated every size0 quads (a vector of
//      channels), or is one quad (strideB0 0).
// An operand with one element in a row that holds more is a splat: its lane 0 stands for all four.
// lower/elementwise.go merges dimensions where it can: a tensor combined with a scalar has one dimension,
// with a vector of channels two.
#ifndef NNGPU_BROADCAST
#define NNGPU_BROADCAST

#include "divide.glsl"

// BROADCAST_PUSH is the last push constants of a kernel, which also declares a uint flags: bit 0 operand a
// is a splat, bit 1 operand b. OPERAND_QUADS gives the quads of a and b (x and y) for quad i.
#if BROADCAST == 1
#define BROADCAST_PUSH \
    Divisor size0, size1, size2; \
    uint strideA0, strideA1, strideA2, strideA3; \
    uint strideB0, strideB1, strideB2, strideB3;

#define OPERAND_QUADS(i) operandQuads(i, size0, size1, size2, \
    uvec4(strideA0, strideA1, strideA2, strideA3), uvec4(strideB0, strideB1, strideB2, strideB3))
#define SPLAT_A(v) ((flags & 1u) != 0u ? (v).xxxx : (v))
#define SPLAT_B(v) ((flags & 2u) != 0u ? (v).xxxx : (v))

uvec2 operandQuads(uint i, Divisor size0, Divisor size1, Divisor size2, uvec4 strideA, uvec4 strideB) {
    uint k0, k1, k2;
    uint k3 = divide(divide(divide(i, size0, k0), size1, k1), size2, k2);
    return uvec2(k0 * strideA.x + k1 * strideA.y + k2 * strideA.z + k3 * strideA.w,
                 k0 * strideB.x + k1 * strideB.y + k2 * strideB.z + k3 * strideB.w);
}
#elif BROADCAST == 2
#define BROADCAST_PUSH Divisor size0; uint strideB0;
#define OPERAND_QUADS(i) uvec2(i, (i - divide(i, size0) * size0.value) * strideB0)
#define SPLAT_A(v) (v)
#define SPLAT_B(v) ((flags & 2u) != 0u ? (v).xxxx : (v))
#else
#define BROADCAST_PUSH
#define OPERAND_QUADS(i) uvec2(i)
#define SPLAT_A(v) (v)
#define SPLAT_B(v) (v)
#endif

#endif
