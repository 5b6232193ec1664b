package validate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/internal/conformancedata"
)

// TestLevel: what came after the level that a model states is refused (V2 and V10 for an older last type and operation).
func TestLevel(t *testing.T) {
	relu := func(x nn.OperandType) *nn.Model {
		o := nn.Operand{Type: x, Dims: nn.Dims{2}}
		if x.IsQuant8() {
			o.Scale = 1
		}
		in, out := o, o
		in.Lifetime, out.Lifetime = nn.SubgraphInput, nn.SubgraphOutput
		return &nn.Model{Main: nn.Graph{
			Operands: []nn.Operand{in, out}, Inputs: []uint32{0}, Outputs: []uint32{1},
			Operations: []nn.Operation{{Type: nn.OpRelu, Inputs: []uint32{0}, Outputs: []uint32{1}}},
		}}
	}
	of := func(op nn.OperationType, m *nn.Model) *nn.Model { m.Main.Operations[0].Type = op; return m }
	reverse := of(nn.OpReverse, relu(nn.TensorFloat32))
	reverse.Main.Operands = append(reverse.Main.Operands, nn.Operand{
		Type: nn.TensorInt32, Dims: nn.Dims{1}, Lifetime: nn.ConstantCopy, Location: nn.Location{Length: 4},
	})
	reverse.Main.Operations[0].Inputs = []uint32{0, 2}
	reverse.Values = make([]byte, 4)
	var b layers.Builder
	b.Output(b.BatchMatmul(b.Input(nn.TensorFloat32, nn.Dims{2, 3}, 0, 0), b.Input(nn.TensorFloat32, nn.Dims{3, 4}, 0, 0), false, false))
	product, err := b.Build()
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		m    *nn.Model
		from nn.Level // the first that takes it; 0: all do
	}{
		"RELU":                  {relu(nn.TensorFloat32), nn.HAL10},
		"RELU of float16":       {relu(nn.TensorFloat16), nn.HAL12},
		"RELU of signed 8 bits": {relu(nn.TensorQuant8AsymmSigned), nn.HAL13},
		"ABS":                   {of(nn.OpAbs, relu(nn.TensorFloat32)), nn.HAL12},
		"ABS of integers":       {of(nn.OpAbs, relu(nn.TensorInt32)), nn.HAL13},
		"RSQRT":                 {of(nn.OpRsqrt, relu(nn.TensorFloat32)), nn.HAL12},
		"HARD_SWISH":            {of(nn.OpHardSwish, relu(nn.TensorFloat32)), nn.HAL13},
		"102":                   {product, nn.AIDL2},
		"105, the last":         {reverse, nn.AIDL3},
		"of another vendor":     {of(nn.OpOemOperation, relu(nn.TensorFloat32)), 0},
	} {
		for level := nn.HAL10; level <= nn.AIDL4; level++ {
			tc.m.Level = level
			err := validate.Model(tc.m)
			if level < tc.from {
				require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%s at %v", name, level)
				require.ErrorContains(t, err, level.String(), name)
			} else {
				require.NoError(t, err, "%s at %v", name, level)
			}
		}
	}
	for _, level := range []nn.Level{-1, nn.AIDL4 + 1} {
		m := relu(nn.TensorFloat32)
		m.Level = level
		require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(validate.Model(m)), level)
	}
}

// TestLevelOfConformanceModels: models are valid at the level that they state, and but for a few not at the one before, the
// few being those for which no operand, type or operation came, but a rule of values: quantisation of CONCATENATION, ranks
// of SOFTMAX, zero sizes.
func TestLevelOfConformanceModels(t *testing.T) {
	dir := nntest.Shared(t, "conformance")
	refused, passed := 0, 0
	err := conformancedata.Load(dir, nil, func(c *conformancedata.Case) error {
		if c.ExpectFailure || c.Model.Level == nn.HAL10 || !inTable(c) {
			return nil
		}
		require.NoError(t, validate.Model(c.Model), c.Name)
		c.Model.Level--
		if err := validate.Model(c.Model); err == nil {
			passed++
		} else {
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), c.Name)
			refused++
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, refused, 3000)
	require.Less(t, passed, refused/20, "of %d", refused)
}
