package lower

import (
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/shaders"
)

// prelu is z = a where a >= 0, a * b elsewhere: a binary operation whose second operand, alpha, usually
// has one value for each channel.
var prelu = binaryOp{
	f32:     broadcastKernels{shaders.BinaryPreluF32, shaders.BinaryPreluF32Row, shaders.BinaryPreluF32Bcast},
	f16:     broadcastKernels{shaders.BinaryPreluF16, shaders.BinaryPreluF16Row, shaders.BinaryPreluF16Bcast},
	q8:      broadcastKernels{shaders.BinaryPreluQ8, shaders.BinaryPreluQ8Row, shaders.BinaryPreluQ8Bcast},
	rescale: rescalePrelu,
}

// rescalePrelu: tensorflow/lite/kernels/activations.cc, the multipliers of a and of a * alpha.
func rescalePrelu(a, alpha, z *ir.Tensor) [3]float64 {
	return [3]float64{
		min(float64(a.Scale/z.Scale), 1<<13),
		min(float64(a.Scale*alpha.Scale/z.Scale), 1<<13),
	}
}
