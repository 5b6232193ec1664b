package validate

import (
	"fmt"
	"reflect"
	"sort"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Bound is a request whose arguments were found in their pools.
type Bound struct {
	// Inputs has the bytes of each input: dense, of the size that the dimensions give; nil for an omitted
	// one. Outputs has those of each output, with open dimensions the whole room given. All of it is the
	// memory of the request's pools.
	Inputs, Outputs [][]byte
	// InputDims and OutputDims are the dimensions after joining model and request.
	InputDims, OutputDims []nn.Dims
}

// Request checks r against m, of which only the main graph's operands, operations, inputs and outputs are
// read, and the pools of constants, which an output must not overlap. Without operations no input counts
// as optional.
//
// Precondition: m passed Model.
func Request(m *nn.Model, r *nn.Request) (*Bound, error) {
	if r == nil {
		return nil, nn.Invalid("request", "there is none")
	}
	g := &m.Main
	if len(r.Inputs) != len(g.Inputs) || len(r.Outputs) != len(g.Outputs) {
		return nil, nn.Invalid("request", "%d inputs, %d outputs; the model has %d, %d",
			len(r.Inputs), len(r.Outputs), len(g.Inputs), len(g.Outputs))
	}
	pools, err := mapPools("request pool", r.Pools)
	if err != nil {
		return nil, err
	}
	b := &Bound{}
	for i := range r.Inputs {
		where := fmt.Sprintf("input %d", i)
		a, o := &r.Inputs[i], &g.Operands[g.Inputs[i]]
		if a.HasNoValue {
			if err := checkOmitted(m, a, g.Inputs[i]); err != nil {
				return nil, nn.Invalid(where, "%w", err)
			}
			b.Inputs, b.InputDims = append(b.Inputs, nil), append(b.InputDims, nil)
			continue
		}
		dims, data, err := bind(a, o, pools)
		if err != nil {
			return nil, nn.Invalid(where, "%w", err)
		}
		if isOpen(o.Type, dims) {
			return nil, nn.Invalid(where, "dimensions %v are open", []uint32(dims))
		}
		b.Inputs, b.InputDims = append(b.Inputs, data), append(b.InputDims, dims)
	}
	for i := range r.Outputs {
		where := fmt.Sprintf("output %d", i)
		a, o := &r.Outputs[i], &g.Operands[g.Outputs[i]]
		if a.HasNoValue {
			return nil, nn.Invalid(where, "has no value")
		}
		dims, data, err := bind(a, o, pools)
		if err != nil {
			return nil, nn.Invalid(where, "%w", err)
		}
		b.Outputs, b.OutputDims = append(b.Outputs, data), append(b.OutputDims, dims)
	}
	if err := checkOverlap(b, m); err != nil {
		return nil, err
	}
	return b, nil
}

func mapPools(what string, pools []nn.Memory) ([][]byte, error) {
	mapped := make([][]byte, len(pools))
	for i, p := range pools {
		where := fmt.Sprintf("%s %d", what, i)
		if p == nil {
			return nil, nn.Invalid(where, "there is no memory")
		}
		var err error
		if mapped[i], err = p.Bytes(); err != nil {
			return nil, nn.Invalid(where, "cannot be mapped: %w", err)
		}
	}
	return mapped, nil
}

// isOpen reports whether a size or the rank is unknown.
func isOpen(t nn.OperandType, d nn.Dims) bool {
	return !d.Known() || t.IsTensor() && len(d) == 0
}

// bind joins the dimensions of an argument with those of its operand and returns its bytes.
func bind(a *nn.RequestArgument, o *nn.Operand, pools [][]byte) (nn.Dims, []byte, error) {
	dims, err := join(o, a.Dims)
	if err != nil {
		return nil, nil, err
	}
	if !isOpen(o.Type, dims) {
		full := nn.Operand{Type: o.Type, Dims: dims}
		want, err := full.ByteSize()
		if err != nil {
			return nil, nil, err
		}
		if want != a.Location.Length {
			return nil, nil, fmt.Errorf("%d bytes; %v%v has %d", a.Location.Length, o.Type, []uint32(dims), want)
		}
	}
	l := a.Location
	if uint64(l.PoolIndex) >= uint64(len(pools)) {
		return nil, nil, fmt.Errorf("pool %d of %d", l.PoolIndex, len(pools))
	}
	pool := pools[l.PoolIndex]
	end := uint64(l.Offset) + uint64(l.Length)
	if end+uint64(l.Padding) > uint64(len(pool)) {
		return nil, nil, fmt.Errorf("[%d, %d) and %d bytes of padding in a pool of %d bytes", l.Offset, end, l.Padding, len(pool))
	}
	return dims, pool[l.Offset:end:end], nil
}

// join completes the open dimensions of o by those of a request, which may be left off as a whole.
func join(o *nn.Operand, given nn.Dims) (nn.Dims, error) {
	if len(given) == 0 {
		return o.Dims, nil
	}
	if !o.Type.IsTensor() {
		return nil, fmt.Errorf("dimensions %v for %v", []uint32(given), o.Type)
	}
	if len(o.Dims) == 0 {
		return given, nil
	}
	if len(given) != len(o.Dims) {
		return nil, fmt.Errorf("dimensions %v for the model's %v", []uint32(given), []uint32(o.Dims))
	}
	dims := append(nn.Dims(nil), given...)
	for i, n := range o.Dims {
		switch {
		case given[i] == 0:
			dims[i] = n
		case n != 0 && n != given[i]:
			return nil, fmt.Errorf("dimensions %v for the model's %v", []uint32(given), []uint32(o.Dims))
		}
	}
	return dims, nil
}

// checkOmitted requires an argument without a value to be empty, and all readers of the operand to do
// without it.
func checkOmitted(m *nn.Model, a *nn.RequestArgument, operand uint32) error {
	if a.Location != (nn.Location{}) || len(a.Dims) > 0 {
		return fmt.Errorf("has no value, but a location or dimensions")
	}
	if len(m.Main.Operations) == 0 {
		return fmt.Errorf("has no value")
	}
	for i := range m.Main.Operations {
		op := &m.Main.Operations[i]
		for k, x := range op.Inputs {
			if x != operand {
				continue
			}
			row := ops.Lookup(op.Type)
			if row == nil || !row.Optional(&ops.Call{Model: m, Graph: &m.Main, Op: op}, k) {
				return fmt.Errorf("has no value, but operation %d (%v) needs it", i, op.Type)
			}
		}
	}
	return nil
}

// span is a range of addresses.
type span struct {
	from, to uintptr
	name     string
	output   bool
}

// checkOverlap refuses an output that shares bytes with another argument or with a pool of constants.
// The same file mapped twice at different addresses is not noticed.
func checkOverlap(b *Bound, m *nn.Model) error {
	var spans []span
	add := func(data []byte, name string, output bool) {
		if len(data) == 0 {
			return
		}
		at := reflect.ValueOf(data).Pointer()
		spans = append(spans, span{at, at + uintptr(len(data)), name, output})
	}
	for i, data := range b.Inputs {
		add(data, fmt.Sprintf("input %d", i), false)
	}
	for i, data := range b.Outputs {
		add(data, fmt.Sprintf("output %d", i), true)
	}
	constants, err := mapPools("pool", m.Pools)
	if err != nil {
		return err
	}
	for i, data := range constants {
		add(data, fmt.Sprintf("pool %d of constants", i), false)
	}
	sort.Slice(spans, func(i, k int) bool { return spans[i].from < spans[k].from })
	// last is the span seen so far that reaches furthest, lastOutput that of the outputs.
	var last, lastOutput *span
	for i := range spans {
		s := &spans[i]
		if s.output && last != nil && last.to > s.from {
			return nn.Invalid(s.name, "overlaps %s", last.name)
		}
		if lastOutput != nil && lastOutput.to > s.from {
			return nn.Invalid(lastOutput.name, "overlaps %s", s.name)
		}
		if last == nil || s.to > last.to {
			last = s
		}
		if s.output && (lastOutput == nil || s.to > lastOutput.to) {
			lastOutput = s
		}
	}
	return nil
}
