package nn

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnknownValuesPrintTheirNumber(t *testing.T) {
	for _, n := range []int32{-1, 99, math.MinInt32, math.MaxInt32} {
		for want, v := range map[string]fmt.Stringer{
			"OperandType": OperandType(n), "OperationType": OperationType(n | 1<<30), "Lifetime": Lifetime(n),
			"Activation": Activation(n), "Preference": Preference(n), "Priority": Priority(n), "Status": Status(n),
		} {
			number := n
			if want == "OperationType" {
				number |= 1 << 30
			}
			require.Equal(t, fmt.Sprintf("%s(%d)", want, number), v.String())
		}
	}
}

func TestKnownValuesHaveNames(t *testing.T) {
	require.Equal(t, "TENSOR_QUANT8_SYMM_PER_CHANNEL", TensorQuant8PerChannel.String())
	require.Equal(t, "DEPTHWISE_CONV_2D", OpDepthwiseConv2D.String())
	require.Equal(t, "CONSTANT_REFERENCE", ConstantReference.String())
	require.Equal(t, "relu6", ActRelu6.String())
	require.Equal(t, "SUSTAINED_SPEED", SustainedSpeed.String())
	require.Equal(t, "HIGH", PriorityHigh.String())
	require.Equal(t, "RESOURCE_EXHAUSTED_PERSISTENT", StatusResourceExhaustedPersistent.String())
	require.Equal(t, "NONE", StatusNone.String())
}

func TestNamesParseBack(t *testing.T) {
	for i := OperandType(0); i.Valid(); i++ {
		got, err := ParseOperandType(i.String())
		require.NoError(t, err)
		require.Equal(t, i, got)
	}
	for i := Lifetime(0); i.Valid(); i++ {
		got, err := ParseLifetime(i.String())
		require.NoError(t, err)
		require.Equal(t, i, got)
	}
	seen := map[string]OperationType{}
	for _, r := range namedOperations {
		for op := r[0]; op <= r[1]; op++ {
			name := op.String()
			require.NotContains(t, seen, name)
			seen[name] = op
			got, err := ParseOperationType(name)
			require.NoError(t, err)
			require.Equal(t, op, got)
			require.True(t, op.Valid())
		}
	}
	require.Len(t, seen, 110)
	for _, name := range []string{"", "CONV_2D ", "conv_2d", "OperandType(3)", "TENSOR_FLOAT64"} {
		_, err := ParseOperandType(name)
		require.Error(t, err, name)
		_, err = ParseOperationType(name)
		require.Error(t, err, name)
		_, err = ParseLifetime(name)
		require.Error(t, err, name)
	}
}

// TestValuesAreTheHALs: numbers are part of the interface.
func TestValuesAreTheHALs(t *testing.T) {
	require.EqualValues(t, 14, TensorQuant8AsymmSigned)
	require.EqualValues(t, 15, SubgraphRef)
	require.EqualValues(t, 6, Subgraph)
	require.EqualValues(t, 105, OpReverse)
	require.EqualValues(t, 94, OpResizeNearestNeighbor)
	require.EqualValues(t, 8, StatusResourceExhaustedPersistent)
	require.False(t, OperationType(-1).Valid())
	require.False(t, OperationType(106).Valid())
	require.False(t, OperandType(16).Valid())
	require.Greater(t, int32(OpSquaredDifference), int32(0xffff), "extensions lie above 16 bits")
}

func TestTypeFacts(t *testing.T) {
	for _, tc := range []struct {
		t                       OperandType
		bytes                   int
		tensor, isFloat, quant8 bool
	}{
		{Float32, 4, false, true, false}, {Bool, 1, false, false, false}, {Float16, 2, false, true, false},
		{TensorFloat32, 4, true, true, false}, {TensorFloat16, 2, true, true, false}, {TensorInt32, 4, true, false, false},
		{TensorQuant8Asymm, 1, true, false, true}, {TensorQuant8AsymmSigned, 1, true, false, true},
		{TensorQuant8PerChannel, 1, true, false, false}, {TensorQuant16Asymm, 2, true, false, false},
		{TensorBool8, 1, true, false, false}, {SubgraphRef, 0, false, false, false}, {-1, 0, false, false, false}, {16, 0, false, false, false},
	} {
		require.Equal(t, tc.bytes, tc.t.Bytes(), tc.t)
		require.Equal(t, tc.tensor, tc.t.IsTensor(), tc.t)
		require.Equal(t, tc.isFloat, tc.t.IsFloat(), tc.t)
		require.Equal(t, tc.quant8, tc.t.IsQuant8(), tc.t)
	}
}
