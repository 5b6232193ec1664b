package lower

import (
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/shaders/family"
)

// prelu is z = a where a >= 0, a * b elsewhere: a binary operation whose second operand, alpha, usually
// has one value for each channel.
var prelu = binaryOp{
	op: family.Prelu, op8: family.Prelu,
	rescale: rescalePrelu,
}

// rescalePrelu: tensorflow/lite/kernels/activations.cc, the multipliers of a and of a * alpha.
func rescalePrelu(a, alpha, z *ir.Tensor) [3]float64 {
	return [3]float64{
		min(float64(a.Scale/z.Scale), 1<<13),
		min(float64(a.Scale*alpha.Scale/z.Scale), 1<<13),
	}
}
