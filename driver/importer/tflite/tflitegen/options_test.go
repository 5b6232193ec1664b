package tflitegen

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/stretchr/testify/require"
)

var allOptions = []Options{
	Conv2DOptions{}, DepthwiseConv2DOptions{}, Pool2DOptions{}, FullyConnectedOptions{}, SoftmaxOptions{},
	UnidirectionalSequenceLSTMOptions{}, ReshapeOptions{}, SqueezeOptions{}, ConcatenationOptions{},
	SplitOptions{}, MirrorPadOptions{}, ResizeBilinearOptions{}, ResizeNearestNeighborOptions{}, AddOptions{},
	SubOptions{}, MulOptions{}, DivOptions{}, ReducerOptions{}, CumsumOptions{}, CastOptions{},
	LeakyReluOptions{}, WhileOptions{}, SpaceToDepthOptions{}, DepthToSpaceOptions{},
	L2NormOptions{}, LocalResponseNormalizationOptions{}, TransposeConvOptions{}, ArgMaxOptions{}, ArgMinOptions{},
	BatchMatMulOptions{}, StridedSliceOptions{}, GatherOptions{}, PackOptions{}, UnpackOptions{}, SplitVOptions{},
	ShapeOptions{}, RNNOptions{}, SequenceRNNOptions{}, BidirectionalSequenceRNNOptions{}, SVDFOptions{}, LSTMOptions{},
	BidirectionalSequenceLSTMOptions{}, GeluOptions{}, OneHotOptions{}, LSHProjectionOptions{},
}

func TestOptionValues(t *testing.T) {
	for _, tc := range []struct {
		options Options
		union   byte
		check   func(t *testing.T, o table)
	}{
		{SoftmaxOptions{}, 9, func(t *testing.T, o table) { require.Equal(t, float32(1), o.float(0)) }},
		{SoftmaxOptions{Beta: 2.5}, 9, func(t *testing.T, o table) { require.Equal(t, float32(2.5), o.float(0)) }},
		{ReshapeOptions{NewShape: []int32{1, -1}}, 17, func(t *testing.T, o table) { require.Equal(t, []int{1, -1}, o.ints(0)) }},
		{ReshapeOptions{}, 17, func(t *testing.T, o table) { require.False(t, o.has(0)) }},
		{Conv2DOptions{StrideW: 3, DilationH: 2}, 1, func(t *testing.T, o table) {
			require.Equal(t, []int32{3, 1, 1, 2}, []int32{o.int32(1, 0), o.int32(2, 0), o.int32(4, 1), o.int32(5, 1)})
			require.False(t, o.has(4), "the schema's default")
		}},
		{FullyConnectedOptions{Activation: ActivationRelu, KeepNumDims: true}, 8, func(t *testing.T, o table) {
			require.Equal(t, int8(ActivationRelu), o.int8(0))
			require.False(t, o.has(1))
			require.True(t, o.bool(2))
		}},
		{UnidirectionalSequenceLSTMOptions{CellClip: 0.5, AsymmetricQuantizeInputs: true}, 71, func(t *testing.T, o table) {
			require.Equal(t, float32(0.5), o.float(1))
			require.False(t, o.has(3))
			require.True(t, o.bool(4))
		}},
		{ReducerOptions{KeepDims: true}, 27, func(t *testing.T, o table) { require.True(t, o.bool(0)) }},
		{ResizeBilinearOptions{HalfPixelCenters: true}, 15, func(t *testing.T, o table) {
			require.False(t, o.bool(2))
			require.True(t, o.bool(3))
		}},
		{CastOptions{InDataType: Int32, OutDataType: Float16}, 37, func(t *testing.T, o table) {
			require.Equal(t, int8(Int32), o.int8(0))
			require.Equal(t, int8(Float16), o.int8(1))
		}},
		{RawOptions{Union: 75, Fields: []Field{FloatField(0, 0.1)}}, 75, func(t *testing.T, o table) { require.Equal(t, float32(0.1), o.float(0)) }},
		{RawOptions{Union: 22}, 22, func(t *testing.T, o table) { require.False(t, o.has(0)) }},
	} {
		t.Run(fmt.Sprintf("%T", tc.options), func(t *testing.T) {
			m := &Model{Subgraphs: []Subgraph{{Operators: []Op{{Code: OpSoftmax, Options: tc.options}}}}}
			file, err := m.Marshal()
			require.NoError(t, err)
			op := rootOf(t, file, "TFL3").tables(2)[0].tables(3)[0]
			require.Equal(t, int8(tc.union), op.int8(3))
			tc.check(t, op.child(4))
		})
	}
}

// TestOptionsAgainstSchema compares the numbers written in this package with the schema facts beside the checkout.
func TestOptionsAgainstSchema(t *testing.T) {
	raw, err := os.ReadFile(nntest.Shared(t, "nnapi", "tflite-schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Unions map[string]map[string]int
		Tables map[string][]struct {
			Name, Type string
			Slot       int
		}
		Enums map[string]struct{ Values map[string]int }
	}
	require.NoError(t, json.Unmarshal(raw, &schema))
	kinds := map[string]kind{"bool": kindBool, "int": kindInt32, "float": kindFloat, "[int]": kindInts}
	for _, o := range allOptions {
		name := reflect.TypeOf(o).Name()
		t.Run(name, func(t *testing.T) {
			union, fields := tableOf(o)
			require.Equal(t, schema.Unions["BuiltinOptions"][name], int(union))
			types := map[int]string{}
			for _, f := range schema.Tables[name] {
				types[f.Slot] = f.Type
			}
			for _, f := range fields {
				typ, ok := types[f.slot]
				require.True(t, ok, "slot %d", f.slot)
				want, ok := kinds[typ]
				if !ok {
					want = kindInt8 // an enumeration
				}
				require.Equal(t, want, f.kind, "slot %d", f.slot)
			}
		})
	}
	for typ := Float32; typ <= Uint4; typ++ {
		require.Equal(t, schema.Enums["TensorType"].Values[typ.String()], int(typ), typ)
	}
}
