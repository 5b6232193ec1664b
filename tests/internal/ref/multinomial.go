package ref

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpRandomMultinomial, kernel{inputs: []int{3}, run: func(c *call) *Tensor {
		y, _ := Multinomial(c.in[0], c.int(1), c.ints(2))
		return y
	}})
}

// Philox is the generator Philox 4x32-10: four random words for a counter and a key.
func Philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	for range 10 {
		a, b := uint64(counter[0])*0xd2511f53, uint64(counter[2])*0xcd9e8d57
		counter = [4]uint32{uint32(b>>32) ^ counter[1] ^ key[0], uint32(b), uint32(a>>32) ^ counter[3] ^ key[1], uint32(a)}
		key[0] += 0x9e3779b9
		key[1] += 0xbb67ae85
	}
	return counter
}

// Multinomial draws samples of the classes of each row of logits, [n, classes]: sample s by word s%4 of the generator, with the
// counter s/4, row. margins say how far, as a part of 1, each was from being another.
func Multinomial(logits *Tensor, samples int, seeds []int) (y *Tensor, margins []float64) {
	if len(logits.Shape) != 2 || samples < 1 || len(seeds) != 2 {
		refuse("%d samples of %v, seeds %v", samples, logits.Shape, seeds)
	}
	rows, classes := logits.Shape[0], logits.Shape[1]
	y = New(Format{Type: nn.TensorInt32}, rows, samples)
	key := [2]uint32{uint32(int32(seeds[0])), uint32(int32(seeds[1]))}
	for r := range rows {
		x := logits.V[r*classes:][:classes]
		top := math.Inf(-1)
		for _, v := range x {
			if v > top {
				top = v
			}
		}
		sums, sum := make([]float64, classes), 0.0
		for c, v := range x {
			switch {
			case v == top:
				sum++
			case !math.IsNaN(v):
				sum += math.Exp(v - top)
			}
			sums[c] = sum
		}
		for s := range samples {
			word := Philox([4]uint32{uint32(s / 4), uint32(r)}, key)[s%4]
			part := float64(word>>8) / (1 << 24) * sum
			class := classes - 1
			for c, v := range sums {
				if v > part {
					class = c
					break
				}
			}
			margin := 1.0
			for _, v := range sums {
				margin = min(margin, math.Abs(v-part)/sum)
			}
			y.V[r*samples+s] = float64(class)
			margins = append(margins, margin)
		}
	}
	return y, margins
}
