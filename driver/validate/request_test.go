package validate_test

import (
	"math"
	"testing"

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
			b, err := validate.Request(m, r)
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
	b, err := validate.Request(m, r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func in(r *nn.Request) *nn.RequestArgument  { return &r.Inputs[0] }
func out(r *nn.Request) *nn.RequestArgument { return &r.Outputs[0] }

func TestRequest(t *testing.T) {
	m, r := baseModel(), baseRequest()
	b, err := validate.Request(m, r)
	if err != nil {
		t.Fatal(err)
	}
	pool := r.Pools[0].(nn.HostMemory)
	if len(b.Inputs[0]) != 105 || &b.Inputs[0][0] != &pool[2] || cap(b.Inputs[0]) != 105 {
		t.Error("input is not bytes 2 to 106 of the pool")
	}
	if len(b.Outputs[0]) != 70 || &b.Outputs[0][0] != &pool[108] {
		t.Error("output is not bytes 108 to 177 of the pool")
	}
	if !b.OutputDims[0].Equal(nn.Dims{1, 5, 7, 2}) {
		t.Errorf("output dimensions %v", b.OutputDims[0])
	}
	if _, err := validate.Request(m, nil); nn.StatusOf(err) != nn.StatusInvalidArgument {
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
	if b.Inputs[1] != nil {
		t.Error("omitted input has bytes")
	}
	m, r := baseModel(), baseRequest()
	optional(m)
	r.Inputs = append(r.Inputs, nn.RequestArgument{HasNoValue: true})
	m.Main.Operations = nil
	if _, err := validate.Request(m, r); nn.StatusOf(err) != nn.StatusInvalidArgument {
		t.Error("without operations: ", err)
	}
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
	b := accept(t, func(m *nn.Model, r *nn.Request) {
		m.Main.Operands[output].Dims = nil
		out(r).Location.Length = 72
	})
	if len(b.Outputs[0]) != 72 {
		t.Errorf("room %d", len(b.Outputs[0]))
	}
}

// Until a pool can be a token, a pool that is no memory is the only one of this kind.
func TestR8PoolWithoutMemory(t *testing.T) {
	refuseRequest(t, []requestChange{
		{"nil", func(_ *nn.Model, r *nn.Request) { r.Pools[1] = nil }},
	})
}

func TestR10Overlap(t *testing.T) {
	twoOutputs := func(m *nn.Model, r *nn.Request, offset uint32) {
		m.Main.Operands[conv].Lifetime = nn.SubgraphOutput
		m.Main.Outputs = append(m.Main.Outputs, conv)
		r.Outputs = append(r.Outputs, nn.RequestArgument{Location: nn.Location{PoolIndex: 1, Offset: offset, Length: 70}})
	}
	refuseRequest(t, []requestChange{
		{"output begins in the input", func(_ *nn.Model, r *nn.Request) { out(r).Location.Offset = 106 }},
		{"output ends in the input", func(_ *nn.Model, r *nn.Request) { in(r).Location.Offset = 69; out(r).Location.Offset = 0 }},
		{"output within the input", func(_ *nn.Model, r *nn.Request) { out(r).Location.Offset = 10 }},
		{"the same memory as two pools", func(_ *nn.Model, r *nn.Request) {
			r.Pools[1] = r.Pools[0]
			out(r).Location = nn.Location{PoolIndex: 1, Offset: 40, Length: 70}
		}},
		{"two outputs", func(m *nn.Model, r *nn.Request) {
			out(r).Location.PoolIndex = 1
			twoOutputs(m, r, 60)
		}},
		{"pool of constants", func(m *nn.Model, r *nn.Request) { m.Pools[0] = r.Pools[0] }},
		{"input between, output reaches over it", func(m *nn.Model, r *nn.Request) {
			m.Pools[0] = r.Pools[0].(nn.HostMemory)[100:116]
		}},
	})
	accept(t, func(m *nn.Model, r *nn.Request) { twoOutputs(m, r, 0) })
	accept(t, func(m *nn.Model, r *nn.Request) { // inputs may share bytes
		m.Main.Operands = append(m.Main.Operands, m.Main.Operands[input])
		m.Main.Inputs = append(m.Main.Inputs, uint32(len(m.Main.Operands)-1))
		r.Inputs = append(r.Inputs, *in(r))
	})
}
