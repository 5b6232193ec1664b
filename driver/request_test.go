package driver_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/gpu/null"
)

// brokenMemory cannot be mapped.
type brokenMemory struct{}

func (brokenMemory) Size() int64            { return 100 }
func (brokenMemory) Bytes() ([]byte, error) { return nil, errors.New("gone") }

type badRequest struct {
	name string
	do   func(r *nn.Request)
}

// refuse runs each changed request and requires INVALID_ARGUMENT, no result, and an untouched backend.
func refuse(t *testing.T, m *nn.Model, request func() *nn.Request, cases []badRequest) {
	t.Helper()
	b := &null.Backend{}
	pm := prepare(t, b, m)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			r := request()
			tc.do(r)
			res, err := pm.Execute(t.Context(), r)
			require.Nil(t, res)
			requireStatus(t, nn.StatusInvalidArgument, err)
			res, err = pm.ExecuteAsync(t.Context(), r).Wait()
			require.Nil(t, res)
			requireStatus(t, nn.StatusInvalidArgument, err)
		})
	}
	require.Equal(t, compiled(m), b.Calls())
}

// compiled are the calls of a backend that prepared m: an open one waits for its dimensions.
func compiled(m *nn.Model) []string {
	if validate.Open(m) {
		return nil
	}
	return []string{"compile"}
}

func TestR1ArgumentsMustBeComplete(t *testing.T) {
	refuse(t, addModel(), addRequest, []badRequest{
		{"an input removed", func(r *nn.Request) { r.Inputs = r.Inputs[1:] }},
		{"no inputs", func(r *nn.Request) { r.Inputs = nil }},
		{"an output removed", func(r *nn.Request) { r.Outputs = nil }},
		{"an input too many", func(r *nn.Request) { r.Inputs = append(r.Inputs, r.Inputs[0]) }},
		{"empty", func(r *nn.Request) { *r = nn.Request{} }},
	})
	_, err := prepare(t, &null.Backend{}, addModel()).Execute(t.Context(), nil)
	requireStatus(t, nn.StatusInvalidArgument, err)
}

func TestR3ArgumentsMustLieInTheirPools(t *testing.T) {
	refuse(t, addModel(), addRequest, []badRequest{
		{"pool out of range", func(r *nn.Request) { r.Inputs[0].Location.PoolIndex = 1 }},
		{"no pools", func(r *nn.Request) { r.Pools = nil }},
		{"a byte too far", func(r *nn.Request) { r.Outputs[0].Location.Offset = 19 }},
		{"offset wraps around", func(r *nn.Request) { r.Inputs[1].Location.Offset = 1<<32 - 3 }},
		{"padding outside", func(r *nn.Request) { r.Outputs[0].Location.Padding = 3 }},
		{"pool that shrank", func(r *nn.Request) { r.Pools[0] = r.Pools[0].(nn.HostMemory)[:21] }},
	})
}

func TestR4NoValueMustBeEmptyAndAllowed(t *testing.T) {
	refuse(t, addModel(), addRequest, []badRequest{
		{"with a location", func(r *nn.Request) { r.Inputs[0].HasNoValue = true }},
		{"with dimensions", func(r *nn.Request) { r.Inputs[0] = nn.RequestArgument{HasNoValue: true, Dims: nn.Dims{2, 3}} }},
		{"of a needed input", func(r *nn.Request) { r.Inputs[0] = nn.RequestArgument{HasNoValue: true} }},
		{"of an output", func(r *nn.Request) { r.Outputs[0] = nn.RequestArgument{HasNoValue: true} }},
	})
}

// TestR4OptionalInputMayBeOmitted: the axes of SQUEEZE.
// TestR4OptionalInputMayBeOmitted: by a request, as X13 says; what the backend gets is nothing.
func TestR4OptionalInputMayBeOmitted(t *testing.T) {
	var mb nn.Builder
	x := mb.Input(nn.TensorFloat32, nn.Dims{1, 3}, 0, 0)
	axes := mb.Input(nn.TensorInt32, nn.Dims{1}, 0, 0)
	y := mb.Temp(nn.TensorFloat32, nn.Dims{3}, 0, 0)
	mb.Op(nn.OpSqueeze, []uint32{x, axes}, []uint32{y})
	mb.Output(y)
	var got [][]byte
	pm := prepare(t, &null.Backend{Compute: func(inputs, _ [][]byte) error {
		got = slices.Clone(inputs)
		return nil
	}}, nntest.Build(&mb))
	_, err := pm.Run(t.Context(), [][]byte{make([]byte, 12), nil}, pm.NewOutputs())
	require.NoError(t, err)
	require.Len(t, got[0], 12)
	require.Nil(t, got[1])
}

