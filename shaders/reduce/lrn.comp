#version 450
// Local response normalisation: x * (bias + alpha s)^-beta, where s is the sum of the squares of the elements within
// radius along one dimension. One invocation computes a quad of the output.
//
//   COLUMN  along a dimension that is not the innermost, in which the quad's elements lie side by side
#include "common.glsl"
#include "tensor.glsl"
#include "math.glsl"
#include "divide.glsl"

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { QUAD y[]; };
layout(push_constant) uniform P {
    uint count;
    Divisor inner;   // quads from one element of the dimension to the next (COLUMN), or of a row
    Divisor n;       // elements of the dimension; 1 without COLUMN
    uint radius;     // at most the elements of the dimension
    uint quads;      // of a row
    uint c;          // elements of a row
    float bias;
    float alpha;
    float beta;
};

vec4 square(uint i) {
    vec4 v = unpackQuad(x[i]);
    return v * v;
}

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint at;
    uint line = divide(i, inner, at);
    vec4 sum = vec4(0.0);
#ifdef COLUMN
    uint k;
    divide(line, n, k);
    uint first = k - min(k, radius);
    uint last = min(k + radius, n.value - 1u);
    for (uint e = first; e <= last; e++) sum += square(i - (k - e) * inner.value);
#else
    // Padding holds zeros.
    uint first = 4u * at - min(4u * at, radius);
    uint last = min(4u * at + 3u + radius, c - 1u);
    for (uint q = first / 4u; q <= last / 4u; q++) {
        vec4 v = square(i - at + q);
        // Distances of the elements of v from the first of the quad.
        ivec4 d = int(4u * q) - int(4u * at) + ivec4(0, 1, 2, 3);
        [[unroll]] for (int k = 0; k < 4; k++) {
            vec4 near = mix(vec4(0.0), v, lessThanEqual(abs(d - k), ivec4(radius)));
            sum[k] += (near.x + near.y) + (near.z + near.w);
        }
    }
#endif
    vec4 v = unpackQuad(x[i]) * nnPow(bias + alpha * sum, vec4(-beta));
    y[i] = packQuad(clearPadding(v, i, quads, c));
}
