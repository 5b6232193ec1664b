#version 450
// One invocation computes one quad of the results of a program: up to 16 elementwise operations, each on values that were
// read or computed by earlier operations. For small tensors, where a dispatch costs more than the work; intermediate
// values then need no memory. The variant defines the element type of all tensors (tensor.glsl).
//
// value    | is
// 0 to 8   | a quad of an operand, see forms; unused ones are bound to any tensor, and one quad of it is read
// 9 to 14  | a number, in all lanes
// 15 to 30 | the result of an operation
//
// An operation is a word: its code in byte 0, and the numbers of the values that it takes in bytes 1 and 2.
// lower/program.go has the codes.
#include "common.glsl"
#include "tensor.glsl"
#include "math.glsl"
#include "divide.glsl"

layout(set = 0, binding = 0) readonly buffer A0 { QUAD a0[]; };
layout(set = 0, binding = 1) readonly buffer A1 { QUAD a1[]; };
layout(set = 0, binding = 2) readonly buffer A2 { QUAD a2[]; };
layout(set = 0, binding = 3) readonly buffer A3 { QUAD a3[]; };
layout(set = 0, binding = 4) readonly buffer A4 { QUAD a4[]; };
layout(set = 0, binding = 5) readonly buffer A5 { QUAD a5[]; };
layout(set = 0, binding = 6) readonly buffer A6 { QUAD a6[]; };
layout(set = 0, binding = 7) readonly buffer A7 { QUAD a7[]; };
layout(set = 0, binding = 8) readonly buffer A8 { QUAD a8[]; };
layout(set = 0, binding = 9) writeonly buffer Y { QUAD y[]; };
layout(set = 0, binding = 10) writeonly buffer Z { QUAD z[]; };
layout(push_constant) uniform P {
    uint count;    // quads of a result
    Divisor run;   // quads after which an operand repeats, or goes on
    uint rowQuads; // in a row
    uint c;        // elements in a row
    uint forms;    // three bits for each operand: 0 laid out as the result, 1 repeated every run quads, 2 one quad for
                   // every run quads, 3 a single quad; plus 4: its first element stands for all four
    uint head;     // number of steps in byte 1; which values are the first and second result in bytes 2 and 3
    uint steps[16];
    float numbers[6];
};

const uint NUMBERS = 9u, RESULTS = 15u;

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint within;
    uint above = divide(i, run, within);
    vec4 value[31];

    // Without branches and arrays, for which some drivers generate ten times as much code.
#define IS(k, form) (0u - uint((forms >> (3 * k) & 3u) == form))
#define LOAD(k, a) { \
    vec4 v = unpackQuad(a[(i & IS(k, 0u)) | (within & IS(k, 1u)) | (above & IS(k, 2u))]); \
    value[k] = (forms >> (3 * k) & 4u) == 0u ? v : v.xxxx; }
    LOAD(0, a0) LOAD(1, a1) LOAD(2, a2) LOAD(3, a3) LOAD(4, a4) LOAD(5, a5) LOAD(6, a6) LOAD(7, a7) LOAD(8, a8)
    [[unroll]] for (uint k = 0u; k < 6u; k++) value[NUMBERS + k] = vec4(numbers[k]);

    uint n = head >> 8 & 0xffu;
    uint k = 0u;
    do {
        uint step = steps[k];
        vec4 a = value[step >> 8 & 0x1fu];
        uint second = step >> 16 & 0x1fu;
        vec4 b = value[second];
        vec4 v;
        switch (step & 0xffu) {
        case 0u: v = a + b; break;
        case 1u: v = a - b; break;
        case 2u: v = a * b; break;
        case 3u: v = a / b; break;
        case 4u: v = max(a, b); break;
        case 5u: v = min(a, b); break;
        case 6u: { vec4 d = a - b; v = d * d; break; }
        case 7u: v = mix(a * b, a, greaterThanEqual(a, vec4(0.0))); break;
        case 8u: v = bound(a, b.x, value[second + 1u].x); break;
        case 9u: v = abs(a); break;
        case 10u: v = -a; break;
        case 11u: v = sqrt(a); break;
        case 12u: v = inversesqrt(a); break;
        case 13u: v = a * (clamp(a + 3.0, 0.0, 6.0) * (1.0 / 6.0)); break;
        default: // 14: e^a, 15: 1 / (1 + e^-a), 16: tanh(a); one copy of nnExp is most of the kernel
            uint f = step & 0xffu;
            vec4 e = nnExp(f == 14u ? a : f == 15u ? -a : 2.0 * min(abs(a), vec4(20.0)));
            v = f == 14u ? e : f == 15u ? 1.0 / (1.0 + e) : nnTanhOf(a, e);
        }
        value[RESULTS + k] = v;
    } while (++k < n);
    y[i] = packQuad(clearPadding(value[head >> 16 & 0x1fu], i, rowQuads, c));
    z[i] = packQuad(clearPadding(value[head >> 24 & 0x1fu], i, rowQuads, c));
}
