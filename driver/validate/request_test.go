package validate_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// baseRequest fits baseModel: input of 105 bytes and output of 70 in one pool, with a byte between.
func baseRequest() *nn.Request {
	return &nn.Request{
		Inputs:  []nn.RequestArgument{{Location: nn.Location{Offset: 2, Length: 105}}},
		Outputs: []nn.RequestArgument{{Location: nn.Location{Offset: 108, Length: 70}}},
		Pools:   []nn.Memory{nn.HostMemory(make([]byte, 180)), nn.HostMemory(make([]byte, 200))},
	}
}

// check is what becomes of a request to a model.
func check(m *nn.Model, r *nn.Request) (*validate.Bound, error) {
	return validate.Request(&m.Main, validate.Needed(m), r)
}

type requestChange struct {
	name string
	do   func(m *nn.Model, r *nn.Request)
}

func refuseRequest(t *testing.T, changes []requestChange) {
	t.Helper()
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			m, r := baseModel(), baseRequest()
			c.do(m, r)
			if err := validate.Model(m); err != nil {
				t.Fatal("model: ", err)
			}
			b, err := check(m, r)
			if err == nil || b != nil {
				t.Fatalf("bound: %t, error %v", b != nil, err)
			}
			if s := nn.StatusOf(err); s != nn.StatusInvalidArgument {
				t.Fatalf("status %v: %v", s, err)
			}
			t.Log(err)
		})
	}
}

