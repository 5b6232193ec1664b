// The functions of math.glsl for one width: F, I, U, B are float, int, uint, bool or their vectors of 4.
// Included by math.glsl only.

// 2^n for -126 <= n <= 127. A product, since SwiftShader shifts each lane by itself; other compilers make a shift of it.
F nnExp2Int(I n) { return intBitsToFloat((n + 127) * 0x800000); }

// y * 2^n for -252 <= n <= 254.
F nnScale(F y, I n) {
    I first = I(F(n) * 0.5);
    return y * nnExp2Int(first) * nnExp2Int(n - first);
}

// Splits x = n ln 2 + r with |r| <= 0.35.
// ln 2 is cut in two so that n times the first part is exact.
F nnReduceExp(F x, out I n) {
    precise F k = floor(x * 1.44269504 + 0.5);
    precise F r = (x - k * 0.693359375) - k * -2.12194440e-4;
    n = I(k);
    return r;
}

// e^r - 1 - r for |r| <= 0.35.
F nnExpTail(F r) {
    F p = F(1.9875691500e-4);
    p = p * r + 1.3981999507e-3;
    p = p * r + 8.3334519073e-3;
    p = p * r + 4.1665795894e-2;
    p = p * r + 1.6666665459e-1;
    p = p * r + 5.0000001201e-1;
    return p * (r * r);
}

F nnExp(F x) {
    I n;
    F r = nnReduceExp(clamp(x, -105.0, 89.0), n);
    F y = nnScale((nnExpTail(r) + r) + 1.0, n);
    return mix(y, x, isnan(x));
}

F nnExpm1(F x) {
    I n;
    F r = nnReduceExp(clamp(x, -30.0, 0.0), n);
    F p = nnExp2Int(n);
    precise F y = p * (nnExpTail(r) + r) + (p - 1.0);
    return mix(y, x, isnan(x));
}

// The exponent e and the mantissa m in [sqrt(1/2), sqrt(2)) of x = m 2^e > 0, finite.
F nnSplit(F x, out F e) {
    B tiny = LT(x, F(1.17549435e-38));
    U bits = floatBitsToUint(mix(x, x * 8388608.0, tiny));
    bits += 0x3f800000u - 0x3f3504f3u; // carries into the exponent from sqrt(1/2) on
    e = F(I(bits >> 23) - 127) - mix(F(0.0), F(23.0), tiny);
    return uintBitsToFloat((bits & 0x007fffffu) + 0x3f3504f3u);
}

F nnLog(F x) {
    F e;
    F f = nnSplit(x, e) - 1.0;
    F p = F(7.0376836292e-2);
    p = p * f - 1.1514610310e-1;
    p = p * f + 1.1676998740e-1;
    p = p * f - 1.2420140846e-1;
    p = p * f + 1.4249322787e-1;
    p = p * f - 1.6668057665e-1;
    p = p * f + 2.0000714765e-1;
    p = p * f - 2.4999993993e-1;
    p = p * f + 3.3333331174e-1;
    F z = f * f;
    precise F y = ((p * f * z + e * -2.12194440e-4) - 0.5 * z) + f;
    y += e * 0.693359375;
    y = mix(y, F(-nnInf), EQ(x, F(0.0)));
    y = mix(y, F(nnNaN), LT(x, F(0.0)));
    return mix(y, x, B(U(isnan(x)) | U(EQ(x, F(nnInf)))));
}

// a * b as a sum of two floats (Dekker); low is the rounding error of the returned product.
F nnTwoProduct(F a, F b, out F low) {
    F ah = uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u);
    F bh = uintBitsToFloat(floatBitsToUint(b) & 0xfffff000u);
    precise F al = a - ah;
    precise F bl = b - bh;
    precise F p = a * b;
    precise F err = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
    low = err;
    return p;
}

