package validate_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// The tests carry the names of the rules in the collection of NNAPI's behaviour: V1 .. V23.

func on(i int, f func(o *nn.Operand)) func(*nn.Model) {
	return func(m *nn.Model) { f(&m.Main.Operands[i]) }
}

func TestV1RunOrder(t *testing.T) {
	refuse(t, []change{
		{"reader before writer", func(m *nn.Model) {
			op := m.Main.Operations
			op[0], op[1] = op[1], op[0]
		}},
		{"reads its own output", func(m *nn.Model) { m.Main.Operations[1].Inputs[0] = output }},
	})
}

func TestV2OperandType(t *testing.T) {
	refuse(t, []change{
		{"-1", on(input, func(o *nn.Operand) { o.Type = -1 })},
		{"last + 1", on(conv, func(o *nn.Operand) { o.Type = nn.SubgraphRef + 1 })},
		{"OEM", on(stride, func(o *nn.Operand) { o.Type = 10000 })},
	})
}

func TestV3ScalarRank(t *testing.T) {
	refuse(t, []change{
		{"[0]", on(stride, func(o *nn.Operand) { o.Dims = nn.Dims{0} })},
		{"[1]", on(act, func(o *nn.Operand) { o.Dims = nn.Dims{1} })},
	})
}

func TestV4Scale(t *testing.T) {
	set := func(i int, s float32) change {
		return change{fmt.Sprintf("operand %d: %v", i, s), on(i, func(o *nn.Operand) { o.Scale = s })}
	}
	refuse(t, []change{
		set(stride, 1), set(input, 0), set(input, -1), set(filter, 0), set(bias, -1),
		set(input, float32(math.NaN())), set(conv, float32(math.Inf(1))),
		{"float", on(input, func(o *nn.Operand) { o.Type, o.ZeroPoint, o.Scale = nn.TensorFloat32, 0, 1 })},
		{"bool", on(stride, func(o *nn.Operand) { o.Type, o.Scale = nn.Bool, 1 })},
	})
}

func TestV5ZeroPoint(t *testing.T) {
	set := func(i int, z int32) change {
		return change{fmt.Sprintf("operand %d: %d", i, z), on(i, func(o *nn.Operand) { o.ZeroPoint = z })}
	}
	typed := func(typ nn.OperandType, z int32) change {
		return change{fmt.Sprintf("%v: %d", typ, z), on(input, func(o *nn.Operand) { o.Type, o.ZeroPoint = typ, z })}
	}
	refuse(t, []change{
		set(stride, 1), set(bias, 1), set(input, -1), set(input, 256),
		typed(nn.TensorQuant8Symm, -1), typed(nn.TensorQuant8Symm, 1),
		typed(nn.TensorQuant8Symm, -129), typed(nn.TensorQuant8Symm, 128),
		typed(nn.TensorQuant8AsymmSigned, -129), typed(nn.TensorQuant8AsymmSigned, 128),
		typed(nn.TensorQuant16Asymm, -1), typed(nn.TensorQuant16Asymm, 65536),
		typed(nn.TensorQuant16Symm, 1), typed(nn.TensorQuant16Symm, -32769),
	})
}

func TestV6LifetimeWithLists(t *testing.T) {
	refuse(t, []change{
		{"output becomes input", func(m *nn.Model) {
			m.Main.Operands[output].Lifetime = nn.SubgraphInput
			m.Main.Inputs, m.Main.Outputs = append(m.Main.Inputs, output), nil
		}},
		{"temporary becomes input", func(m *nn.Model) {
			m.Main.Operands[conv].Lifetime = nn.SubgraphInput
			m.Main.Inputs = append(m.Main.Inputs, conv)
		}},
		{"temporary becomes constant", func(m *nn.Model) {
			o := &m.Main.Operands[conv]
			o.Lifetime, o.Location = nn.ConstantCopy, nn.Location{Offset: uint32(len(m.Values)), Length: 70}
			m.Values = append(m.Values, make([]byte, 70)...)
		}},
		{"constant becomes temporary", on(filter, func(o *nn.Operand) { o.Lifetime, o.Location = nn.Temporary, nn.Location{} })},
		{"input becomes output", func(m *nn.Model) {
			m.Main.Operands[input].Lifetime = nn.SubgraphOutput
			m.Main.Inputs, m.Main.Outputs = nil, append(m.Main.Outputs, input)
		}},
		{"input becomes temporary", func(m *nn.Model) {
			m.Main.Operands[input].Lifetime = nn.Temporary
			m.Main.Inputs = nil
		}},
	})
}

