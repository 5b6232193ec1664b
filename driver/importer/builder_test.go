package importer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// TestBuilder: results get their dimensions from the inputs, equal scalars are one operand, and what the table refuses leaves
// no trace.
func TestBuilder(t *testing.T) {
	b := importer.NewBuilder(make([]byte, 16))
	float := importer.Type{Of: nn.TensorFloat32}
	x := b.Add(float.Operand(nn.Dims{2, 3}, nn.SubgraphInput))
	inputs, err := b.Scalars(nn.TensorFloat32, []uint32{x, x}, nn.ActNone)
	require.NoError(t, err)
	y, err := b.Emit(nn.OpAdd, float, inputs...)
	require.NoError(t, err)
	require.Equal(t, nn.Dims{2, 3}, b.Model.Main.Operands[y].Dims)
	again, err := b.Scalars(nn.TensorFloat16, nil, int32(0), float32(0))
	require.NoError(t, err)
	require.Equal(t, inputs[2], again[0])
	require.Equal(t, nn.Float16, b.Model.Main.Operands[again[1]].Type)

	axes, err := b.Int32s(nn.Dims{1}, []int32{7})
	require.NoError(t, err)
	before := len(b.Model.Main.Operands)
	_, err = b.Emit(nn.OpTranspose, float, x, axes)
	require.Error(t, err)
	_, err = b.Emit(nn.OperationType(9999), float, x)
	require.ErrorContains(t, err, "not in the operation table")
	require.Len(t, b.Model.Main.Operands, before)
	require.Len(t, b.Model.Main.Operations, 1)

	require.NotNil(t, b.Model.Pools)
	b.DropUnusedPool()
	require.Nil(t, b.Model.Pools)
}

// TestBuilderIsBounded: constants are at most a multiple of the file.
func TestBuilderIsBounded(t *testing.T) {
	b := importer.NewBuilder(nil)
	b.Grow(1 << 40)
	byteType := importer.Type{Of: nn.TensorQuant8Asymm, Scale: 1}
	_, err := b.Zeros(byteType, nn.Dims{1 << 15, 2})
	require.NoError(t, err)
	require.Len(t, b.Model.Values, 1<<16)
	_, err = b.Scalars(nn.TensorFloat32, nil, true)
	require.ErrorContains(t, err, "exceed the size of the file")
	_, err = b.Int32s(nn.Dims{1}, []int32{1})
	require.ErrorContains(t, err, "exceed the size of the file")
	_, err = b.Zeros(byteType, nn.Dims{1 << 31, 4})
	require.Error(t, err)
	require.Empty(t, b.Model.Main.Operations)
}