// openModel is y = RELU(x) with dimensions that the model leaves to the request.
func openModel(x, y nn.Dims) *nn.Model {
	var b nn.Builder
	in := b.Input(nn.TensorQuant8Asymm, x, 1, 0)
	out := b.Temp(nn.TensorQuant8Asymm, y, 1, 0)
	b.Op(nn.OpRelu, []uint32{in}, []uint32{out})
	b.Output(out)
	return nntest.Build(&b)
}

func openRequest() *nn.Request {
	return &nn.Request{
		Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: 6}, Dims: nn.Dims{2, 3}}},
		Outputs: []nn.RequestArgument{{Location: nn.Location{Offset: 8, Length: 6}}},
		Pools:   []nn.Memory{make(nn.HostMemory, 20)},
	}
}

func TestR5InputDimensionsMustBeKnown(t *testing.T) {
	refuse(t, openModel(nn.Dims{0, 3}, nn.Dims{0, 3}), openRequest, []badRequest{
		{"left off", func(r *nn.Request) { r.Inputs[0].Dims = nil }},
		{"left open", func(r *nn.Request) { r.Inputs[0].Dims = nn.Dims{0, 3} }},
	})
	refuse(t, openModel(nil, nil), openRequest, []badRequest{
		{"unknown rank", func(r *nn.Request) { r.Inputs[0].Dims = nil }},
	})
	_, err := prepare(t, &null.Backend{}, openModel(nn.Dims{0, 3}, nn.Dims{0, 3})).Execute(t.Context(), openRequest())
	require.NoError(t, err)
}

func TestR6KnownDimensionsMustStay(t *testing.T) {
	refuse(t, addModel(), addRequest, []badRequest{
		{"another size", func(r *nn.Request) { r.Inputs[0].Dims = nn.Dims{3, 2} }},
		{"another rank", func(r *nn.Request) { r.Inputs[0].Dims = nn.Dims{6} }},
		{"of the output", func(r *nn.Request) { r.Outputs[0].Dims = nn.Dims{1, 6} }},
	})
	// The model leaves the output open; its input says what it is.
	refuse(t, openModel(nn.Dims{2, 3}, nil), openRequest, []badRequest{
		{"of an inferred output", func(r *nn.Request) { r.Outputs[0].Dims = nn.Dims{3, 2} }},
		{"rank of an inferred output", func(r *nn.Request) { r.Outputs[0].Dims = nn.Dims{6} }},
	})
}

func TestR7LengthMustMatch(t *testing.T) {
	refuse(t, addModel(), addRequest, []badRequest{
		{"a byte short", func(r *nn.Request) { r.Inputs[0].Location.Length = 5 }},
		{"a byte more", func(r *nn.Request) { r.Inputs[1].Location.Length = 7 }},
		{"nothing", func(r *nn.Request) { r.Inputs[0].Location.Length = 0 }},
		{"a short output", func(r *nn.Request) { r.Outputs[0].Location.Length = 5 }},
		{"a long output", func(r *nn.Request) { r.Outputs[0].Location.Length = 8 }},
	})
}