// accept binds a changed request and returns what it got.
func accept(t *testing.T, do func(m *nn.Model, r *nn.Request)) *validate.Bound {
	t.Helper()
	m, r := baseModel(), baseRequest()
	do(m, r)
	if err := validate.Model(m); err != nil {
		t.Fatal("model: ", err)
	}
	b, err := check(m, r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func in(r *nn.Request) *nn.RequestArgument  { return &r.Inputs[0] }
func out(r *nn.Request) *nn.RequestArgument { return &r.Outputs[0] }

func TestRequest(t *testing.T) {
	m, r := baseModel(), baseRequest()
	b, err := check(m, r)
	if err != nil {
		t.Fatal(err)
	}
	if !b.InputDims[0].Equal(nn.Dims{1, 5, 7, 3}) || !b.OutputDims[0].Equal(nn.Dims{1, 5, 7, 2}) {
		t.Errorf("dimensions %v, %v", b.InputDims[0], b.OutputDims[0])
	}
	if _, err := check(m, nil); nn.StatusOf(err) != nn.StatusInvalidArgument {
		t.Error(err)
	}
}

func TestR1ArgumentCount(t *testing.T) {
	refuseRequest(t, []requestChange{
		{"input removed", func(_ *nn.Model, r *nn.Request) { r.Inputs = nil }},
		{"output removed", func(_ *nn.Model, r *nn.Request) { r.Outputs = nil }},
		{"input added", func(_ *nn.Model, r *nn.Request) { r.Inputs = append(r.Inputs, *in(r)) }},
	})
}

func TestR3Location(t *testing.T) {
	refuseRequest(t, []requestChange{
		{"pool index", func(_ *nn.Model, r *nn.Request) { in(r).Location.PoolIndex = 2 }},
		{"no pools", func(_ *nn.Model, r *nn.Request) { r.Pools = nil }},
		{"one byte too far", func(_ *nn.Model, r *nn.Request) { out(r).Location.Offset = 111 }},
		{"offset wraps", func(_ *nn.Model, r *nn.Request) { in(r).Location.Offset = math.MaxUint32 - 50 }},
		{"padding outside", func(_ *nn.Model, r *nn.Request) { out(r).Location.Padding = 3 }},
	})
	accept(t, func(_ *nn.Model, r *nn.Request) { out(r).Location.Padding = 2 })
}

func TestR4NoValue(t *testing.T) {
	refuseRequest(t, []requestChange{
		{"with a location", func(_ *nn.Model, r *nn.Request) { in(r).HasNoValue = true }},
		{"with dimensions", func(_ *nn.Model, r *nn.Request) {
			*in(r) = nn.RequestArgument{HasNoValue: true, Dims: nn.Dims{1, 5, 7, 3}}
		}},
		{"needed input", func(_ *nn.Model, r *nn.Request) { *in(r) = nn.RequestArgument{HasNoValue: true} }},
		{"output", func(_ *nn.Model, r *nn.Request) { *out(r) = nn.RequestArgument{HasNoValue: true} }},
	})
	optional := func(m *nn.Model) {
		m.Main.Operands = append(m.Main.Operands, nn.Operand{Type: nn.TensorInt32, Dims: nn.Dims{0}, Lifetime: nn.SubgraphInput})
		m.Main.Inputs = append(m.Main.Inputs, uint32(len(m.Main.Operands)-1))
		m.Main.Operations[1] = nn.Operation{Type: nn.OpTranspose, Inputs: []uint32{conv, m.Main.Inputs[1]}, Outputs: []uint32{output}}
	}
	b := accept(t, func(m *nn.Model, r *nn.Request) {
		optional(m)
		r.Inputs = append(r.Inputs, nn.RequestArgument{HasNoValue: true})
	})
	if b.InputDims[1] != nil {
		t.Error("omitted input has dimensions")
	}
	m, r := baseModel(), baseRequest()
	optional(m)
	needed := validate.Needed(m)
	require.Equal(t, []string{"operation 0 (CONV_2D)", ""}, needed)
	// Without the operations it is known all the same.
	g := nn.Graph{Operands: m.Main.Operands, Inputs: m.Main.Inputs, Outputs: m.Main.Outputs}
	r.Inputs = append(r.Inputs, nn.RequestArgument{HasNoValue: true})
	_, err := validate.Request(&g, needed, r)
	require.NoError(t, err)
	*in(r) = nn.RequestArgument{HasNoValue: true}
	_, err = validate.Request(&g, needed, r)
	require.ErrorContains(t, err, "operation 0 (CONV_2D) needs it")
}

// openInput makes height and width of the model's input unknown, and all that follows from them.
func openInput(m *nn.Model) {
	m.Main.Operands[input].Dims = nn.Dims{1, 0, 0, 3}
	m.Main.Operands[conv].Dims = nil
	m.Main.Operands[output].Dims = nn.Dims{0, 0, 0, 2}
}

func TestR5OpenDimensions(t *testing.T) {
	refuseRequest(t, []requestChange{
		{"left open", func(m *nn.Model, r *nn.Request) { openInput(m) }},
		{"left open by the request", func(m *nn.Model, r *nn.Request) { openInput(m); in(r).Dims = nn.Dims{1, 5, 0, 3} }},
		{"rank left open", func(m *nn.Model, r *nn.Request) { openInput(m); m.Main.Operands[input].Dims = nil }},
	})
	b := accept(t, func(m *nn.Model, r *nn.Request) { openInput(m); in(r).Dims = nn.Dims{1, 5, 7, 3} })
	if !b.InputDims[0].Equal(nn.Dims{1, 5, 7, 3}) || !b.OutputDims[0].Equal(nn.Dims{0, 0, 0, 2}) {
		t.Errorf("dimensions %v, %v", b.InputDims, b.OutputDims)
	}
	accept(t, func(m *nn.Model, r *nn.Request) {
		openInput(m)
		m.Main.Operands[input].Dims = nil
		in(r).Dims = nn.Dims{1, 5, 7, 3}
	})
}

func TestR6Dimensions(t *testing.T) {
	refuseRequest(t, []requestChange{
		{"other rank", func(_ *nn.Model, r *nn.Request) { in(r).Dims = nn.Dims{5, 7, 3} }},
		{"known one changed", func(_ *nn.Model, r *nn.Request) { in(r).Dims = nn.Dims{1, 7, 5, 3} }},
		{"known output changed", func(_ *nn.Model, r *nn.Request) { out(r).Dims = nn.Dims{2, 5, 7, 1} }},
		{"too large", func(m *nn.Model, r *nn.Request) {
			openInput(m)
			in(r).Dims = nn.Dims{1, math.MaxUint32, math.MaxUint32, 3}
		}},
	})
	accept(t, func(_ *nn.Model, r *nn.Request) { in(r).Dims = nn.Dims{1, 5, 7, 3} })
	accept(t, func(_ *nn.Model, r *nn.Request) { out(r).Dims = nn.Dims{0, 5, 0, 2} })
}

func TestR7Length(t *testing.T) {
	refuseRequest(t, []requestChange{
		{"input short", func(_ *nn.Model, r *nn.Request) { in(r).Location.Length-- }},
		{"input long", func(_ *nn.Model, r *nn.Request) { in(r).Location.Length++ }},
		{"output short", func(_ *nn.Model, r *nn.Request) { out(r).Location.Length-- }},
		{"output long", func(_ *nn.Model, r *nn.Request) { out(r).Location.Length++ }},
	})
	accept(t, func(m *nn.Model, r *nn.Request) {
		m.Main.Operands[output].Dims = nil
		out(r).Location.Length = 72
	})
}

// sized is a pool of so many bytes that nobody maps.
type sized int64

func (s sized) Size() int64          { return int64(s) }
func (sized) Bytes() ([]byte, error) { panic("mapped") }

func TestR8Tokens(t *testing.T) {
	token := func(r *nn.Request) {
		r.Pools[1] = nn.BufferToken(7)
		*out(r) = nn.RequestArgument{Location: nn.Location{PoolIndex: 1}}
	}
	refuseRequest(t, []requestChange{
		{"token 0", func(_ *nn.Model, r *nn.Request) { token(r); r.Pools[1] = nn.BufferToken(0) }},
		{"token 0 that no argument uses", func(_ *nn.Model, r *nn.Request) { r.Pools[1] = nn.BufferToken(0) }},
		{"offset", func(_ *nn.Model, r *nn.Request) { token(r); out(r).Location.Offset = 1 }},
		{"length", func(_ *nn.Model, r *nn.Request) { token(r); out(r).Location.Length = 70 }},
		{"padding", func(_ *nn.Model, r *nn.Request) { token(r); out(r).Location.Padding = 1 }},
		{"dimensions", func(_ *nn.Model, r *nn.Request) { token(r); out(r).Dims = nn.Dims{2, 5, 7, 2} }},
		{"input without a value", func(_ *nn.Model, r *nn.Request) {
			token(r)
			*in(r) = nn.RequestArgument{HasNoValue: true, Location: nn.Location{PoolIndex: 1}}
		}},
	})
	accept(t, func(_ *nn.Model, r *nn.Request) { token(r) })
	accept(t, func(_ *nn.Model, r *nn.Request) { token(r); out(r).Dims = nn.Dims{1, 5, 0, 2} })
	accept(t, func(_ *nn.Model, r *nn.Request) { r.Pools[1] = nn.BufferToken(7) })
	b := accept(t, func(m *nn.Model, r *nn.Request) { // the buffer may know
		openInput(m)
		r.Pools[1] = nn.BufferToken(7)
		*in(r) = nn.RequestArgument{Location: nn.Location{PoolIndex: 1}, Dims: nn.Dims{0, 5, 0, 3}}
	})
	if !b.InputDims[0].Equal(nn.Dims{1, 5, 0, 3}) {
		t.Errorf("dimensions %v", b.InputDims[0])
	}
}

func TestM27Pools(t *testing.T) {
	refuseRequest(t, []requestChange{
		{"nil", func(_ *nn.Model, r *nn.Request) { r.Pools[1] = nil }},
		{"no bytes", func(_ *nn.Model, r *nn.Request) { r.Pools[1] = sized(0) }},
		{"negative size", func(_ *nn.Model, r *nn.Request) { r.Pools[1] = sized(-5) }},
	})
	accept(t, func(_ *nn.Model, r *nn.Request) { r.Pools[0] = sized(180) }) // not mapped here
}

func TestM29Bounds(t *testing.T) {
	refuseRequest(t, []requestChange{
		{"size", func(_ *nn.Model, r *nn.Request) { r.Pools[0] = sized(177) }},
		{"sum of 32 bits", func(_ *nn.Model, r *nn.Request) {
			r.Pools[0] = sized(180)
			in(r).Location.Offset = math.MaxUint32 - 104
		}},
		{"sum with padding", func(_ *nn.Model, r *nn.Request) {
			r.Pools[0] = sized(math.MaxUint32 + 105)
			in(r).Location.Offset, in(r).Location.Padding = math.MaxUint32, 1
		}},
	})
	accept(t, func(_ *nn.Model, r *nn.Request) { // beyond 4 GiB, within a larger pool
		r.Pools[0] = sized(math.MaxUint32 + 105)
		in(r).Location.Offset = math.MaxUint32
	})
}

// TestManyOmittedInputs: the work for a request is proportional to its size and the model's, not to their product.
func TestManyOmittedInputs(t *testing.T) {
	const n = 200_000
	g := nn.Graph{Operands: make([]nn.Operand, 0, 2*n+2)}
	add := func(l nn.Lifetime) uint32 {
		g.Operands = append(g.Operands, nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{3}, Lifetime: l})
		return uint32(len(g.Operands) - 1)
	}
	x, y := add(nn.SubgraphInput), add(nn.SubgraphOutput)
	g.Inputs, g.Outputs = []uint32{x}, []uint32{y}
	r := &nn.Request{
		Inputs: []nn.RequestArgument{{Location: nn.Location{Length: 12}}}, Outputs: []nn.RequestArgument{{Location: nn.Location{Offset: 12, Length: 12}}},
		Pools: []nn.Memory{make(nn.HostMemory, 24)},
	}
	for range n {
		z := y
		if len(g.Operations) > 0 {
			z = add(nn.Temporary)
		}
		g.Operations = append(g.Operations, nn.Operation{Type: nn.OpRelu, Inputs: []uint32{x}, Outputs: []uint32{z}})
		g.Inputs = append(g.Inputs, add(nn.SubgraphInput)) // which nobody reads
		r.Inputs = append(r.Inputs, nn.RequestArgument{HasNoValue: true})
	}
	m := &nn.Model{Main: g}
	require.NoError(t, validate.Model(m))
	start := time.Now()
	_, err := check(m, r)
	require.NoError(t, err)
	require.Less(t, time.Since(start), 10*time.Second)
	g.Operations[n/2].Inputs[0] = g.Inputs[7]
	_, err = check(m, r)
	require.ErrorContains(t, err, "input 7: ")
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
}
