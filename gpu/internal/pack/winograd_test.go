package pack

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

// TestWinogradTiles: what lies where is the filter, as a polynomial in two variables, at the two points of its place,
// divided by what interpolation divides by there; the padding is zero.
func TestWinogradTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, m := range []int{2, 4} {
		for _, ch := range [][2]int{{1, 1}, {3, 8}, {4, 9}, {7, 16}, {6, 35}} {
			for _, n := range []int{8, 16} {
				t.Run(fmt.Sprint(m, ch, n), func(t *testing.T) {
					f := packCase{nn.TensorFloat32, nn.TensorFloat32, 3, 3, ch[0], ch[1]}.filter(r)
					for i := range len(f.W.Const) / 4 {
						binary.LittleEndian.PutUint32(f.W.Const[4*i:], math.Float32bits(float32(r.NormFloat64())))
					}
					w := Floats(f.W)
					points := map[int][]float64{2: {0, 1, -1}, 4: {0, math.Sqrt(0.5), -math.Sqrt(0.5), math.Sqrt2, -math.Sqrt2}}[m]
					k4, tiles := f.InQuads()*4, (f.Out+n-1)/n
					plane := tiles * k4 * n
					got := floatsIn(filled(4*(m+2)*(m+2)*plane, func(dst []byte) { f.WinogradTiles(dst, m, n, 0) }))
					// powers of point i times its share of the interpolation
					powers := func(i int) (row [3]float64) {
						if i == len(points) {
							return [3]float64{0, 0, 1}
						}
						share := 1.0
						for k, q := range points {
							if k != i {
								share /= points[i] - q
							}
						}
						return [3]float64{share, share * points[i], share * points[i] * points[i]}
					}
					for at, v := range got {
						point, rest := at/plane, at%plane
						tile, k, lane := rest/(k4*n), rest/n%k4, rest%n
						o := tile*n + lane
						if o >= f.Out || k >= f.In {
							require.Zero(t, v)
							continue
						}
						py, px := powers(point/(m+2)), powers(point%(m+2))
						want := 0.0
						for y := range 3 {
							for x := range 3 {
								want += py[y] * px[x] * float64(w[(o*9+y*3+x)*f.In+k])
							}
						}
						require.InDelta(t, want, float64(v), 1e-6*(1+math.Abs(want)))
					}
				})
			}
		}
	}
}
