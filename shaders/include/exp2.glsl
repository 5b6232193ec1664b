// Exponentials of numbers that are not positive, for the sums and quotients of softmax.
#ifndef NNGPU_EXP2
#define NNGPU_EXP2

// 2^t for t <= 0, within 2.4e-7 of it; 0 below -126.5. NaN gives NaN.
vec4 nnExp2Down(vec4 t) {
    t = mix(t, vec4(-127.0), lessThan(t, vec4(-127.0)));
    vec4 n = floor(t + 0.5);
    vec4 f = t - n;
    vec4 p = vec4(1.327647245e-3);
    p = p * f + 9.675540961e-3;
    p = p * f + 5.550713092e-2;
    p = p * f + 0.2402212024;
    p = p * f + 0.693146944;
    p = p * f + 1.000000119;
    return p * intBitsToFloat((ivec4(n) + 127) * 0x800000);
}

#endif
