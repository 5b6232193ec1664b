#version 450
// One invocation computes one quad of y = f(x); x and y have the same layout.
//
// The variant defines the element type (tensor.glsl) and one of OP_clamp, OP_elu, OP_hardswish, OP_tanh,
// OP_logistic, OP_abs, OP_neg, OP_exp, OP_log, OP_sqrt, OP_rsqrt, OP_sin, OP_floor.
#include "common.glsl"
#include "tensor.glsl"
#include "math.glsl"

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;    // quads
    uint rowQuads; // in a row
    uint c;        // elements in a row
    float a;       // clamp: lower bound. elu: alpha
    float b;       // clamp: upper bound
};

VALUE f(VALUE v) {
#if defined(OP_clamp)
    return bound(v, a, b);
#elif defined(OP_elu)
    return mix(a * nnExpm1(v), v, greaterThan(v, vec4(0.0)));
#elif defined(OP_hardswish)
    return v * (clamp(v + 3.0, 0.0, 6.0) * (1.0 / 6.0));
#elif defined(OP_tanh)
    return nnTanh(v);
#elif defined(OP_logistic)
    return nnLogistic(v);
#elif defined(OP_abs)
    return abs(v);
#elif defined(OP_neg)
    return -v;
#elif defined(OP_exp)
    return nnExp(v);
#elif defined(OP_log)
    return nnLog(v);
#elif defined(OP_sqrt)
    return sqrt(v);
#elif defined(OP_rsqrt)
    return inversesqrt(v);
#elif defined(OP_sin)
    return nnSin(v);
#elif defined(OP_floor)
    return floor(v);
#endif
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    VALUE v = f(unpackQuad(x[i]));
    // Padding lanes of x are zero, and most functions keep zero.
#if defined(OP_logistic) || defined(OP_exp) || defined(OP_log) || defined(OP_rsqrt)
    v = clearPadding(v, i, rowQuads, c);
#endif
    y[i] = packQuad(v);
}
