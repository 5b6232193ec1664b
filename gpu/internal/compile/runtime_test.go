package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

// TestRuntimeParameters: passes that compare paddings and permutations leave alone what is known only at run
// time.
func TestRuntimeParameters(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(*nn.Builder)
		want string
	}{
		{"a pad before a convolution", func(b *nn.Builder) {
			x := b.Input(nn.TensorFloat32, nn.Dims{1, 5, 5, 1}, 0, 0)
			pads := b.Input(nn.TensorInt32, nn.Dims{4, 2}, 0, 0)
			p, y := b.Temp(nn.TensorFloat32, nn.Dims{1, 7, 7, 1}, 0, 0), b.Temp(nn.TensorFloat32, nn.Dims{1, 7, 7, 1}, 0, 0)
			b.Op(nn.OpPad, []uint32{x, pads}, []uint32{p})
			b.Op(nn.OpConv2D, []uint32{p, b.Floats(nn.Dims{1, 1, 1, 1}, 2), b.Floats(nn.Dims{1}, 1),
				b.Scalar(int(nn.PaddingValid)), b.Scalar(1), b.Scalar(1), b.Scalar(0)}, []uint32{y})
			b.Output(y)
		}, `
			input %0 TENSOR_FLOAT32 [1,5,5,1]
			input %1 TENSOR_INT32 [4,2]
			const %3 TENSOR_FLOAT32 [1,1,1,1] AAAAQA==
			const %4 TENSOR_FLOAT32 [1] AACAPw==
			%2 TENSOR_FLOAT32 [1,7,7,1] = PAD %0 %1
			%5 TENSOR_FLOAT32 [1,7,7,1] = CONV_2D %2 %3 %4 {"stride":[1,1],"dilation":[1,1]}
			output %5`},
		{"two transpositions, the length of one open", func(b *nn.Builder) {
			x := b.Input(nn.TensorFloat32, nn.Dims{2, 3}, 0, 0)
			perm, open := b.Input(nn.TensorInt32, nn.Dims{2}, 0, 0), b.Input(nn.TensorInt32, nn.Dims{0}, 0, 0)
			y, z := b.Temp(nn.TensorFloat32, nn.Dims{3, 2}, 0, 0), b.Temp(nn.TensorFloat32, nn.Dims{2, 3}, 0, 0)
			b.Op(nn.OpTranspose, []uint32{x, perm}, []uint32{y})
			b.Op(nn.OpTranspose, []uint32{y, open}, []uint32{z})
			b.Output(z)
		}, `
			input %0 TENSOR_FLOAT32 [2,3]
			input %1 TENSOR_INT32 [2]
			input %2 TENSOR_INT32 [2]
			%3 TENSOR_FLOAT32 [3,2] = TRANSPOSE %0 %1
			%4 TENSOR_FLOAT32 [2,3] = TRANSPOSE %3 %2
			output %4`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, err := Optimised(&lavapipe, build(t, tc.make))
			require.NoError(t, err)
			require.Equal(t, lines(tc.want), lines(g.String()))
		})
	}
}
