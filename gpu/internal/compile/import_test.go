package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// TestImportModel compares the graphs of models before the passes.
func TestImportModel(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(*nn.Builder)
		want string
	}{
		{"parameters become attributes", func(b *nn.Builder) {
			x := b.Input(nn.TensorFloat32, nn.Dims{1, 5, 7, 3}, 0, 0)
			y := b.Temp(nn.TensorFloat32, nn.Dims{1, 3, 4, 3}, 0, 0)
			b.Op(nn.OpMaxPool2D, []uint32{x, b.Scalar(1), b.Scalar(2), b.Scalar(2), b.Scalar(3), b.Scalar(3), b.Scalar(3)}, []uint32{y})
			b.Output(y)
		}, `
			input %0 TENSOR_FLOAT32 [1,5,7,3]
			%1 TENSOR_FLOAT32 [1,3,4,3] = MAX_POOL_2D %0 {"act":3,"stride":[2,2],"window":[3,3],"pad":{"top":1,"bottom":1,"left":1,"right":1}}
			output %1`},
		{"constants are tensors once, however often they are read", func(b *nn.Builder) {
			x := b.Input(nn.TensorFloat32, nn.Dims{2, 2}, 0, 0)
			c := b.Floats(nn.Dims{2}, 1, 2)
			y, z := b.Temp(nn.TensorFloat32, nn.Dims{2, 2}, 0, 0), b.Temp(nn.TensorFloat32, nn.Dims{2, 2}, 0, 0)
			b.Op(nn.OpAdd, []uint32{x, c, b.Scalar(0)}, []uint32{y})
			b.Op(nn.OpMul, []uint32{y, c, b.Scalar(0)}, []uint32{z})
			b.Output(z)
			b.Relax()
		}, `
			relaxed
			input %0 TENSOR_FLOAT32 [2,2]
			const %1 TENSOR_FLOAT32 [2] AACAPwAAAEA=
			%2 TENSOR_FLOAT32 [2,2] = ADD %0 %1
			%3 TENSOR_FLOAT32 [2,2] = MUL %2 %1
			output %3`},
		{"dimensions that the model leaves open", func(b *nn.Builder) {
			x := b.Input(nn.TensorQuant8AsymmSigned, nn.Dims{2, 3}, 0.5, -7)
			y := b.Temp(nn.TensorQuant8AsymmSigned, nil, 0.5, -7)
			z := b.Temp(nn.TensorQuant8AsymmSigned, nn.Dims{0, 2}, 0.5, -7)
			b.Op(nn.OpTranspose, []uint32{x, b.Ints(nn.Dims{2}, 1, 0)}, []uint32{y})
			b.Op(nn.OpRelu, []uint32{y}, []uint32{z})
			b.Output(z)
		}, `
			input %0 TENSOR_QUANT8_ASYMM_SIGNED(0.5,-7) [2,3]
			%1 TENSOR_QUANT8_ASYMM_SIGNED(0.5,-7) [3,2] = TRANSPOSE %0 {"perm":[1,0]}
			%2 TENSOR_QUANT8_ASYMM_SIGNED(0.5,-7) [3,2] = RELU %1
			output %2`},
		{"an operand without a value", func(b *nn.Builder) {
			x := b.Input(nn.TensorFloat32, nn.Dims{2, 3}, 0, 0)
			y := b.Temp(nn.TensorFloat32, nn.Dims{3, 2}, 0, 0)
			b.Op(nn.OpTranspose, []uint32{x, b.Omitted(nn.TensorInt32)}, []uint32{y})
			b.Output(y)
		}, `
			input %0 TENSOR_FLOAT32 [2,3]
			%1 TENSOR_FLOAT32 [3,2] = TRANSPOSE %0 {"perm":[1,0]}
			output %1`},
		{"an input that nobody reads, of open size", func(b *nn.Builder) {
			x := b.Input(nn.TensorFloat32, nn.Dims{3}, 0, 0)
			b.Input(nn.TensorFloat32, nn.Dims{2, 0}, 0, 0)
			b.Input(nn.TensorFloat32, nil, 0, 0)
			y := b.Temp(nn.TensorFloat32, nn.Dims{3}, 0, 0)
			b.Op(nn.OpRelu, []uint32{x}, []uint32{y})
			b.Output(y)
		}, `
			input %0 TENSOR_FLOAT32 [3]
			input _
			input _
			%3 TENSOR_FLOAT32 [3] = RELU %0
			output %3`},
		{"NCHW", nchwNet, `
			input %0 TENSOR_FLOAT32 [1,3,9,7]
			const %1 TENSOR_FLOAT32 [5,3,3,3] zeroes
			const %2 TENSOR_FLOAT32 [5] AABAvwAAIL8AAAC/AADAvgAAgL4=
			%5 TENSOR_FLOAT32 [1,9,7,3] = TRANSPOSE %0 {"perm":[0,2,3,1]}
			%6 TENSOR_FLOAT32 [1,7,5,5] = CONV_2D %5 %1 %2 {"stride":[1,1],"dilation":[1,1]}
			%3 TENSOR_FLOAT32 [1,5,7,5] = TRANSPOSE %6 {"perm":[0,3,1,2]}
			%7 TENSOR_FLOAT32 [1,7,5,5] = TRANSPOSE %3 {"perm":[0,2,3,1]}
			%8 TENSOR_FLOAT32 [1,6,4,5] = MAX_POOL_2D %7 {"stride":[1,1],"window":[2,2]}
			%4 TENSOR_FLOAT32 [1,5,6,4] = TRANSPOSE %8 {"perm":[0,3,1,2]}
			output %4`},
		{"rows of FULLY_CONNECTED", func(b *nn.Builder) {
			x := b.Input(nn.TensorFloat32, nn.Dims{1, 2, 2, 3}, 0, 0)
			y := b.Temp(nn.TensorFloat32, nn.Dims{2, 1}, 0, 0)
			b.Op(nn.OpFullyConnected, []uint32{x, b.Floats(nn.Dims{1, 6}, 0, 0, 0, 0, 0, 0), b.Floats(nn.Dims{1}, 0), b.Scalar(1)}, []uint32{y})
			b.Output(y)
		}, `
			input %0 TENSOR_FLOAT32 [1,2,2,3]
			const %1 TENSOR_FLOAT32 [1,6] zeroes
			const %2 TENSOR_FLOAT32 [1] zeroes
			%4 TENSOR_FLOAT32 [2,6] = RESHAPE %0
			%3 TENSOR_FLOAT32 [2,1] = FULLY_CONNECTED %4 %1 %2 {"act":1}
			output %3`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := &unit{facts: &lavapipe, model: build(t, tc.make)}
			require.NoError(t, u.run("import", "normalise layout"))
			for i, why := range u.refused {
				require.NoError(t, why, i)
			}
			require.Equal(t, lines(tc.want), lines(u.graph.String()))
		})
	}
}