func TestV7LifetimeWithoutLists(t *testing.T) {
	refuse(t, []change{
		{"constant to input", on(filter, func(o *nn.Operand) { o.Lifetime, o.Location = nn.SubgraphInput, nn.Location{} })},
		{"input to constant", func(m *nn.Model) {
			o := &m.Main.Operands[input]
			o.Lifetime, o.Location = nn.ConstantCopy, nn.Location{Offset: uint32(len(m.Values)), Length: 105}
			m.Values = append(m.Values, make([]byte, 105)...)
		}},
		{"output to temporary", on(output, func(o *nn.Operand) { o.Lifetime = nn.Temporary })},
		{"temporary to output", on(conv, func(o *nn.Operand) { o.Lifetime = nn.SubgraphOutput })},
		{"unknown lifetime", on(conv, func(o *nn.Operand) { o.Lifetime = 7 })},
	})
}

func TestV8SecondWriter(t *testing.T) {
	refuse(t, []change{
		{"another operation", func(m *nn.Model) { m.Main.Operations = append(m.Main.Operations, m.Main.Operations[1]) }},
		{"same operation", func(m *nn.Model) { m.Main.Operations[1].Outputs = []uint32{output, output} }},
		{"a constant", func(m *nn.Model) { m.Main.Operations[1].Outputs[0] = filter }},
		{"an input", func(m *nn.Model) { m.Main.Operations[1].Outputs[0] = input }},
	})
}

func TestV9OperandTypes(t *testing.T) {
	refuse(t, []change{
		{"signedness of the filter", on(filter, func(o *nn.Operand) { o.Type = nn.TensorQuant8AsymmSigned })},
		{"signedness of the output", on(output, func(o *nn.Operand) { o.Type = nn.TensorQuant8AsymmSigned })},
		{"float stride", on(stride, func(o *nn.Operand) { o.Type = nn.Float32 })},
		{"float bias", on(bias, func(o *nn.Operand) { o.Type, o.Scale = nn.TensorFloat32, 0 })},
	})
}

func TestV10OperationType(t *testing.T) {
	set := func(v nn.OperationType) change {
		return change{v.String(), func(m *nn.Model) { m.Main.Operations[1].Type = v }}
	}
	refuse(t, []change{set(-1), set(nn.OpReverse + 1), set(math.MaxInt32)})
}

func TestV11OperandIndex(t *testing.T) {
	n := uint32(len(baseModel().Main.Operands))
	refuse(t, []change{
		{"operation input", func(m *nn.Model) { m.Main.Operations[0].Inputs[3] = n }},
		{"operation output", func(m *nn.Model) { m.Main.Operations[0].Outputs[0] = n }},
		{"model input", func(m *nn.Model) { m.Main.Inputs[0] = n }},
		{"model output", func(m *nn.Model) { m.Main.Outputs[0] = math.MaxUint32 }},
	})
}

func TestV12WriterGone(t *testing.T) {
	refuse(t, []change{{"write to a new operand", func(m *nn.Model) {
		m.Main.Operands = append(m.Main.Operands, m.Main.Operands[conv])
		m.Main.Operations[0].Outputs[0] = uint32(len(m.Main.Operands) - 1)
	}}})
}

func TestV13OperandRemoved(t *testing.T) {
	var changes []change
	for i := range baseModel().Main.Operands {
		changes = append(changes, change{fmt.Sprint(i), func(m *nn.Model) { removeOperand(m, uint32(i)) }})
	}
	refuse(t, changes)
}

func TestV14OperationRemoved(t *testing.T) {
	refuse(t, []change{
		{"first", func(m *nn.Model) { m.Main.Operations = m.Main.Operations[1:] }},
		{"last", func(m *nn.Model) { m.Main.Operations = m.Main.Operations[:1] }},
	})
}

func TestV15InputRemoved(t *testing.T) {
	var changes []change
	for i := range baseModel().Main.Operations[0].Inputs {
		changes = append(changes, change{fmt.Sprint(i), func(m *nn.Model) {
			in := &m.Main.Operations[0].Inputs
			*in = append((*in)[:i], (*in)[i+1:]...)
		}})
	}
	refuse(t, append(changes, change{"only input", func(m *nn.Model) { m.Main.Operations[1].Inputs = nil }}))
}

func TestV16OutputRemoved(t *testing.T) {
	refuse(t, []change{
		{"read", func(m *nn.Model) { m.Main.Operations[0].Outputs = nil }},
		{"model output", func(m *nn.Model) { m.Main.Operations[1].Outputs = nil }},
	})
}

func TestV17ExtraInput(t *testing.T) {
	for i := range baseModel().Main.Operations {
		refuse(t, []change{{fmt.Sprint(i), func(m *nn.Model) { appendInput(m, i) }}})
	}
}

func TestV18ExtraOutput(t *testing.T) {
	for i := range baseModel().Main.Operations {
		refuse(t, []change{{fmt.Sprint(i), func(m *nn.Model) { appendOutput(m, i) }}})
	}
}