// TestR7OpenOutputTakesWhatItNeeds: length is the room there, and what is behind the output stays (X4).
func TestR7OpenOutputTakesWhatItNeeds(t *testing.T) {
	for name, y := range map[string]nn.Dims{"rank": nil, "a size": {0, 3}, "all sizes": {0, 0}} {
		t.Run(name, func(t *testing.T) {
			pm := prepare(t, &null.Backend{Compute: func(_, outputs [][]byte) error {
				for i := range outputs[0] {
					outputs[0][i] = 7
				}
				return nil
			}}, openModel(nn.Dims{2, 3}, y))
			require.Len(t, pm.NewOutputs()[0], 6)
			r := openRequest()
			r.Outputs[0].Location.Length = 11
			res, err := pm.Execute(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{2, 3}, IsSufficient: true}}, res.Shapes)
			pool := r.Pools[0].(nn.HostMemory)
			require.Equal(t, bytes.Repeat([]byte{7}, 6), []byte(pool[8:14]))
			require.Equal(t, make([]byte, 6), []byte(pool[14:]))
		})
	}
}

// TestX5TooLittleRoomSaysHowMuchIsNeeded, for the output that lacks it.
func TestX5TooLittleRoomSaysHowMuchIsNeeded(t *testing.T) {
	m := openModel(nn.Dims{2, 3}, nn.Dims{0, 3})
	m.Main.Operands = append(m.Main.Operands, nn.Operand{Type: nn.TensorQuant8Asymm, Dims: nn.Dims{0, 0}, Scale: 1, Lifetime: nn.SubgraphOutput})
	m.Main.Operations = append(m.Main.Operations, nn.Operation{Type: nn.OpRelu, Inputs: []uint32{0}, Outputs: []uint32{2}})
	m.Main.Outputs = append(m.Main.Outputs, 2)
	b := &null.Backend{}
	pm := prepare(t, b, m)
	r := openRequest()
	r.Outputs = append(r.Outputs, nn.RequestArgument{Location: nn.Location{Offset: 14, Length: 6}})
	r.Outputs[0].Location.Length = 5
	res, err := pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusOutputInsufficientSize, err)
	require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{2, 3}}, {Dims: nn.Dims{2, 3}, IsSufficient: true}}, res.Shapes)
	require.Equal(t, []string{"compile"}, b.Calls())
}

func TestR8PoolMustBeMemory(t *testing.T) {
	refuse(t, addModel(), addRequest, []badRequest{
		{"none", func(r *nn.Request) { r.Pools[0] = nil }},
		{"one that no argument uses", func(r *nn.Request) { r.Pools = append(r.Pools, nil) }},
	})
}

func TestR10OutputsMustNotOverlap(t *testing.T) {
	refuse(t, addModel(), addRequest, []badRequest{
		{"with an input", func(r *nn.Request) { r.Outputs[0].Location = r.Inputs[0].Location }},
		{"with the last byte of an input", func(r *nn.Request) { r.Outputs[0].Location.Offset = 13 }},
		{"through another pool of the same memory", func(r *nn.Request) {
			r.Pools = append(r.Pools, r.Pools[0].(nn.HostMemory)[4:])
			r.Outputs[0].Location = nn.Location{PoolIndex: 1, Offset: 0, Length: 6}
		}},
	})
	constants := make(nn.HostMemory, 8)
	m := addModel()
	m.Pools = []nn.Memory{constants}
	m.Main.Operands[1].Lifetime = nn.ConstantReference
	m.Main.Operands[1].Location = nn.Location{Offset: 1, Length: 6}
	m.Main.Inputs = m.Main.Inputs[:1]
	refuse(t, m, addRequest, []badRequest{
		{"with a pool of constants", func(r *nn.Request) {
			r.Inputs = r.Inputs[:1]
			r.Pools = append(r.Pools, constants)
			r.Outputs[0].Location = nn.Location{PoolIndex: 1, Length: 6}
		}},
	})
	// Inputs may share memory.
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	r := addRequest()
	r.Inputs[1] = r.Inputs[0]
	_, err := pm.Execute(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, []byte{2, 4, 6, 8, 10, 12}, []byte(r.Pools[0].(nn.HostMemory)[16:22]))
}

// TestR11OnlyOutputsChange: neither the inputs nor what lies around the arguments.
func TestR11OnlyOutputsChange(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	r := addRequest()
	r.Outputs[0].Location.Padding = 2
	pool := r.Pools[0].(nn.HostMemory)
	before := slices.Clone(pool)
	_, err := pm.Execute(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, before[:16], pool[:16])
	require.Equal(t, before[22:], pool[22:])
	require.NotEqual(t, before[16:22], pool[16:22])
}
