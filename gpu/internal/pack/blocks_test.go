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

// floatFilter is a filter of random floats.
func floatFilter(r *rand.Rand, kH, kW, ci, co int) *Filter {
	f := packCase{nn.TensorFloat32, nn.TensorFloat32, kH, kW, ci, co}.filter(r)
	for i := range len(f.W.Const) / 4 {
		binary.LittleEndian.PutUint32(f.W.Const[4*i:], math.Float32bits(float32(r.NormFloat64())))
	}
	return f
}

// TestBlockTiles: each element lies in the block of its tile, tap and terms, with the other terms of its quad beside it, and
// everything else is zero.
func TestBlockTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, tc := range []struct{ kH, kW, ci, co, of, n, first int }{
		{1, 1, 1, 1, 8, 32, 0}, {1, 1, 8, 32, 8, 32, 0}, {1, 1, 9, 33, 8, 32, 0}, {3, 2, 13, 67, 8, 32, 0}, {3, 3, 4, 70, 8, 32, 1}, {2, 1, 17, 35, 16, 16, 2},
		{1, 2, 131, 33, 8, 32, 0}, {1, 1, 259, 9, 8, 32, 0},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			f := floatFilter(r, tc.kH, tc.kW, tc.ci, tc.co)
			w, tiles := Floats(f.W), (tc.co+tc.n-1)/tc.n
			steps, block := (tc.ci+tc.of-1)/tc.of, tc.of*tc.n
			got := filled(4*(tiles-tc.first)*f.Taps*steps*block, func(dst []byte) { f.BlockTiles(dst, tc.of, tc.n, tc.first, tiles) })
			for at, v := range floatsIn(got) {
				place, in := at/block, at%block
				k := place%steps*tc.of + in/(4*tc.n)*4 + in%4
				tap, tile := place/steps%f.Taps, place/steps/f.Taps+tc.first
				o, want := tile*tc.n+in%(4*tc.n)/4, float32(0)
				if o < tc.co && k < tc.ci {
					want = w[(o*f.Taps+tap)*tc.ci+k]
				}
				require.Equal(t, want, v, "element %d", at)
			}
		})
	}
}

// TestWinogradBlocks: at each point, blocks of what TestWinogradTiles finds in tiles.
func TestWinogradBlocks(t *testing.T) {
	const n, of = 32, 8
	r := rand.New(rand.NewPCG(7, 8))
	for _, m := range []int{2, 4} {
		for _, ch := range [][2]int{{1, 1}, {7, 32}, {20, 35}, {37, 64}} {
			t.Run(fmt.Sprint(m, ch), func(t *testing.T) {
				f := floatFilter(r, 3, 3, ch[0], ch[1])
				count, k4, terms := (ch[1]+n-1)/n, f.InQuads()*4, f.BlockTerms(of)
				floats := func(terms, of int) []float32 {
					return floatsIn(filled(4*(m+2)*(m+2)*count*terms*n, func(dst []byte) { f.WinogradTiles(dst, m, n, of) }))
				}
				tiles := floats(k4, 0)
				for at, v := range floats(terms, of) {
					place, in := at/(terms*n), at%(terms*n)
					k, lane, want := in/(4*n)*4+in%4, in%(4*n)/4, float32(0)
					if k < k4 {
						want = tiles[(place*k4+k)*n+lane]
					}
					require.Equal(t, want, v, "element %d", at)
				}
			})
		}
	}
}
