package conformancedata

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

func float32s(v ...float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func int32s(v ...int32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}

// caseOf has a single output of type typ.
func caseOf(name string, typ nn.OperandType, want []byte, elements uint32) *Case {
	return &Case{
		Name:     name,
		Model:    &nn.Model{Main: nn.Graph{Operands: []nn.Operand{{Type: typ}, {Type: nn.Float16}}, Outputs: []uint32{0}}},
		Expected: []Output{{Dims: nn.Dims{elements}, Data: want}},
	}
}

func TestCompare(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	half := func(c *Case) {
		c.Model.Main.Operands = append(c.Model.Main.Operands, nn.Operand{Type: nn.TensorFloat16})
	}
	for _, tc := range []struct {
		name      string
		model     string
		typ       nn.OperandType
		want, got []byte
		set       func(*Case)
		ok        bool
	}{
		{"float32 within", "a", nn.TensorFloat32, float32s(1, 0), float32s(1.00001, 9e-6), nil, true},
		{"float32 beyond", "a", nn.TensorFloat32, float32s(1), float32s(1.000012), nil, false},
		{"float32 relative", "a", nn.TensorFloat32, float32s(1000), float32s(1000.0005), nil, true},
		{"float32 relaxed", "a", nn.TensorFloat32, float32s(1), float32s(1.0097), func(c *Case) { c.Relaxed = true }, true},
		{"float32 beside float16 tensor", "a", nn.TensorFloat32, float32s(1), float32s(1.0097), half, true},
		{"float32 beside float16 in a referenced graph", "a", nn.TensorFloat32, float32s(1), float32s(1.0097), func(c *Case) {
			c.Model.Referenced = []nn.Graph{{Operands: []nn.Operand{{Type: nn.TensorFloat16}}}}
		}, true},
		{"actual NaN", "a", nn.TensorFloat32, float32s(1), float32s(nan), nil, false},
		{"expected NaN", "a", nn.TensorFloat32, float32s(nan), float32s(nan), nil, false},
		{"actual infinity", "a", nn.TensorFloat32, float32s(1), float32s(inf), nil, false},
		{"infinity met", "a", nn.TensorFloat32, float32s(inf, -inf), float32s(inf, -inf), nil, true},
		{"infinity missed by a number", "a", nn.TensorFloat32, float32s(inf), float32s(math.MaxFloat32), nil, false},
		{"infinity missed by 0", "a", nn.TensorFloat32, float32s(-inf), float32s(0), nil, false},
		{"infinity of the other sign", "a", nn.TensorFloat32, float32s(inf), float32s(-inf), nil, false},
		{"infinity missed by NaN", "a", nn.TensorFloat32, float32s(inf), float32s(nan), nil, false},
		{"float16 infinity met", "a", nn.TensorFloat16, []byte{0x00, 0x7c}, []byte{0x00, 0x7c}, nil, true},
		{"float16 infinity missed", "a", nn.TensorFloat16, []byte{0x00, 0x7c}, []byte{0xff, 0x7b}, nil, false},
		{"float16 within", "a", nn.TensorFloat16, []byte{0x00, 0x3c}, []byte{0x09, 0x3c}, nil, true},
		{"float16 beyond", "a", nn.TensorFloat16, []byte{0x00, 0x3c}, []byte{0x0b, 0x3c}, nil, false},
		{"int32 one off", "a", nn.TensorInt32, int32s(-7), int32s(-8), nil, true},
		{"int32 two off", "a", nn.TensorInt32, int32s(-7), int32s(-9), nil, false},
		{"scalar int32", "a", nn.Int32, int32s(5), int32s(6), nil, true},
		{"quant8 one off", "a", nn.TensorQuant8Asymm, []byte{255}, []byte{254}, nil, true},
		{"quant8 two off", "a", nn.TensorQuant8Asymm, []byte{255}, []byte{253}, nil, false},
		{"quant8 wraps not", "a", nn.TensorQuant8AsymmSigned, []byte{127}, []byte{128}, nil, false},
		{"signed around zero", "a", nn.TensorQuant8AsymmSigned, []byte{0}, []byte{255}, nil, true},
		{"mobilenet three off", "mobilenet_x", nn.TensorQuant8Asymm, []byte{9}, []byte{12}, nil, true},
		{"mobilenet four off", "mobilenet_x", nn.TensorQuant8Asymm, []byte{9}, []byte{13}, nil, false},
		{"quant16 one off", "a", nn.TensorQuant16Symm, []byte{0xff, 0xff}, []byte{0, 0}, nil, true},
		{"bool equal", "a", nn.TensorBool8, []byte{1}, []byte{1}, nil, true},
		{"bool differs", "a", nn.TensorBool8, []byte{1}, []byte{0}, nil, false},
		{"type without a rule", "a", nn.TensorQuant8PerChannel, []byte{1}, []byte{1}, nil, false},
		{"ignored", "a", nn.TensorFloat32, float32s(1), float32s(nan), func(c *Case) { c.Expected[0].Ignored = true }, true},
		{"wrong size though ignored", "a", nn.TensorFloat32, float32s(1), nil, func(c *Case) { c.Expected[0].Ignored = true }, false},
		{"wrong success", "a", nn.TensorFloat32, float32s(1), float32s(1), func(c *Case) { c.ExpectFailure = true }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := uint32(len(tc.want) / tc.typ.Bytes())
			c := caseOf(tc.model, tc.typ, tc.want, n)
			if tc.set != nil {
				tc.set(c)
			}
			err := Compare(c, []Result{{Dims: nn.Dims{n}, Data: tc.got}})
			require.Equal(t, tc.ok, err == nil, "%v", err)
		})
	}
}

