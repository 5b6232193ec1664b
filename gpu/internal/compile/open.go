package compile

import (
	"fmt"
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// MaxParamBytes bounds a parameter that the host reads.
const MaxParamBytes = 4 * ops.MaxIndices

// opensInputs reports whether the model leaves dimensions of its inputs open that an operation needs.
func opensInputs(m *nn.Model) bool {
	return slices.ContainsFunc(m.Main.Operations, func(op nn.Operation) bool {
		call, row := &ops.Call{Model: m, Graph: &m.Main, Op: &op}, ops.Lookup(op.Type)
		for k, x := range op.Inputs {
			o := &m.Main.Operands[x]
			if o.Lifetime != nn.SubgraphInput || !o.Type.IsTensor() || known(o) {
				continue
			}
			if isControl(&op) || row != nil && call.In(k) != nil && slices.Contains(row.Tensors(call), k) {
				return true
			}
		}
		return false
	})
}

// tensorLike is the type of a tensor whose elements have as many bytes as a scalar of type t.
func tensorLike(t nn.OperandType) nn.OperandType {
	switch t {
	case nn.Bool:
		return nn.TensorBool8
	case nn.Float16:
		return nn.TensorFloat16
	}
	return nn.TensorInt32
}

// runtimeParams returns the positions of the parameters of op that are computed or an input, unless a kernel takes them
// from memory, which none does with those among open.
func (s *scope) runtimeParams(m *nn.Model, op *nn.Operation, open map[uint32]bool) (list []int) {
	row := ops.Lookup(op.Type)
	if row == nil {
		return nil
	}
	var tensors []int
	for k, x := range op.Inputs {
		switch s.Operands[x].Lifetime {
		case nn.SubgraphInput, nn.Temporary, nn.SubgraphOutput:
		default:
			continue
		}
		if tensors == nil {
			tensors = row.Tensors(&ops.Call{Model: m, Graph: s.Graph, Op: op})
		}
		stated := !slices.ContainsFunc(op.Outputs, func(y uint32) bool { return !known(&s.Operands[y]) })
		if !slices.Contains(tensors, k) && !(stated && row.RunTime(k) && !open[x]) {
			list = append(list, k)
		}
	}
	return list
}

// complete gives the operands of s the dimensions that follow from those of the values it reads, as far as they can be
// told, and finds the parameters that the host reads.
func (s *scope) complete(m *nn.Model) {
	if s.params != nil {
		return
	}
	infer(m, s.Graph)
	s.params = make([][]int, len(s.Operations))
	open := map[uint32]bool{} // inputs whose dimensions no region knows: all operations get them from the host
	for range 2 {
		for i := range s.Operations {
			op := &s.Operations[i]
			s.params[i] = s.runtimeParams(m, op, open)
			for _, k := range s.params[i] {
				if o := &s.Operands[op.Inputs[k]]; o.Lifetime == nn.SubgraphInput && o.Type.IsTensor() && !known(o) {
					open[op.Inputs[k]] = true
				}
			}
		}
		if len(open) == 0 {
			break
		}
	}
}

// infer gives the results of the operations of g, a graph of m's with operands of its own, the dimensions that follow from
// what is known.
func infer(m *nn.Model, g *nn.Graph) {
	for i := range g.Operations {
		op := &g.Operations[i]
		row := ops.Lookup(op.Type)
		if row == nil || !slices.ContainsFunc(op.Outputs, func(y uint32) bool { return !known(&g.Operands[y]) }) {
			continue
		}
		inf, err := row.Infer(&ops.Call{Model: m, Graph: g, Op: op})
		if err != nil {
			continue // it stays open, or is refused when it is judged
		}
		_ = mergeOutputs(g, op, inf.Shapes) // a contradiction is found when it is judged
	}
}

// mergeOutputs gives the results of op dimensions in addition to those that they have.
func mergeOutputs(g *nn.Graph, op *nn.Operation, shapes []nn.Dims) error {
	for k, y := range op.Outputs {
		o := &g.Operands[y]
		dims, err := ops.MergeDims(o.Type, o.Dims, shapes[k])
		if err != nil {
			return fmt.Errorf("output %d: %w", k, err)
		}
		o.Dims = dims
	}
	return nil
}

// maxRounds bounds how often states looks at the body of a loop.
const maxRounds = 8

// states are operands like the states of a loop with body b that is called with args. Dimensions are those that a state
// has in every iteration, and open where they may change.
func (s *scope) states(m *nn.Model, b *nn.Graph, args []uint32) []nn.Operand {
	list, sure := make([]nn.Operand, len(b.Outputs)), make([]bool, len(b.Outputs))
	for k, y := range b.Outputs {
		in, out := &b.Operands[b.Inputs[k]], &b.Operands[y]
		list[k] = s.Operands[args[k]]
		switch o := &list[k]; {
		case known(in):
			o.Dims, sure[k] = in.Dims, true
		case !known(o) || known(out) && !o.Dims.Equal(out.Dims):
			o.Dims = in.Dims
		}
	}
	for round := 0; ; round++ {
		g := *b
		g.Operands = slices.Clone(b.Operands)
		for k, x := range b.Inputs {
			if k < len(list) {
				g.Operands[x].Dims = list[k].Dims
				continue
			}
			g.Operands[x].Dims = dimsOf(&g.Operands[x], &s.Operands[args[k]])
		}
		infer(m, &g)
		changed := false
		for k, y := range b.Outputs {
			if o := &list[k]; !sure[k] && known(o) && (!o.Dims.Equal(g.Operands[y].Dims) || round == maxRounds) {
				o.Dims, changed = b.Operands[b.Inputs[k]].Dims, true
			}
		}
		if !changed {
			return list
		}
	}
}

// markOpen says of each region whether it is open.
func (t *Tree) markOpen() {
	for _, s := range t.Straights {
		s.Open = len(s.Params) > 0 || slices.ContainsFunc(s.In, func(v int) bool { return !known(&t.Values[v].Operand) })
	}
}

// IsOpen reports whether only executions tell the dimensions of v.
func (v *Value) IsOpen() bool { return !known(&v.Operand) }

// detach copies the constants of open regions, so that they need nothing of the model.
func (t *Tree) detach() error {
	for _, s := range t.Straights {
		if !s.Open || s.Model == nil {
			continue
		}
		var values []byte
		for i := range s.Model.Main.Operands {
			o := &s.Model.Main.Operands[i]
			data, err := s.Model.Value(o)
			if err != nil {
				return err
			}
			if data == nil {
				continue
			}
			values = append(values, make([]byte, -len(values)&7)...)
			if len(values)+len(data) > math.MaxUint32 {
				return nn.Errorf(nn.StatusResourceExhaustedPersistent, "model", "a region has constants of %d bytes", len(values)+len(data))
			}
			o.Lifetime, o.Location = nn.ConstantCopy, nn.Location{Offset: uint32(len(values)), Length: uint32(len(data))}
			values = append(values, data...)
		}
		s.Model.Values, s.Model.Pools = values, nil
	}
	return nil
}

// KeptBytes is how much memory the constants of open regions take.
func (t *Tree) KeptBytes() (n int64) {
	for _, s := range t.Straights {
		if s.Open && s.Model != nil {
			n += int64(len(s.Model.Values))
		}
	}
	return n
}

// Instance returns the model of straight region s for inputs and parameters of these dimensions and parameters of these
// bytes, nil for one that is left off, and the dimensions of its outputs. In both, 0 is a size: outputs without
// elements are not in the model. What does not depend on all this it shares with s. There is no model where s copies,
// or nothing is to be computed. Whether the device can run it is for Model to tell.
//
// Errors: INVALID_ARGUMENT where dimensions or values contradict each other or s, or where a result would be larger than
// tensors can be.
func (s *Straight) Instance(inputs, paramDims []nn.Dims, params [][]byte) (*nn.Model, []nn.Dims, error) {
	if s.Model == nil {
		return nil, inputs, nil
	}
	m := *s.Model
	m.Main.Operands = slices.Clone(m.Main.Operands)
	for k, x := range m.Main.Inputs {
		o := &m.Main.Operands[x]
		if !o.Dims.Admits(inputs[k]) {
			return nil, nil, nn.Invalid("region", "input %d: dimensions %v, of %v", k, []uint32(inputs[k]), []uint32(o.Dims))
		}
		o.Dims = inputs[k]
	}
	var pool nn.HostMemory
	for k, p := range s.Params {
		o := &m.Main.Operands[p.Operand]
		if params[k] == nil {
			o.Lifetime = nn.NoValue
			continue
		}
		if o.Type.IsTensor() {
			dims, err := ops.MergeDims(o.Type, o.Dims, paramDims[k])
			if err != nil {
				return nil, nil, nn.Invalid("region", "parameter %d: %w", k, err)
			}
			o.Dims = dims
		}
		if n, err := o.ByteSize(); err != nil || int(n) != len(params[k]) {
			return nil, nil, nn.Invalid("region", "parameter %d: %d bytes for %v%v", k, len(params[k]), o.Type, []uint32(o.Dims))
		}
		o.Lifetime = nn.ConstantReference
		o.Location = nn.Location{PoolIndex: uint32(len(m.Pools)), Offset: uint32(len(pool)), Length: uint32(len(params[k]))}
		pool = append(pool, params[k]...)
	}
	if len(pool) > 0 {
		m.Pools = append(slices.Clone(m.Pools), pool)
	}
	list := m.Main.Operations
	m.Main.Operations = nil
	for i := range list {
		if err := settle(&m, &list[i]); err != nil {
			return nil, nil, nn.Invalid(s.origins[i].name(list[i].Type), "%w", err)
		}
	}
	dims := make([]nn.Dims, len(m.Main.Outputs))
	for k, y := range m.Main.Outputs {
		dims[k] = m.Main.Operands[y].Dims
	}
	if !slices.ContainsFunc(m.Main.Operations, func(op nn.Operation) bool { return !isNothing(op) }) {
		return nil, dims, nil
	}
	m.Main.Outputs = slices.DeleteFunc(slices.Clone(m.Main.Outputs), func(y uint32) bool { return isEmpty(&m.Main, y) })
	return &m, dims, nil
}

// settle checks an operation whose inputs have their sizes, gives its results theirs, and appends what remains to be
// computed of it to the operations of m.
func settle(m *nn.Model, op *nn.Operation) error {
	row := ops.Lookup(op.Type)
	if row == nil {
		return fmt.Errorf("%v is not supported", op.Type)
	}
	call := &ops.Call{Model: m, Graph: &m.Main, Op: op, Sized: true}
	if err := row.Check(call); err != nil {
		return err
	}
	inf, err := row.Infer(call)
	if err != nil {
		return err
	}
	for k, y := range op.Outputs {
		o := &m.Main.Operands[y]
		if !o.Dims.Admits(inf.Shapes[k]) {
			return fmt.Errorf("output %d: dimensions %v, of %v", k, []uint32(inf.Shapes[k]), []uint32(o.Dims))
		}
		o.Dims = inf.Shapes[k]
	}
	return addPresent(m, op, slices.DeleteFunc(row.Tensors(call), func(k int) bool { return call.In(k) == nil }))
}

// name is what messages call it, an operation of type t.
func (o origin) name(t nn.OperationType) string {
	if o.where != "" {
		return o.where
	}
	return fmt.Sprintf("operation %d (%v)", o.main, ops.Plain(t))
}