func TestV19Preference(t *testing.T) {
	for v, ok := range map[nn.Preference]bool{-1: false, 0: true, 1: true, 2: true, 3: false} {
		if err := validate.Preference(v); (err == nil) != ok || !ok && nn.StatusOf(err) != nn.StatusInvalidArgument {
			t.Errorf("%d: %v", v, err)
		}
	}
}

func TestV20Priority(t *testing.T) {
	for v, ok := range map[nn.Priority]bool{-1: false, 0: true, 1: true, 2: true, 3: false} {
		if err := validate.Priority(v); (err == nil) != ok || !ok && nn.StatusOf(err) != nn.StatusInvalidArgument {
			t.Errorf("%d: %v", v, err)
		}
	}
}

// perChannel turns the filter into one with a scale for each output channel.
func perChannel(m *nn.Model) *nn.Operand {
	f := &m.Main.Operands[filter]
	f.Type, f.Scale, f.ZeroPoint = nn.TensorQuant8PerChannel, 0, 0
	f.Channel = &nn.ChannelQuant{Scales: []float32{0.5, 0.25}}
	m.Main.Operands[bias].Scale = 0
	return f
}

func TestV21Structure(t *testing.T) {
	m := baseModel()
	perChannel(m)
	if err := validate.Model(m); err != nil {
		t.Fatal(err)
	}
	channel := func(f func(o *nn.Operand)) func(*nn.Model) {
		return func(m *nn.Model) { f(perChannel(m)) }
	}
	refuse(t, []change{
		{"no operands", func(m *nn.Model) { m.Main.Operands = nil }},
		{"no operations", func(m *nn.Model) { m.Main.Operations = nil }},
		{"input listed twice", func(m *nn.Model) { m.Main.Inputs = []uint32{input, input} }},
		{"output listed twice", func(m *nn.Model) { m.Main.Outputs = []uint32{output, output} }},
		{"input not listed", func(m *nn.Model) { m.Main.Inputs = nil }},
		{"output not listed", func(m *nn.Model) { m.Main.Outputs = nil }},
		{"values too short", func(m *nn.Model) { m.Values = m.Values[:len(m.Values)-1] }},
		{"offset wraps", on(filter, func(o *nn.Operand) { o.Location.Offset = math.MaxUint32 - 10 })},
		{"outside the pool", on(bias, func(o *nn.Operand) { o.Location.Offset = 9 })},
		{"pool index", on(bias, func(o *nn.Operand) { o.Location.PoolIndex = 1 })},
		{"nil pool", func(m *nn.Model) { m.Pools = []nn.Memory{nil} }},
		{"too long", on(bias, func(o *nn.Operand) { o.Location.Offset, o.Location.Length = 0, 16 })},
		{"too short", on(stride, func(o *nn.Operand) { o.Location.Length = 3 })},
		{"padding", on(bias, func(o *nn.Operand) { o.Location.Offset, o.Location.Padding = 0, 8 })},
		{"open constant", on(filter, func(o *nn.Operand) { o.Dims[0] = 0 })},
		{"constant of open rank", on(filter, func(o *nn.Operand) { o.Dims, o.Location.Length = nil, 1 })},
		{"too many elements", on(conv, func(o *nn.Operand) { o.Dims = nn.Dims{1 << 16, 1 << 16, 1, 1} })},
		{"too many bytes", on(input, func(o *nn.Operand) { o.Dims = nn.Dims{math.MaxUint32, 0, 2, 0} })},
		{"no scales", channel(func(o *nn.Operand) { o.Channel = nil })},
		{"too few scales", channel(func(o *nn.Operand) { o.Channel.Scales = o.Channel.Scales[:1] })},
		{"zero scale", channel(func(o *nn.Operand) { o.Channel.Scales[1] = 0 })},
		{"NaN scale", channel(func(o *nn.Operand) { o.Channel.Scales[1] = float32(math.NaN()) })},
		{"channel dimension", channel(func(o *nn.Operand) { o.Channel.ChannelDim = 4 })},
		{"other channel dimension", channel(func(o *nn.Operand) { o.Channel.ChannelDim, o.Channel.Scales = 3, []float32{1, 1, 1} })},
		{"bias scale with per-channel filter", func(m *nn.Model) { perChannel(m); m.Main.Operands[bias].Scale = 0.125 }},
		{"scales of another type", on(filter, func(o *nn.Operand) { o.Channel = &nn.ChannelQuant{Scales: []float32{1, 1}} })},
		{"type without lifetime SUBGRAPH", on(stride, func(o *nn.Operand) { o.Type = nn.SubgraphRef })},
		{"lifetime SUBGRAPH without type", on(stride, func(o *nn.Operand) { o.Lifetime = nn.Subgraph })},
	})
}

