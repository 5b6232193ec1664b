package pack

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// packCase is a convolution with random constants.
type packCase struct {
	x, w   nn.OperandType
	kH, kW int
	ci, co int
}

func (p packCase) String() string {
	return fmt.Sprintf("%v by %v, %dx%d, %d to %d", p.x, p.w, p.kH, p.kW, p.ci, p.co)
}

// filter returns the convolution of p on an image of one window.
func (p packCase) filter(r *rand.Rand) *Filter {
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	zero := func(t nn.OperandType) int32 {
		switch t {
		case nn.TensorQuant8Asymm:
			return int32(r.IntN(256))
		case nn.TensorQuant8AsymmSigned:
			return int32(r.IntN(256)) - 128
		}
		return 0
	}
	x := ir.Tensor{Type: p.x, Shape: []int{1, p.kH, p.kW, p.ci}}
	w := ir.Tensor{Type: p.w, Shape: []int{p.co, p.kH, p.kW, p.ci}, Const: random(p.co * p.kH * p.kW * p.ci * p.w.Bytes())}
	bias := ir.Tensor{Type: nn.TensorInt32, Shape: []int{p.co}, Const: make([]byte, 4*p.co)}
	y := ir.Tensor{Type: p.x, Shape: []int{1, 1, 1, p.co}}
	if p.x.IsQuant8() {
		x.Scale, x.Zero, w.Scale, w.Zero, y.Scale = 0.5, zero(p.x), 0.25, zero(p.w), 16
		for i := range p.co {
			binary.LittleEndian.PutUint32(bias.Const[4*i:], uint32(int32(r.IntN(20001)-10000)))
		}
		if p.w == nn.TensorQuant8PerChannel {
			w.Scale, w.Zero, w.Channel = 0, 0, &nn.ChannelQuant{Scales: make([]float32, p.co)}
			for i := range w.Channel.Scales {
				w.Channel.Scales[i] = float32(math.Exp(r.Float64()*30 - 20))
			}
		}
	} else {
		bias.Type, bias.Const = p.x, make([]byte, p.co*p.x.Bytes())
	}
	return &Filter{X: &x, W: &w, Bias: &bias, Y: &y, Taps: p.kH * p.kW, In: p.ci, Out: p.co}
}

// element is the stored integer of byte b of an 8-bit type.
func element(t nn.OperandType, b byte) int {
	if t == nn.TensorQuant8Asymm {
		return int(b)
	}
	return int(int8(b))
}

// window is what a kernel reads of x: quads of bytes for each tap, with anything in the lanes behind the
// channels, and which taps lie inside of the image.
type window struct {
	taps   [][]byte
	inside []bool
}

func (f *Filter) randomWindow(r *rand.Rand) window {
	v := window{taps: make([][]byte, f.Taps), inside: make([]bool, f.Taps)}
	for t := range v.taps {
		v.inside[t] = r.IntN(3) > 0
		v.taps[t] = make([]byte, 4*f.InQuads())
		for k := range v.taps[t] {
			v.taps[t][k] = [3]byte{byte(r.Uint32()), 0, 255}[r.IntN(3)]
		}
	}
	return v
}

// plainSum is bias + sum (x - xz)(w - wz), computed from the tensors as they are stored.
func (f *Filter) plainSum(v window, o int) int {
	sum := int(int32(binary.LittleEndian.Uint32(f.Bias.Const[4*o:])))
	for t, bytes := range v.taps {
		if !v.inside[t] {
			continue // the zero point
		}
		for k := range f.In {
			x := element(f.X.Type, bytes[k]) - int(f.X.Zero)
			w := element(f.W.Type, f.W.Const[(o*f.Taps+t)*f.In+k])
			if f.W.Type.IsQuant8() {
				w -= int(f.W.Zero)
			}
			sum += x * w
		}
	}
	return sum
}

// unsigned is byte k of tap t as the kernels of gemm_q8.comp see it.
func (v window) unsigned(q *Quantized, t, k int) int {
	if !v.inside[t] {
		return q.XZero
	}
	return int(v.taps[t][k] ^ byte(q.Flip))
}

// dotSum follows the DOT form of shaders/conv/gemm_q8.comp for output channel o: words are those of tiles
// first and up.
func (f *Filter) dotSum(q *Quantized, v window, words []uint32, n, first, o int) int {
	tn4 := n / 4
	tn, lane := o/n-first, o%n
	wi := tn * f.Taps * f.InQuads() * tn4
	var acc, xsum int
	for t := range f.Taps {
		for quad := range f.InQuads() {
			word := words[4*(wi+lane/4)+lane%4]
			for k := range 4 {
				x := v.unsigned(q, t, 4*quad+k)
				acc += int(int8(word>>(8*k))) * x
				xsum += x
			}
			wi += tn4
		}
	}
	if f.W.Type.IsQuant8() {
		acc -= q.WZero * xsum
	}
	return acc
}

