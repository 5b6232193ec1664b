package compile

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// TestImageBounds interprets the kernels over images whose rows and ends fall anywhere in words: nothing outside of
// the image is read, and nothing outside of the tensor written.
func TestImageBounds(t *testing.T) {
	for name, facts := range map[string]plan.Facts{"lavapipe": lavapipe, "swiftshader": swiftshader} {
		for _, d := range []nn.ImageLayout{
			{TexelBytes: 1, Channels: 1}, {TexelBytes: 2, Channels: 2}, {TexelBytes: 3, Channels: 3},
			{TexelBytes: 4, Channels: 3}, {TexelBytes: 4, Channels: 4}, {TexelBytes: 8, Channels: 4, Float16: true},
		} {
			for _, size := range [][4]uint32{{1, 1, 1, 1}, {1, 5, 7, 9}, {3, 2, 3, 3}, {1, 1, 1001, 1001}, {2, 300, 401, 403}} {
				d.Layers, d.Height, d.Width, d.Stride = size[0], size[1], size[2], size[3]
				for _, typ := range []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16, nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned} {
					for c := uint32(1); c <= d.Channels; c++ {
						o := &nn.Operand{Type: typ, Dims: nn.Dims{d.Layers, d.Height, d.Width, c}}
						if typ.IsQuant8() {
							o.Scale = 0.1
						}
						p, err := Image(&facts, d, o)
						require.NoError(t, err)
						read := p.Steps[0].Bindings[0]
						require.Equal(t, plan.InputRef(0), read.Of)
						require.Less(t, read.Size-d.Bytes(), int64(4))
						for contents := range uint64(5) {
							require.NoError(t, checkBounds(&facts, p, &pack.Weights{}, contents), "%s: %+v as %v", name, d, o)
						}
					}
				}
			}
		}
	}
}

// TestImageOfWrongSizes: push constants that lie about the image, as no plan has them, still read only what is bound.
func TestImageOfWrongSizes(t *testing.T) {
	for _, d := range []nn.ImageLayout{{TexelBytes: 3, Channels: 3}, {TexelBytes: 8, Channels: 4, Float16: true}} {
		d.Layers, d.Height, d.Width, d.Stride = 1, 5, 7, 7
		for _, typ := range []nn.OperandType{nn.TensorFloat32, nn.TensorQuant8Asymm} {
			p, err := Image(&lavapipe, d, &nn.Operand{Type: typ, Dims: nn.Dims{1, 5, 7, 3}, Scale: 1})
			require.NoError(t, err)
			push := p.Steps[0].Push
			for _, stride := range []uint32{0, 6, 8, 1 << 20, math.MaxUint32} {
				push[4] = stride
				for contents := range uint64(5) {
					require.NoError(t, checkBounds(&lavapipe, p, &pack.Weights{}, contents))
				}
			}
		}
	}
}

// TestImageTooLarge for a device, or for any.
func TestImageTooLarge(t *testing.T) {
	d := nn.ImageLayout{Width: 1, Height: 1 << 15, Layers: 1, Stride: 1 << 15, TexelBytes: 4, Channels: 4}
	o := &nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 1 << 15, 1, 4}}
	for _, stride := range []uint32{1 << 15, 1 << 31, math.MaxUint32} {
		d.Stride = stride
		_, err := Image(&lavapipe, d, o)
		require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err), err)
	}
	d = nn.ImageLayout{Width: 1 << 16, Height: 1 << 16, Layers: 1 << 16, Stride: 1 << 16, TexelBytes: 1, Channels: 1}
	o.Dims = nn.Dims{1 << 16, 1 << 16, 1 << 16, 1}
	_, err := Image(&lavapipe, d, o)
	require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err), err)
}
