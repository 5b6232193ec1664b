package compile

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/internal/conformancedata"
)

// hostFolds are the operations that the host may do itself, where they change the form of a constant, and RANK, which reads
// no element.
var hostFolds = map[nn.OperationType]bool{
	nn.OpReshape: true, nn.OpSqueeze: true, nn.OpExpandDims: true, nn.OpDequantize: true, nn.OpCast: true, nn.OpRank: true,
	nn.OpConcatenation: true, nn.OpPack: true, // along the outermost dimension
}

// hostCount is who does the operations of models.
type hostCount struct{ device, folded, decisions int }

// TestHostDoesNoOperation counts what the host executes of the conformance models: nothing but forms of constants and
// decisions of IF and WHILE, whose bytes are bounded. All else has a node, and a plan has steps of the device alone.
func TestHostDoesNoOperation(t *testing.T) {
	dir, err := conformancedata.Dir()
	if err != nil {
		if nntest.Required("shared") {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	var c hostCount
	require.NoError(t, conformancedata.Load(dir, nil, func(m *conformancedata.Case) error {
		if m.ExpectFailure || validate.Model(m.Model) != nil {
			return nil
		}
		if !NeedsTree(m.Model) {
			c.straight(t, m.Name, m.Model)
			c.straight(t, m.Name+" of constants", ofConstants(m))
			return nil
		}
		tree, err := TreeOf(&swiftshader, m.Model)
		if err != nil {
			return nil
		}
		for i := range tree.Values {
			if v := &tree.Values[i]; v.Place == InWord {
				c.decisions++
			}
		}
		for _, s := range tree.Straights {
			if s.Model != nil && !s.Open {
				c.straight(t, m.Name, s.Model)
			}
			for _, p := range s.Params {
				require.Equal(t, InWord, tree.Values[p.Value].Place, m.Name)
			}
		}
		return nil
	}))
	t.Logf("%d operations have nodes for the device, %d are constants in another form, %d decisions and parameters go to the host",
		c.device, c.folded, c.decisions)
	require.Greater(t, c.device, 5000)
	require.Less(t, c.folded, c.device/20)
}

// ofConstants is the model of m with its inputs as constants: what a host could compute whole.
func ofConstants(m *conformancedata.Case) *nn.Model {
	c := *m.Model
	c.Main.Operands, c.Main.Inputs = slices.Clone(c.Main.Operands), nil
	c.Values = slices.Clone(c.Values)
	for i, index := range m.Model.Main.Inputs {
		o := &c.Main.Operands[index]
		if m.Inputs[i] == nil {
			o.Lifetime = nn.NoValue
			continue
		}
		c.Values = append(c.Values, make([]byte, -len(c.Values)&3)...)
		o.Lifetime, o.Location = nn.ConstantCopy, nn.Location{Offset: uint32(len(c.Values)), Length: uint32(len(m.Inputs[i]))}
		c.Values = append(c.Values, m.Inputs[i]...)
	}
	return &c
}

// straight counts the operations of a model that the device can run.
func (c *hostCount) straight(t *testing.T, name string, m *nn.Model) {
	t.Helper()
	u := &unit{facts: &swiftshader, model: m}
	if u.judge() != nil {
		return
	}
	has := make([]bool, len(m.Main.Operations))
	for i := range u.graph.Nodes {
		has[u.graph.Nodes[i].Source] = true
	}
	for i, op := range m.Main.Operations {
		if has[i] {
			c.device++
			continue
		}
		c.folded++
		if !hostFolds[op.Type] {
			t.Errorf("%s: operation %d, %v, has no node", name, i, op.Type)
		}
		for _, index := range op.Outputs {
			if id := u.ids[index]; u.graph.T(id).Const == nil {
				t.Errorf("%s: output of operation %d, %v, is neither computed nor constant", name, i, op.Type)
			}
		}
	}
}