// floatSum follows the form without DOT, whose floats hold what these integers do as long as they are below 2^24; it returns
// the largest magnitude on the way, too.
func (f *Filter) floatSum(q *Quantized, v window, words []uint32, n, first, o int) (sum, largest int) {
	tn4 := n / 4
	tn, lane := o/n-first, o%n
	wi := tn * f.Taps * f.InQuads() * tn4
	for t := range f.Taps {
		for quad := range f.InQuads() {
			word := words[4*(wi+lane/4)+lane%4]
			for k := range 4 {
				sum += (int(int8(word>>(8*k))) - q.WZero) * v.unsigned(q, t, 4*quad+k)
				largest = max(largest, sum, -sum)
			}
			wi += tn4
		}
	}
	return sum, largest
}

var q8Cases = []packCase{
	{nn.TensorQuant8Asymm, nn.TensorQuant8Asymm, 1, 1, 4, 8},
	{nn.TensorQuant8Asymm, nn.TensorQuant8Asymm, 3, 3, 3, 5},
	{nn.TensorQuant8AsymmSigned, nn.TensorQuant8AsymmSigned, 2, 3, 13, 17},
	{nn.TensorQuant8AsymmSigned, nn.TensorQuant8AsymmSigned, 1, 1, 1, 1},
	{nn.TensorQuant8Asymm, nn.TensorQuant8PerChannel, 5, 1, 7, 33},
	{nn.TensorQuant8AsymmSigned, nn.TensorQuant8PerChannel, 1, 2, 130, 9},
}

// TestPackedFiltersGiveThePlainSum for random x, whatever the padding lanes of x hold and whichever taps lie
// outside.
func TestPackedFiltersGiveThePlainSum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, tc := range q8Cases {
		t.Run(tc.String(), func(t *testing.T) {
			for range 20 {
				f := tc.filter(r)
				q := Quantize(f)
				bias, bound := q.FoldZeroPoints()
				v := f.randomWindow(r)
				for _, n := range []int{8, 16} {
					tiles := (f.Out + n - 1) / n
					first := r.IntN(tiles) // a slab may start anywhere
					packed := filled(4*(tiles-first)*f.Taps*f.InQuads()*n, func(dst []byte) { q.WordTiles(dst, n, first, tiles) })
					words := make([]uint32, len(packed)/4)
					for i := range words {
						words[i] = binary.LittleEndian.Uint32(packed[4*i:])
					}
					for o := first * n; o < f.Out; o++ {
						want := f.plainSum(v, o)
						require.Equal(t, want, f.dotSum(q, v, words, n, first, o)+bias[o], "dot, channel %d", o)
						got, largest := f.floatSum(q, v, words, n, first, o)
						require.Equal(t, want, got+bias[o], "float, channel %d", o)
						require.LessOrEqual(t, largest, bound[o])
					}
				}
			}
		})
	}
}

// TestFloatTilesCoverEveryProduct: each weight once at the place where gemm_float.comp reads it, zero beside.
func TestFloatTilesCoverEveryProduct(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, tc := range []packCase{
		{nn.TensorFloat32, nn.TensorFloat32, 1, 1, 1, 1},
		{nn.TensorFloat32, nn.TensorFloat32, 3, 3, 3, 5},
		{nn.TensorFloat32, nn.TensorFloat32, 1, 5, 6, 33},
		{nn.TensorFloat32, nn.TensorFloat32, 1, 2, 257, 9},
		{nn.TensorFloat16, nn.TensorFloat16, 2, 2, 9, 16},
	} {
		t.Run(tc.String(), func(t *testing.T) {
			f := tc.filter(r)
			w := make([]float32, f.Out*f.Taps*f.In)
			for i := range w {
				if w[i] = float32(i + 1); tc.w == nn.TensorFloat16 {
					binary.LittleEndian.PutUint16(f.W.Const[2*i:], uint16(nn.HalfOf(w[i])))
				} else {
					binary.LittleEndian.PutUint32(f.W.Const[4*i:], math.Float32bits(w[i]))
				}
			}
			for _, n := range []int{8, 16} {
				tiles := (f.Out + n - 1) / n
				floats := func(first, last int) []float32 {
					return floatsIn(filled(4*(last-first)*f.Taps*f.InQuads()*4*n, func(dst []byte) { f.FloatTiles(dst, n, first, last) }))
				}
				var packed []float32
				for tile := range tiles { // slab by slab gives the same
					packed = append(packed, floats(tile, tile+1)...)
				}
				require.Equal(t, packed, floats(0, tiles))
				for i, got := range packed {
					lane, k := i%n, i/n%(4*f.InQuads())
					tap, tile := i/n/(4*f.InQuads())%f.Taps, i/n/(4*f.InQuads())/f.Taps
					want := float32(0)
					if o := tile*n + lane; o < f.Out && k < f.In {
						want = w[(o*f.Taps+tap)*f.In+k]
					}
					require.Equal(t, want, got, "element %d", i)
				}
			}
		})
	}
}