// x^y as exp2(y log2 |x|), the logarithm in two floats: with s = (m - 1) / (m + 1),
// log2 m = 2 / ln 2 (s + s^3 / 3 + s^5 / 5 + ...).
F nnPow(F x, F y0) {
    F y = clamp(y0, -3.4e38, 3.4e38);
    F a = abs(x);
    F e;
    F m = nnSplit(a, e);
    precise F f = m - 1.0;
    precise F g = m + 1.0; // off by gl
    precise F gl = m - (g - 1.0);
    precise F s = f / g;
    F pl;
    F ph = nnTwoProduct(s, g, pl);
    precise F sl = (((f - ph) - pl) - s * gl) / g;
    // 2 / ln 2 in two floats
    const float c = 2.88539004, cl = 3.85192607e-8;
    F tl;
    precise F t = nnTwoProduct(s, F(c), tl);
    F z = s * s;
    F q = F(0.262308189);
    q = q * z + 0.320598898;
    q = q * z + 0.412198583;
    q = q * z + 0.577078016;
    q = q * z + 0.961796694;
    precise F low = (tl + s * cl) + sl * c + (s * z) * q;
    // log2 |x| = e + t + low as hi + lo
    precise F es = e + t;
    precise F el = t - (es - e);
    el = mix(el, F(0.0), EQ(e, F(0.0)));
    precise F hi = es + (el + low);
    precise F lo = (el + low) - (hi - es);
    // y times that; beyond +-200 the result is infinite or 0 whatever follows
    precise F p = y * hi;
    F yl;
    precise F yp = nnTwoProduct(mix(y, F(0.0), GT(abs(y), F(1e30))), hi, yl);
    yl += y * lo;
    F k = floor(clamp(p, -200.0, 200.0) + 0.5);
    precise F r = (yp - k) + yl;
    r = clamp(r, -1.0, 1.0);
    F w = F(1.535336188e-4);
    w = w * r + 1.339887440e-3;
    w = w * r + 9.618437358e-3;
    w = w * r + 5.550332472e-2;
    w = w * r + 2.402264791e-1;
    w = w * r + 6.931472029e-1;
    F v = nnScale(w * r + 1.0, I(k));
    v = mix(v, F(0.0), LT(p, F(-160.0)));
    v = mix(v, F(nnInf), GT(p, F(160.0)));
    // 0 and infinity, whose logarithm is no number above
    B big = EQ(a, F(nnInf));
    B nil = EQ(a, F(0.0));
    B up = GT(y, F(0.0));
    v = mix(v, mix(F(0.0), F(nnInf), up), big);
    v = mix(v, mix(F(nnInf), F(0.0), up), nil);
    // the sign of a negative base
    F even = floor(y * 0.5) * 2.0;
    B whole = B(U(EQ(floor(y), y)) | U(big));
    B negative = LT(x, F(0.0));
    F odd = mix(F(1.0), F(-1.0), EQ(y - even, F(1.0)));
    v = mix(v, mix(F(nnNaN), v * odd, whole), negative);
    v = mix(v, x + y0, B(U(isnan(x)) | U(isnan(y0))));
    return mix(v, F(1.0), B(U(EQ(y, F(0.0))) | U(EQ(x, F(1.0)))));
}

// Quadrant k and remainder r of x = k pi/2 + r, |r| <= pi/4: pi/2 as three floats, the products exact.
F nnSin(F x) {
    precise F k = floor(x * 0.636619772 + 0.5);
    k = clamp(k, -4194304.0, 4194304.0);
    F l1, l2;
    precise F h1 = nnTwoProduct(k, F(1.57079637), l1);
    precise F h2 = nnTwoProduct(k, F(-4.37113883e-8), l2);
    precise F r = (x - h1) + ((-h2 - l1) - l2 - k * -1.71512451e-15);
    // k may be off by one, because x 2/pi was rounded.
    precise F k2 = floor(r * 0.636619772 + 0.5);
    r = (r - k2 * 1.57079637) - k2 * -4.37113883e-8;
    r = clamp(r, -0.8, 0.8);
    F z = r * r;
    F s = -1.9515295891e-4 * z + 8.3321608736e-3;
    s = s * z - 1.6666654611e-1;
    s = s * z * r + r;
    F c = 2.443315711809948e-5 * z - 1.388731625493765e-3;
    c = c * z + 4.166664568298827e-2;
    c = c * z * z - 0.5 * z + 1.0;
    I n = I(k) + I(clamp(k2, -4.0, 4.0));
    F v = mix(s, c, EQ(n & 1, I(1)));
    v = clamp(mix(v, -v, EQ(n & 2, I(2))), -1.0, 1.0);
    return mix(v, F(nnNaN), B(U(isnan(x)) | U(isinf(x))));
}

// tanh(x), where e is nnExp(2 min(|x|, 20)).
F nnTanhOf(F x, F e) {
    F z = x * x;
    F p = F(-5.70498872745e-3);
    p = p * z + 2.06390887954e-2;
    p = p * z - 5.37397155531e-2;
    p = p * z + 1.33314422036e-1;
    p = p * z - 3.33332819422e-1;
    F small = p * z * x + x;
    F large = 1.0 - 2.0 / (e + 1.0);
    large = mix(large, -large, LT(x, F(0.0)));
    F v = mix(large, small, LT(abs(x), F(0.625)));
    return mix(v, x, isnan(x));
}

F nnTanh(F x) { return nnTanhOf(x, nnExp(2.0 * min(abs(x), F(20.0)))); }

F nnLogistic(F x) {
    return 1.0 / (1.0 + nnExp(-x));
}
