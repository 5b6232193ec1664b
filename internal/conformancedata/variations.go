package conformancedata

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// uncoupled are the operations that the quantisation-coupling test leaves out. (AOSP NNAPI VTS,
// QuantizationCouplingTest.)
var uncoupled = []nn.OperationType{
	nn.OpHashtableLookup, nn.OpLshProjection, nn.OpPadV2, nn.OpCast, nn.OpQuantized16BitLstm,
}

// SignedTwin derives the quantisation-coupling variation: TENSOR_QUANT8_ASYMM becomes
// TENSOR_QUANT8_ASYMM_SIGNED, with 128 less in each zero point and element. It must be accepted like c
// itself, and a driver supports both or neither. ok is false for a case that has no twin: only models of
// one operation do.
func (c *Case) SignedTwin() (twin *Case, ok bool) {
	g := &c.Model.Main
	uses := slices.ContainsFunc(g.Operands, func(o nn.Operand) bool { return o.Type == nn.TensorQuant8Asymm })
	if !uses || len(g.Operations) != 1 || len(c.Model.Referenced) > 0 || slices.Contains(uncoupled, g.Operations[0].Type) {
		return nil, false
	}
	t := c.clone("_signed_twin")
	for i := range t.Model.Main.Operands {
		o := &t.Model.Main.Operands[i]
		if o.Type != nn.TensorQuant8Asymm {
			continue
		}
		o.Type = nn.TensorQuant8AsymmSigned
		o.ZeroPoint -= 128
		// The clone owns its constants, and no two share bytes.
		if v, err := t.Model.Value(o); err == nil {
			toSigned(v)
		}
	}
	for i, at := range t.Model.Main.Inputs {
		if g.Operands[at].Type == nn.TensorQuant8Asymm {
			t.Inputs[i] = slices.Clone(t.Inputs[i])
			toSigned(t.Inputs[i])
		}
	}
	for i, at := range t.Model.Main.Outputs {
		if g.Operands[at].Type == nn.TensorQuant8Asymm {
			t.Expected[i].Data = slices.Clone(t.Expected[i].Data)
			toSigned(t.Expected[i].Data)
		}
	}
	return t, true
}

func toSigned(b []byte) {
	for i := range b {
		b[i] -= 128 // wraps around to the signed pattern
	}
}

// DynamicOutputs derives the dynamic-output-shape variation: every dimension of every output is left open in the model.
// With sufficient buffers the execution must report the dimensions of Expected and the same values. ok is false for a
// case that the suite does not vary so, except those with IF and WHILE, of which it varies none.
func (c *Case) DynamicOutputs() (dynamic *Case, ok bool) {
	if c.ExpectFailure || slices.Contains(c.Operations, nn.OpRank) {
		return nil, false
	}
	d := c.clone("_dynamic_output_shape")
	for _, at := range d.Model.Main.Outputs {
		o := &d.Model.Main.Operands[at]
		o.Dims = make(nn.Dims, len(o.Dims))
	}
	return d, true
}

// Open derives a model that leaves open the dimensions of everything but constants, and the ranks where ranks is set,
// for the execution to give; also in graphs that others refer to. Scales by channel need the number of channels,
// conditions of IF and WHILE have one element, and an input that the case omits stays as it is. ok is false for a case
// that must fail.
func (c *Case) Open(ranks bool) (open *Case, ok bool) {
	if c.ExpectFailure {
		return nil, false
	}
	suffix := "_open"
	if ranks {
		suffix = "_open_ranks"
	}
	d := c.clone(suffix)
	kept := make([]map[uint32]bool, 1+len(d.Model.Referenced)) // by graph, the main one first
	for i := range kept {
		kept[i] = map[uint32]bool{}
	}
	for i, at := range d.Model.Main.Inputs {
		kept[0][at] = c.Inputs[i] == nil
	}
	graphs := []*nn.Graph{&d.Model.Main}
	d.Model.Referenced = slices.Clone(d.Model.Referenced)
	for i := range d.Model.Referenced {
		g := &d.Model.Referenced[i]
		g.Operands = slices.Clone(g.Operands)
		graphs = append(graphs, g)
	}
	for i, g := range graphs {
		for _, op := range g.Operations {
			switch op.Type {
			case nn.OpIf:
				kept[i][op.Inputs[0]] = true
			case nn.OpWhile:
				condition := g.Operands[op.Inputs[0]].Location.Offset
				kept[1+condition][d.Model.Referenced[condition].Outputs[0]] = true
			}
		}
	}
	for i, g := range graphs {
		for k := range g.Operands {
			o := &g.Operands[k]
			if kept[i][uint32(k)] || o.Type == nn.TensorQuant8PerChannel {
				continue
			}
			switch o.Lifetime {
			case nn.SubgraphInput, nn.Temporary, nn.SubgraphOutput:
				if o.Dims = make(nn.Dims, len(o.Dims)); ranks || len(o.Dims) == 0 {
					o.Dims = nil
				}
			}
		}
	}
	return d, true
}

// clone copies what a variation may change: operands, constants, and the lists of inputs and outputs
// (but not the bytes of the latter).
func (c *Case) clone(suffix string) *Case {
	t, m := *c, *c.Model
	t.Name += suffix
	t.Inputs = slices.Clone(c.Inputs)
	t.Expected = slices.Clone(c.Expected)
	m.Main.Operands = slices.Clone(m.Main.Operands)
	m.Values = slices.Clone(m.Values)
	m.Pools = slices.Clone(m.Pools)
	for i, p := range m.Pools {
		if h, ok := p.(nn.HostMemory); ok {
			m.Pools[i] = slices.Clone(h)
		}
	}
	t.Model = &m
	return &t
}
