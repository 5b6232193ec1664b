package pack

import "math"

// winogradPairs are the points p at which F(m, 3) multiplies polynomials, each with -p and all of them with 0 and infinity;
// those of m = 4 are also in shaders/include/winograd.glsl. RATIONALE.md says why these.
var winogradPairs = map[int][]float64{2: {1}, 4: {math.Sqrt2 / 2, math.Sqrt2}}

// winogradFilter brings a filter of three taps g to points: their values there, each divided by the divisor of the
// interpolation, the product of the differences from all other points; at infinity the last tap. (G of Lavin and Gray,
// "Fast Algorithms for Convolutional Neural Networks", 2015.)
type winogradFilter struct {
	zero  float64      // factor of g[0] at 0
	pairs [][3]float64 // factors of g at p; at -p that of g[1] is negative
}

func newWinogradFilter(m int) *winogradFilter {
	f := &winogradFilter{zero: 1}
	for _, p := range winogradPairs[m] {
		f.zero /= -p * p
		share := 1 / (2 * p * p) // of the differences from 0 and -p
		for _, q := range winogradPairs[m] {
			if q != p {
				share /= p*p - q*q
			}
		}
		f.pairs = append(f.pairs, [3]float64{share, share * p, share * p * p})
	}
	return f
}

// points is the number of points.
func (f *winogradFilter) points() int { return 2 + 2*len(f.pairs) }

// at sets v to the values of g.
func (f *winogradFilter) at(v *[6]float64, g0, g1, g2 float64) {
	v[0] = f.zero * g0
	for i, p := range f.pairs {
		even, odd := p[0]*g0+p[2]*g2, p[1]*g1
		v[(1+2*i)%6], v[(2+2*i)%6] = even+odd, even-odd
	}
	v[(1+2*len(f.pairs))%6] = g2
}

// winogradBlock is the number of input channels that are transformed before anything is written: planes of points lie far
// apart, and powers of two, so that writing to each in turn would keep none in the cache.
const winogradBlock = 16

// WinogradTiles fills dst with the filter, whose taps are 3x3, transformed for tiles of m x m results, as
// [point][tile][k, padded to 4][n], zeroes in the padding: for each of (m+2)^2 points what FloatTiles makes of a filter of
// one tap; with `of` not 0, what BlockTiles does. Values are rounded once.
func (f *Filter) WinogradTiles(dst []byte, m, n, of int) {
	by := newWinogradFilter(m)
	points, tiles, terms := by.points(), (f.Out+n-1)/n, f.InQuads()*4
	if of > 0 {
		terms = f.BlockTerms(of)
	}
	plane, block := tiles*terms*n, winogradBlock*n
	done := make([]float32, points*points*block) // [point][k][n]
	taps := make([]float32, 9*winogradBlock)
	var columns [3][6]float64 // of a filter, at the points
	var row [6]float64
	for tile := range tiles {
		for k0 := 0; k0 < terms; k0 += winogradBlock {
			ks := max(min(winogradBlock, f.In-k0), 0)
			clear(done)
			for o := tile * n; o < min((tile+1)*n, f.Out); o++ {
				for t := range 9 {
					f.floats(taps[t*winogradBlock:][:ks], (o*9+t)*f.In+k0)
				}
				for k := range ks {
					at := func(t int) float64 { return float64(taps[t*winogradBlock+k]) }
					for x := range columns {
						by.at(&columns[x], at(x), at(3+x), at(6+x))
					}
					to := k*n + o%n
					if of > 0 {
						to = k&^3*n + 4*(o%n) + k&3
					}
					for i := range points {
						by.at(&row, columns[0][i], columns[1][i], columns[2][i])
						for _, v := range row[:points] {
							done[to] = float32(v)
							to += block
						}
					}
				}
			}
			for point := range points * points {
				putFloats(dst[4*(point*plane+(tile*terms+k0)*n):], done[point*block:][:min(winogradBlock, terms-k0)*n])
			}
		}
	}
}
