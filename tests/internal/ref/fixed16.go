package ref

// fixed16 is gemmlowp's FixedPoint<int16_t, n>: raw / 2^(15-n).
type fixed16 struct {
	raw int64
	n   int
}

// constant16 is a constant that gemmlowp has for 32 bits.
func constant16(raw32 int64, n int) fixed16 { return fixed16{min(roundingShift(raw32, 16), 32767), n} }

// times is SaturatingRoundingDoublingHighMul; integer bits add up.
func (a fixed16) times(b fixed16) fixed16 {
	return fixed16{doublingHighMul16(a.raw, b.raw), a.n + b.n}
}

func (a fixed16) plus(b fixed16) fixed16 { return fixed16{saturate16(a.raw + b.raw), a.n} }

// byPower is SaturatingRoundingMultiplyByPOT.
func (a fixed16) byPower(e int) fixed16 {
	if e < 0 {
		return fixed16{roundingShift(a.raw, -e), a.n}
	}
	return fixed16{saturate16(a.raw << e), a.n}
}

// rescale is the same number with n integer bits.
func (a fixed16) rescale(n int) fixed16 { return fixed16{a.byPower(a.n - n).raw, n} }

// one16 is 1, or the number nearest to it.
func one16(n int) fixed16 { return fixed16{min(int64(1)<<(15-n), 32767), n} }

// expNegative is exp_on_negative_values.
func expNegative(a fixed16) fixed16 {
	if a.raw == 0 {
		return one16(0)
	}
	fraction := 15 - a.n
	quarter := int64(1) << (fraction - 2)
	within := a.raw&(quarter-1) - quarter
	// A polynomial around -1/8.
	x := fixed16{within, a.n}.rescale(0).plus(fixed16{1 << 12, 0})
	x2 := x.times(x)
	sum := x2.times(x2).byPower(-2).plus(x2.times(x)).times(constant16(715827883, 0)).plus(x2).byPower(-1)
	term := constant16(1895147668, 0)
	y := term.plus(term.times(x.plus(sum)))
	rest := within - a.raw
	for i, raw := range []int64{1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242} {
		if k := i - 2; a.n > k && rest>>(fraction+k)&1 != 0 {
			y = y.times(constant16(raw, 0))
		}
	}
	if a.n > 5 && a.raw < constant16(-(1<<(36-a.n)), a.n).raw {
		return fixed16{0, 0}
	}
	return y
}

// newton is 2 / (1 + a), a in [0, 1], with two integer bits.
func newton(a fixed16) fixed16 {
	half := fixed16{(a.raw + 32767 + 1) / 2, 0}
	x := constant16(1515870810, 2).plus(half.times(constant16(-1010580540, 2)))
	for range 3 {
		rest := fixed16{one16(2).raw - half.times(x).raw, 2}
		x = x.plus(x.times(rest).rescale(2))
	}
	return x
}

// sigmoid is gemmlowp::logistic.
func (a fixed16) sigmoid() fixed16 {
	if a.raw == 0 {
		return fixed16{1 << 14, 0}
	}
	positive := fixed16{newton(expNegative(fixed16{-max(a.raw, -a.raw), a.n})).raw, 1}.rescale(0)
	if a.raw > 0 {
		return positive
	}
	return fixed16{one16(0).raw - positive.raw, 0}
}

// tanh is gemmlowp::tanh.
func (a fixed16) tanh() fixed16 {
	x := newton(expNegative(fixed16{-max(a.raw, -a.raw), a.n + 1}))
	y := fixed16{x.raw - one16(2).raw, 2}.rescale(0)
	switch {
	case a.raw == 0:
		y.raw = 0
	case a.raw < 0:
		y.raw = -y.raw
	}
	return y
}