// TestImportLeavesTheModelAlone: open dimensions are completed in a copy.
func TestImportLeavesTheModelAlone(t *testing.T) {
	m := build(t, func(b *nn.Builder) {
		x := b.Input(nn.TensorFloat32, nn.Dims{2, 3}, 0, 0)
		y := b.Temp(nn.TensorFloat32, nn.Dims{0, 0}, 0, 0)
		b.Op(nn.OpRelu, []uint32{x}, []uint32{y})
		b.Output(y)
	})
	_, err := Supports(&lavapipe, m)
	require.NoError(t, err)
	require.Equal(t, nn.Dims{0, 0}, m.Main.Operands[1].Dims)
}

// TestConstantsInPoolsAreRead, in place.
func TestConstantsInPoolsAreRead(t *testing.T) {
	pool := nn.HostMemory(make([]byte, 20))
	copy(pool[8:], []byte{0, 0, 128, 63, 0, 0, 0, 64})
	m := build(t, func(b *nn.Builder) {
		x := b.Input(nn.TensorFloat32, nn.Dims{2}, 0, 0)
		b.Pool(nn.HostMemory{})
		c := b.Reference(nn.TensorFloat32, nn.Dims{2}, 0, 0, nn.Location{PoolIndex: b.Pool(pool), Offset: 8, Length: 8})
		y := b.Temp(nn.TensorFloat32, nn.Dims{2}, 0, 0)
		b.Op(nn.OpAdd, []uint32{x, c, b.Scalar(0)}, []uint32{y})
		b.Output(y)
	})
	g, err := Optimised(&lavapipe, m)
	require.NoError(t, err)
	require.Equal(t, []byte(pool[8:16]), g.T(1).Const)
}

