// Exponentials of non-positive numbers, for the sums and quotients of softmax.
#ifndef NNGPU_EXP2
#define NNGPU_EXP2

// 2^t for t <= 0, within 1.9e-7 of it; 0 below -126.5. NaN gives NaN, and 0 gives 1: sums are multiplied by it again and again.
vec4 nnExp2Down(vec4 t) {
    t = mix(t, vec4(-127.0), lessThan(t, vec4(-127.0)));
    vec4 n = floor(t + 0.5);
    vec4 f = t - n;
    vec4 p = vec4(1.326477504e-3);
    p = p * f + 9.671515785e-3;
    p = p * f + 5.550733581e-2;
    p = p * f + 0.2402224243;
    p = p * f + 0.6931470037;
    p = p * f + 1.0;
    return p * intBitsToFloat((ivec4(n) + 127) * 0x800000);
}

// The same within 2.9e-6, for results of 8 bits. NaN gives anything.
vec4 nnExp2Rough(vec4 t) {
    t = max(t, vec4(-127.0));
    vec4 n = floor(t + 0.5);
    vec4 f = t - n;
    vec4 p = vec4(9.582857601e-3);
    p = p * f + 5.590645224e-2;
    p = p * f + 0.2402409911;
    p = p * f + 0.6931241751;
    p = p * f + 1.0;
    return intBitsToFloat(floatBitsToInt(p) + ivec4(n) * 0x800000);
}

#endif
