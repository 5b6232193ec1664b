package pack

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// matrixFilter has the values 1, 2, 3 and so on, as far as its type goes.
func matrixFilter(typ nn.OperandType, out, taps, in int) *Filter {
	w := &ir.Tensor{Type: typ, Shape: []int{out, taps, 1, in}, Zero: 131}
	for i := range out * taps * in {
		if typ == nn.TensorFloat16 {
			w.Const = binary.LittleEndian.AppendUint16(w.Const, uint16(nn.HalfOf(float32(i%2000+1))))
		} else {
			w.Const = append(w.Const, byte(i+1))
		}
	}
	return &Filter{X: &ir.Tensor{Type: typ, Zero: 7}, W: w, Bias: &ir.Tensor{}, Y: &ir.Tensor{Type: typ}, Taps: taps, In: in, Out: out}
}

// TestMatrixRows reads rows back: step by step, all of a channel's filter in the order of taps, and nothing else.
func TestMatrixRows(t *testing.T) {
	for _, tc := range []struct{ out, taps, in, n int }{
		{1, 1, 1, 32}, {37, 1, 32, 32}, {64, 9, 3, 64}, {33, 4, 21, 32}, {70, 1, 67, 64}, {130, 6, 16, 128},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			quads := (tc.in + 3) / 4
			f := matrixFilter(nn.TensorFloat16, tc.out, tc.taps, tc.in)
			q := Quantize(matrixFilter(nn.TensorQuant8Asymm, tc.out, tc.taps, tc.in))
			for _, form := range []struct {
				elem int
				do   Fill
				want func(i int) uint16
				pad  uint16
			}{
				{2, func(dst []byte) { f.HalfRows(dst, tc.n) }, func(i int) uint16 { return uint16(nn.HalfOf(float32(i%2000 + 1))) }, 0},
				{1, func(dst []byte) { q.SignedRows(dst, tc.n) }, func(i int) uint16 { return uint16(byte(i+1) ^ 0x80) }, 3},
			} {
				steps := f.MatrixSteps(form.elem)
				data := filled(int(f.MatrixBytes(form.elem, tc.n)), form.do)
				for o := range (tc.out + tc.n - 1) / tc.n * tc.n {
					for i := range steps * MatrixStep / form.elem {
						at := ((o/tc.n*steps+i*form.elem/MatrixStep)*tc.n+o%tc.n)*MatrixStep + i*form.elem%MatrixStep
						got := uint16(data[at])
						if form.elem == 2 {
							got |= uint16(data[at+1]) << 8
						}
						tap, k := i/(quads*4), i%(quads*4)
						want := uint16(0)
						switch {
						case o >= tc.out || tap >= tc.taps:
						case k >= tc.in:
							want = form.pad
						default:
							want = form.want((o*tc.taps+tap)*tc.in + k)
						}
						require.Equal(t, want, got, "channel %d, element %d of %d bytes", o, i, form.elem)
					}
				}
			}
		})
	}
}

// TestSigned: the input by its other form, with what it meets, has the same sums.
func TestSigned(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, typ := range []nn.OperandType{nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned} {
		q := Quantize(&Filter{X: &ir.Tensor{Type: typ, Zero: 7}, W: &ir.Tensor{Type: nn.TensorQuant8PerChannel, Const: []byte{200}},
			Bias: &ir.Tensor{Const: make([]byte, 4)}, Y: &ir.Tensor{Type: typ}, Taps: 1, In: 1, Out: 1})
		s := q.Signed()
		bias, _ := q.FoldZeroPoints()
		signedBias, _ := s.FoldZeroPoints()
		w := int(q.w[0])
		for range 100 {
			x := uint32(rng.IntN(256))
			require.Equal(t, int((x^q.Flip)&255)*w+bias[0], int(int8((x^s.Flip)&255))*w+signedBias[0])
		}
	}
}