func TestSupportsSaysWhy(t *testing.T) {
	relu := func(b *nn.Builder, in, out uint32) { b.Op(nn.OpRelu, []uint32{in}, []uint32{out}) }
	tensor := func(b *nn.Builder, dims ...uint32) uint32 { return b.Temp(nn.TensorFloat32, dims, 0, 0) }
	for _, tc := range []struct {
		name string
		make func(*nn.Builder)
		want []string // by operation, "" for a supported one
	}{
		{"all", floatNet, make([]string, 7)},
		{"an operation that the table does not have", func(b *nn.Builder) {
			x, y, z := b.Input(nn.TensorFloat32, nn.Dims{3}, 0, 0), tensor(b, 3), tensor(b, 3)
			relu(b, x, y)
			b.Op(nn.OpOemOperation, []uint32{y}, []uint32{z})
			b.Output(z)
		}, []string{"", "OEM_OPERATION"}},
		{"what follows it is judged by itself", func(b *nn.Builder) {
			x, y, z, u := b.Input(nn.TensorFloat32, nn.Dims{3}, 0, 0), tensor(b, 3), tensor(b, 0), tensor(b, 3)
			b.Op(nn.OpOemOperation, []uint32{x}, []uint32{y, z})
			relu(b, y, u)
			v := tensor(b, 0)
			relu(b, z, v)
			b.Output(u)
			b.Output(v)
		}, []string{"OEM_OPERATION", "", "open dimensions"}},
		{"open input dimensions", func(b *nn.Builder) {
			x, y, z := b.Input(nn.TensorFloat32, nn.Dims{0, 3}, 0, 0), tensor(b, 0, 3), tensor(b, 0, 3)
			relu(b, x, y)
			relu(b, y, z)
			b.Output(z)
		}, []string{"open dimensions", "open dimensions"}},
		{"an input of unknown rank", func(b *nn.Builder) {
			x, y := b.Input(nn.TensorFloat32, nil, 0, 0), tensor(b)
			relu(b, x, y)
			b.Output(y)
		}, []string{"open dimensions"}},
		{"a parameter that is an input", func(b *nn.Builder) {
			x, stride := b.Input(nn.TensorFloat32, nn.Dims{1, 2, 3, 1}, 0, 0), b.Input(nn.Int32, nil, 0, 0)
			y, one := tensor(b, 1, 2, 3, 1), b.Scalar(1)
			b.Op(nn.OpMaxPool2D, []uint32{x, one, stride, stride, one, one, b.Scalar(0)}, []uint32{y})
			b.Output(y)
		}, []string{""}},
		{"a tensor larger than the device binds", func(b *nn.Builder) {
			x, y := b.Input(nn.TensorFloat32, nn.Dims{4096, 4096, 4}, 0, 0), tensor(b, 4096, 4096, 4)
			b.Op(nn.OpTranspose, []uint32{x, b.Ints(nn.Dims{3}, 1, 0, 2)}, []uint32{y})
			z := tensor(b, 4096, 4096, 4)
			relu(b, y, z)
			b.Output(z)
		}, []string{"cannot be divided", ""}},
		{"a convolution's output larger than the device binds", func(b *nn.Builder) {
			x, y := b.Input(nn.TensorFloat32, nn.Dims{1, 4096, 4096, 1}, 0, 0), tensor(b, 1, 4096, 4096, 4)
			b.Op(nn.OpConv2D, []uint32{
				x, b.Floats(nn.Dims{4, 1, 1, 1}, 0, 0, 0, 0), b.Floats(nn.Dims{4}, 0, 0, 0, 0),
				b.Scalar(1), b.Scalar(1), b.Scalar(1), b.Scalar(0),
			}, []uint32{y})
			b.Output(y)
		}, []string{""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := build(t, tc.make)
			refused, err := Supports(&lavapipe, m)
			require.NoError(t, err)
			require.Len(t, refused, len(tc.want))
			all := true
			for i, want := range tc.want {
				if want == "" {
					require.NoError(t, refused[i], i)
					continue
				}
				all = false
				require.ErrorContains(t, refused[i], want, i)
			}
			// K9: preparing agrees.
			if NeedsTree(m) {
				_, err = TreeOf(&lavapipe, m)
			} else {
				_, _, err = Model(t.Context(), &lavapipe, m, nil)
			}
			if all {
				require.NoError(t, err)
			} else {
				require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err), err)
				require.ErrorIs(t, err, nn.ErrUnsupported)
			}
		})
	}
}

func TestRefusalsKeepTheirCause(t *testing.T) {
	refused, err := Supports(&lavapipe, build(t, func(b *nn.Builder) {
		x, y := b.Input(nn.TensorFloat32, nn.Dims{0}, 0, 0), b.Temp(nn.TensorFloat32, nn.Dims{0}, 0, 0)
		b.Op(nn.OpRelu, []uint32{x}, []uint32{y})
		b.Output(y)
	}))
	require.NoError(t, err)
	require.ErrorIs(t, refused[0], ops.ErrOpenShape)
}