// TestChannels: the records hold what multipliers gives, quad by quad.
func TestChannels(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, tc := range q8Cases {
		t.Run(tc.String(), func(t *testing.T) {
			f := tc.filter(r)
			bias, _ := Quantize(f).FoldZeroPoints()
			multiplier, shifts := f.multipliers()
			quads := f.OutQuads() + 3 // tiles reach beyond the channels
			records := f.Channels(quads, bias)
			require.Len(t, records, quads*channelWords*4)
			at := func(o, k int) uint32 { return records[(o/4*channelWords+k)*4+o%4] }
			for o := range f.Out {
				require.Equal(t, uint32(int32(bias[o])), at(o, 0))
				require.Equal(t, uint32(multiplier[o]), at(o, 1))
				left, right := max(shifts[o], 0), max(-shifts[o], 0)
				require.Equal(t, uint32(1)<<left, at(o, 2))
				require.Equal(t, uint32(uint64(1)<<right/2), at(o, 3))
				require.Equal(t, uint32(right), at(o, 4))
			}
			for o := f.Out; o < 4*quads; o++ {
				for k := range channelWords {
					require.Zero(t, at(o, k))
				}
			}
		})
	}
}

// TestExactSumsIsTheLimitOfFloat32.
func TestExactSumsIsTheLimitOfFloat32(t *testing.T) {
	require.True(t, ExactSums(nil))
	require.True(t, ExactSums([]int{0, 1<<24 - 1}))
	require.False(t, ExactSums([]int{0, 1 << 24}))
}

// TestDepthwiseWeightsGiveThePlainSum, as depthwise.comp adds them up.
func TestDepthwiseWeightsGiveThePlainSum(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, tc := range []packCase{
		{nn.TensorQuant8Asymm, nn.TensorQuant8Asymm, 3, 3, 7, 1},
		{nn.TensorQuant8AsymmSigned, nn.TensorQuant8AsymmSigned, 5, 1, 4, 1},
		{nn.TensorQuant8Asymm, nn.TensorQuant8PerChannel, 1, 2, 9, 1},
	} {
		t.Run(tc.String(), func(t *testing.T) {
			// One filter [1, kH, kW, C] for C channels: a filter of C inputs and one output, read otherwise.
			f := tc.filter(r)
			f.Depthwise, f.Out = true, f.In
			bias := make([]byte, 4*f.Out)
			for i := range bias {
				bias[i] = byte(r.Uint32()) & 15
			}
			f.Bias = &ir.Tensor{Type: nn.TensorInt32, Shape: []int{f.Out}, Const: bias}
			q := Quantize(f)
			folded, bound := q.DepthwiseBounds()
			w := PadRows(q.DepthwiseFloats(), f.Taps, f.Out)
			require.Len(t, w, f.Taps*f.OutQuads()*4)
			v := f.randomWindow(r)
			for o := range f.Out {
				want := int(int32(binary.LittleEndian.Uint32(bias[4*o:])))
				got, limit := float64(folded[o]), 0
				for tap := range f.Taps {
					weight, x := w[tap*f.OutQuads()*4+o], q.XZero
					if v.inside[tap] {
						x = v.unsigned(q, tap, o)
					}
					word := int32(uint32(x) << (8 * (o % 4)))
					if o%4 == 3 {
						word ^= math.MinInt32
					}
					got += float64(float32(word) * weight)
					d := int(math.Ldexp(float64(weight), 8*(o%4)))
					limit += 255 * max(d, -d)
					if !v.inside[tap] {
						continue
					}
					x = element(f.X.Type, v.taps[tap][o]) - int(f.X.Zero)
					stored := element(f.W.Type, f.W.Const[tap*f.Out+o])
					if f.W.Type.IsQuant8() {
						stored -= int(f.W.Zero)
					}
					want += x * stored
				}
				require.InDelta(t, want, got, 0, "channel %d", o)
				require.Equal(t, limit, bound[o])
			}
		})
	}
}

// TestHalfTiles: the bits of the constants, where FloatTiles has their values.
func TestHalfTiles(t *testing.T) {
	p := packCase{nn.TensorFloat16, nn.TensorFloat16, 2, 3, 5, 19}
	f := p.filter(rand.New(rand.NewPCG(1, 2)))
	for i := range len(f.W.Const) / 2 { // finite
		f.W.Const[2*i+1] &^= 0x40
	}
	const n = 8
	tiles := (f.Out + n - 1) / n
	size := tiles * f.Taps * f.InQuads() * 4 * n
	halves := filled(2*size, func(dst []byte) { f.HalfTiles(dst, n, 0, tiles) })
	want := filled(4*size, func(dst []byte) { f.FloatTiles(dst, n, 0, tiles) })
	for i, v := range floatsIn(want) {
		require.Equal(t, v, nn.Half(binary.LittleEndian.Uint16(halves[2*i:])).Float32(), i)
	}
}