// withGraphs adds n copies of the graph as referenced ones.
func withGraphs(m *nn.Model, n int) {
	for range n {
		m.Referenced = append(m.Referenced, cloneGraph(&m.Main))
	}
}

// refer adds a reference to graph target.
func refer(g *nn.Graph, target uint32) {
	g.Operands = append(g.Operands, nn.Operand{Type: nn.SubgraphRef, Lifetime: nn.Subgraph, Location: nn.Location{Offset: target}})
}

func TestV21References(t *testing.T) {
	m := clone(baseModel())
	withGraphs(m, 3)
	refer(&m.Main, 0)
	refer(&m.Referenced[0], 1)
	refer(&m.Referenced[0], 2)
	refer(&m.Referenced[1], 2)
	if err := validate.Model(m); err != nil {
		t.Fatal(err)
	}
	refuse(t, []change{
		{"to itself", func(m *nn.Model) { withGraphs(m, 1); refer(&m.Referenced[0], 0) }},
		{"circle of three", func(m *nn.Model) {
			withGraphs(m, 4)
			refer(&m.Main, 3)
			for i := range uint32(3) {
				refer(&m.Referenced[i], (i+1)%3)
			}
		}},
		{"no such graph", func(m *nn.Model) { withGraphs(m, 1); refer(&m.Main, 1) }},
		{"fault inside", func(m *nn.Model) { withGraphs(m, 1); m.Referenced[0].Operands[stride].Scale = 1 }},
	})
}

func TestV22LocationFields(t *testing.T) {
	refuse(t, []change{
		{"input offset", on(input, func(o *nn.Operand) { o.Location.Offset = 1 })},
		{"temporary length", on(conv, func(o *nn.Operand) { o.Location.Length = 1 })},
		{"output pool", on(output, func(o *nn.Operand) { o.Location.PoolIndex = 1 })},
		{"pool of a copied constant", on(filter, func(o *nn.Operand) { o.Location.PoolIndex = 1 })},
		{"length of a reference", func(m *nn.Model) {
			withGraphs(m, 1)
			refer(&m.Main, 0)
			m.Main.Operands[len(m.Main.Operands)-1].Location.Length = 4
		}},
		{"omitted", func(m *nn.Model) {
			m.Main.Operands = append(m.Main.Operands, nn.Operand{Type: nn.TensorInt32, Lifetime: nn.NoValue, Location: nn.Location{Offset: 1}})
		}},
	})
}

// Without inputs: all that is read is constant.
func TestV23EmptyLists(t *testing.T) {
	m := clone(baseModel())
	o := &m.Main.Operands[input]
	o.Lifetime, o.Location = nn.ConstantCopy, nn.Location{Offset: uint32(len(m.Values)), Length: 105}
	m.Values = append(m.Values, make([]byte, 105)...)
	m.Main.Operands[output].Lifetime = nn.Temporary
	m.Main.Inputs, m.Main.Outputs = nil, nil
	if err := validate.Model(m); err != nil {
		t.Error(err)
	}
}

func TestStatedShapes(t *testing.T) {
	refuse(t, []change{
		{"temporary", on(conv, func(o *nn.Operand) { o.Dims[1] = 6 })},
		{"rank", on(output, func(o *nn.Operand) { o.Dims = nn.Dims{70} })},
		{"partly open", on(output, func(o *nn.Operand) { o.Dims = nn.Dims{0, 0, 0, 3} })},
		{"channels", on(input, func(o *nn.Operand) { o.Dims[3] = 4 })},
	})
}

// TestMissingOperandIsNamed: the operand that a list lacks has a name.
func TestMissingOperandIsNamed(t *testing.T) {
	m := clone(baseModel())
	m.Main.Operations[0].Inputs = m.Main.Operations[0].Inputs[:6]
	err := validate.Model(m)
	if err == nil || !strings.HasPrefix(err.Error(), "operation 0 (CONV_2D): INVALID_ARGUMENT: operand 6 (activation) is missing") {
		t.Error(err)
	}
	m = clone(baseModel())
	m.Main.Operations[1].Inputs = append(m.Main.Operations[1].Inputs, act)
	if err = validate.Model(m); err == nil || !strings.Contains(err.Error(), "2 inputs; the last is operand 0 (input)") {
		t.Error(err)
	}
}

func TestMessages(t *testing.T) {
	m := clone(baseModel())
	m.Main.Operations[0].Inputs = m.Main.Operations[0].Inputs[1:]
	if err := validate.Model(m); err == nil || !strings.HasPrefix(err.Error(), "operation 0 (CONV_2D): INVALID_ARGUMENT: ") {
		t.Error(err)
	}
	m = clone(baseModel())
	m.Main.Operands[conv].Scale = 0
	if err := validate.Model(m); err == nil || !strings.HasPrefix(err.Error(), "operand 6: ") {
		t.Error(err)
	}
}