func TestCompareShape(t *testing.T) {
	c := caseOf("a", nn.TensorFloat32, nil, 0)
	require.NoError(t, Compare(c, []Result{{Dims: nn.Dims{0}}}), "zero size")
	require.Error(t, Compare(c, []Result{{Dims: nn.Dims{1}, Data: float32s(1)}}))
	require.Error(t, Compare(c, []Result{{Dims: nn.Dims{0, 0}}}))
	require.Error(t, Compare(c, nil))
}

func TestCompareMultinomial(t *testing.T) {
	c := &Case{
		Name: "m",
		Model: &nn.Model{Main: nn.Graph{
			Operands: []nn.Operand{
				{Type: nn.TensorFloat32, Dims: nn.Dims{1, 2}, Lifetime: nn.SubgraphInput},
				{Type: nn.TensorInt32, Dims: nn.Dims{1, 4}, Lifetime: nn.SubgraphOutput},
			},
			Operations: []nn.Operation{{Type: nn.OpRandomMultinomial, Inputs: []uint32{0}, Outputs: []uint32{1}}},
			Inputs:     []uint32{0}, Outputs: []uint32{1},
		}},
		Inputs:               [][]byte{float32s(0, float32(math.Log(3)))}, // shares 1/4 and 3/4
		Expected:             []Output{{Dims: nn.Dims{1, 4}, Data: make([]byte, 16), Ignored: true}},
		MultinomialTolerance: 0.1,
	}
	dims := nn.Dims{1, 4}
	require.NoError(t, Compare(c, []Result{{dims, int32s(1, 0, 1, 1)}}))
	require.Error(t, Compare(c, []Result{{dims, int32s(1, 0, 0, 1)}}))
	require.Error(t, Compare(c, []Result{{dims, int32s(1, 2, 1, 1)}}), "class out of range")
	for _, open := range []nn.Dims{{0, 0}, {0, 2}, nil} {
		c.Model.Main.Operands[0].Dims = open
		require.NoError(t, Compare(c, []Result{{dims, int32s(1, 0, 1, 1)}}), "%v", open)
		require.Error(t, Compare(c, []Result{{dims, int32s(1, 0, 0, 1)}}), "%v", open)
	}
	c.Model.Main.Operands[0].Dims = nn.Dims{2, 1}
	require.ErrorContains(t, Compare(c, []Result{{dims, int32s(1, 0, 1, 1)}}), "batch of one")
}

func TestParseDamaged(t *testing.T) {
	operand := func(life, data string) string {
		return `{"name":"x","main":{"operands":[{"type":"TENSOR_INT32","dims":[1],"lifetime":"` + life + `","data":` + data + `}],"operations":[],"inputs":[0],"outputs":[]}}`
	}
	_, err := Parse([]byte(operand("SUBGRAPH_INPUT", `"AAAAAA=="`)))
	require.NoError(t, err)
	for name, line := range map[string]string{
		"not JSON":            `{"name":`,
		"short data":          operand("SUBGRAPH_INPUT", `"AAAA"`),
		"constant, no data":   operand("CONSTANT_COPY", `null`),
		"bad base64":          operand("CONSTANT_COPY", `"A"`),
		"unknown lifetime":    operand("FOREVER", `null`),
		"subgraph, no index":  operand("SUBGRAPH", `null`),
		"input out of range":  `{"name":"x","main":{"inputs":[3]}}`,
		"output out of range": `{"name":"x","main":{"outputs":[3]}}`,
		"unknown operation":   `{"name":"x","main":{"operations":[{"type":"NOPE"}]}}`,
		"huge dimensions":     `{"name":"x","main":{"operands":[{"type":"TENSOR_INT32","dims":[4294967295,4294967295],"lifetime":"CONSTANT_COPY","data":""}]}}`,
	} {
		_, err := Parse([]byte(line))
		require.Error(t, err, name)
	}
}
