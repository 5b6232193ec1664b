package conformancedata

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/numbers"
)

// compareMultinomial judges RANDOM_MULTINOMIAL by how often each class was drawn: for every class c,
// |count(c)/samples - exp(x_c)/sum_k exp(x_k)| <= tolerance, computed in float32.
func (c *Case) compareMultinomial(output int, got []byte) error {
	x, err := c.logProbabilities(output)
	if err != nil {
		return err
	}
	samples, err := numbers.Of(nn.TensorInt32, got)
	if err != nil {
		return err
	}
	if len(samples) == 0 {
		return fmt.Errorf("no samples")
	}
	counts := make([]int, len(x))
	for i, s := range samples {
		if s < 0 || int(s) >= len(x) {
			return fmt.Errorf("sample %d is class %v of %d", i, s, len(x))
		}
		counts[int(s)]++
	}
	var sum float32
	for i := range x {
		x[i] = float64(float32(math.Exp(x[i])))
		sum += float32(x[i])
	}
	for i := range x {
		share := float32(counts[i]) / float32(len(samples))
		p := float32(x[i]) / sum
		if diff := share - p; !(float32(math.Abs(float64(diff))) <= float32(c.MultinomialTolerance)) {
			return fmt.Errorf("class %d was drawn with frequency %v, want %v within %v", i, share, p, c.MultinomialTolerance)
		}
	}
	return nil
}

// logProbabilities finds the first input of the operation that wrote an output; it must be a model
// input with a batch of one.
func (c *Case) logProbabilities(output int) ([]float64, error) {
	g := &c.Model.Main
	for _, op := range g.Operations {
		if op.Type != nn.OpRandomMultinomial || len(op.Outputs) == 0 || op.Outputs[0] != g.Outputs[output] || len(op.Inputs) == 0 {
			continue
		}
		for i, in := range g.Inputs {
			if in != op.Inputs[0] {
				continue
			}
			o := &g.Operands[in]
			known := len(o.Dims) == 2 && o.Dims.Known()
			if known && o.Dims[0] != 1 || len(o.Dims) != 2 && len(o.Dims) != 0 || !o.Type.IsFloat() {
				return nil, fmt.Errorf("log-probabilities are %s%v, want a batch of one", o.Type, []uint32(o.Dims))
			}
			// Where the model leaves them open, the samples tell.
			if y := c.Expected[output].Dims; !known && (len(y) != 2 || y[0] != 1) {
				return nil, fmt.Errorf("samples are %v, want a batch of one", []uint32(y))
			}
			return numbers.Of(o.Type, c.Inputs[i])
		}
	}
	return nil, fmt.Errorf("no RANDOM_MULTINOMIAL of a model input writes this output")
}
