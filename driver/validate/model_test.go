package validate_test

import (
	"encoding/binary"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// Operands of the model that the rule tests change.
const (
	input, filter, bias, scheme, stride, act, conv, output = 0, 1, 2, 3, 4, 5, 6, 7
)

// baseModel is a small valid model: an 8-bit CONV_2D over 5 x 7 x 3, then RELU. The bias lies in a pool.
func baseModel() *nn.Model {
	m := &nn.Model{}
	constant := func(t nn.OperandType, data ...byte) nn.Operand {
		o := nn.Operand{Type: t, Lifetime: nn.ConstantCopy, Location: nn.Location{Offset: uint32(len(m.Values)), Length: uint32(len(data))}}
		m.Values = append(m.Values, data...)
		return o
	}
	scalar := func(v uint32) nn.Operand {
		return constant(nn.Int32, binary.LittleEndian.AppendUint32(nil, v)...)
	}
	weights := constant(nn.TensorQuant8Asymm, make([]byte, 2*3*3*3)...)
	weights.Dims, weights.Scale, weights.ZeroPoint = nn.Dims{2, 3, 3, 3}, 0.25, 1
	m.Pools = []nn.Memory{nn.HostMemory(make([]byte, 16))}
	image := func(l nn.Lifetime, c uint32) nn.Operand {
		return nn.Operand{Type: nn.TensorQuant8Asymm, Dims: nn.Dims{1, 5, 7, c}, Scale: 0.5, ZeroPoint: 10, Lifetime: l}
	}
	m.Main = nn.Graph{
		Operands: []nn.Operand{
			input:  image(nn.SubgraphInput, 3),
			filter: weights,
			bias: {Type: nn.TensorInt32, Dims: nn.Dims{2}, Scale: 0.125, Lifetime: nn.ConstantReference,
				Location: nn.Location{Offset: 8, Length: 8}},
			scheme: scalar(uint32(nn.PaddingSame)),
			stride: scalar(1),
			act:    scalar(uint32(nn.ActNone)),
			conv:   image(nn.Temporary, 2),
			output: image(nn.SubgraphOutput, 2),
		},
		Operations: []nn.Operation{
			{Type: nn.OpConv2D, Inputs: []uint32{input, filter, bias, scheme, stride, stride, act}, Outputs: []uint32{conv}},
			{Type: nn.OpRelu, Inputs: []uint32{conv}, Outputs: []uint32{output}},
		},
		Inputs:  []uint32{input},
		Outputs: []uint32{output},
	}
	return m
}

// clone copies what the tests change.
func clone(m *nn.Model) *nn.Model {
	c := *m
	c.Main = cloneGraph(&m.Main)
	c.Referenced = nil
	for i := range m.Referenced {
		c.Referenced = append(c.Referenced, cloneGraph(&m.Referenced[i]))
	}
	return &c
}

func cloneGraph(g *nn.Graph) nn.Graph {
	c := nn.Graph{
		Operands:   append([]nn.Operand(nil), g.Operands...),
		Operations: append([]nn.Operation(nil), g.Operations...),
		Inputs:     append([]uint32(nil), g.Inputs...),
		Outputs:    append([]uint32(nil), g.Outputs...),
	}
	for i := range c.Operands {
		o := &c.Operands[i]
		o.Dims = append(nn.Dims(nil), o.Dims...)
	}
	for i := range c.Operations {
		op := &c.Operations[i]
		op.Inputs = append([]uint32(nil), op.Inputs...)
		op.Outputs = append([]uint32(nil), op.Outputs...)
	}
	return c
}

// change makes a valid model invalid.
type change struct {
	name string
	do   func(m *nn.Model)
}

// refuse applies each change to its own copy of the base model.
func refuse(t *testing.T, changes []change) {
	t.Helper()
	refuseFrom(t, baseModel(), changes)
}

// refuseFrom requires that a model with any of the changes is invalid.
func refuseFrom(t *testing.T, base *nn.Model, changes []change) {
	t.Helper()
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			m := clone(base)
			c.do(m)
			err := validate.Model(m)
			if err == nil {
				t.Fatal("passed")
			}
			if s := nn.StatusOf(err); s != nn.StatusInvalidArgument {
				t.Fatalf("status %v: %v", s, err)
			}
			t.Log(err)
		})
	}
}

func TestBaseModel(t *testing.T) {
	m := baseModel()
	if err := validate.Model(m); err != nil {
		t.Fatal(err)
	}
	m.Main.Operands[conv].Dims = nil
	m.Main.Operands[output].Dims = nn.Dims{0, 5, 0, 2}
	if err := validate.Model(m); err != nil {
		t.Fatal(err)
	}
	dims, err := validate.Shapes(m)
	if err != nil {
		t.Fatal(err)
	}
	if want := (nn.Dims{1, 5, 7, 2}); !dims[output].Equal(want) || !dims[conv].Equal(want) {
		t.Errorf("shapes %v", dims)
	}
}

func TestNilModel(t *testing.T) {
	if err := validate.Model(nil); nn.StatusOf(err) != nn.StatusInvalidArgument {
		t.Error(err)
	}
	if err := validate.Model(&nn.Model{}); nn.StatusOf(err) != nn.StatusInvalidArgument {
		t.Error(err)
	}
}
