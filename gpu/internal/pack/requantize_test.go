package pack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// requantizeFloats follows requantizeFloats of shaders/include/channels.glsl for one channel, up to zero point and clamping:
// floats are float32, and integers wrap around.
func requantizeFloats(acc float32, record []uint32) float32 {
	const unit = 1.0 / 2147483648.0
	multiplier, nudge := int32(record[1]), int32(record[2])
	scale, below := math.Float32frombits(record[3]), math.Float32frombits(record[4])
	factor, start := float32(float32(multiplier)*unit), float32(float32(nudge)*unit)-0.01
	high, low := float32(float32(multiplier&0x7ff80000)*unit), float32(float32(multiplier&0x7ffff)*unit)
	half := float32(0)
	if scale < 0.75 {
		half = 0.5
	}
	floor := func(v float32) float32 { return float32(math.Floor(float64(v))) }

	sum := acc + math.Float32frombits(record[0])
	top := floor(sum*(1.0/4096.0)) * 4096
	rest := float32(float32(top*low) + float32((sum-top)*factor))
	r := float32(top*high) + floor(rest+start)
	if int32(sum)*multiplier+nudge-int32(r)*math.MinInt32 < 0 {
		r++
	}
	if r < below {
		r--
	}
	return floor(float32(r*scale) + half)
}

// requantized is the fixed-point arithmetic of TensorFlow Lite: MultiplyByQuantizedMultiplier with its two roundings, or one.
func requantized(sum int64, multiplier int32, shift int, twice bool) int64 {
	product := sum * int64(multiplier)
	if !twice {
		total := 31 - shift
		return (product + 1<<(total-1)) >> total
	}
	nudge := int64(1 << 30)
	if product < 0 {
		nudge = 1 - nudge
	}
	high := (product + nudge) / (1 << 31)
	mask := int64(1)<<-shift - 1
	threshold := mask >> 1
	if high < 0 {
		threshold++
	}
	rounded := high >> -shift
	if high&mask > threshold {
		rounded++
	}
	return rounded
}

// TestFloatsRequantise: for sums up to the bound of FitsFloats the floats give what the fixed-point arithmetic does, ties of both
// roundings and all shifts included.
func TestFloatsRequantise(t *testing.T) {
	const most = 1<<23 - 1
	r := rand.New(rand.NewPCG(9, 10))
	for _, twice := range []bool{true, false} {
		q := &Quantized{Filter: &Filter{
			X: &ir.Tensor{Type: nn.TensorQuant8Asymm}, W: &ir.Tensor{Type: nn.TensorQuant8PerChannel}, Y: &ir.Tensor{}, Out: 1,
		}}
		if twice {
			q.Rounding = -1
		}
		q.W.Channel = &nn.ChannelQuant{Scales: make([]float32, 1)}
		for shift := range 32 {
			for range 40 {
				scale := float32(math.Ldexp(0.5+r.Float64()/2, -shift))
				switch r.IntN(4) {
				case 0:
					scale = float32(math.Ldexp(0.5, -shift)) // the multiplier 2^30, with which ties are many
				case 1:
					scale = float32(math.Ldexp(1-0x1p-24, -shift))
				}
				q.X.Scale, q.Y.Scale, q.W.Channel.Scales[0] = 1, 1, scale
				multiplier, exponent := q.multipliers()
				require.LessOrEqual(t, exponent[0], 0)
				bias := r.IntN(1<<22) - 1<<21
				record := q.FloatChannels(1, []int{bias})
				words := []uint32{record[0], record[4], record[8], record[12], record[16]}
				check := func(sum int) {
					if sum < -most || sum > most || sum-bias < -1<<24 || sum-bias > 1<<24 {
						return
					}
					want := requantized(int64(sum), multiplier[0], exponent[0], twice)
					if got := requantizeFloats(float32(sum-bias), words); int64(got) != want {
						require.Equal(t, want, int64(got), "%d times %d, shifted by %d, rounded twice: %v", sum, multiplier[0], exponent[0], twice)
					}
				}
				for _, sum := range []int{0, 1, -1, most, -most, most - 1, 1 << 22, -1 << 22, 4095, 4096, -4096, -4097} {
					check(sum)
				}
				for range 50 {
					check(r.IntN(2*most+1) - most)
					check(r.IntN(1<<12) - 1<<11)
					// About where results change: at half units.
					unit := math.Ldexp(float64(int64(1)<<31)/float64(multiplier[0]), -exponent[0])
					at := int((float64(r.IntN(600)-300) + 0.5) * unit)
					for d := -2; d <= 2; d++ {
						check(at + d)
					}
				}
			}
		}
	}
}

// TestFitsFloats: the bound is of the sum with its bias, and results are not shifted to the left.
func TestFitsFloats(t *testing.T) {
	q := &Quantized{Filter: &Filter{
		X: &ir.Tensor{Type: nn.TensorQuant8Asymm, Scale: 1}, W: &ir.Tensor{Type: nn.TensorQuant8Asymm, Scale: 1}, Y: &ir.Tensor{Scale: 1}, Out: 2,
	}, bias: []int32{-100, 7}}
	for _, tc := range []struct {
		name  string
		scale float32 // of y
		bound []int
		want  bool
	}{
		{"small", 2, []int{1, 2}, true},
		{"at the bound", 2, []int{1<<23 - 101, 1<<23 - 8}, true},
		{"first channel beyond", 2, []int{1<<23 - 100, 0}, false},
		{"second channel beyond", 2, []int{0, 1<<23 - 7}, false},
		{"to the left", 0.5, []int{1, 2}, false},
	} {
		q.Y.Scale = tc.scale
		require.Equal(t, tc.want, q.FitsFloats(tc.bound), tc.name)
	}
}
