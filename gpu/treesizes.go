package gpu

import (
	"context"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

// prepareOpen finds the open regions of a tree, and the dimensions of what others write of which executions are to be told.
func (x *tree) prepareOpen() error {
	t := x.model
	isOpen := func(v int) bool { return t.Values[v].IsOpen() }
	for i, s := range t.Straights {
		if s.Open || slices.ContainsFunc(s.Out, isOpen) {
			x.dims = make([][]nn.Dims, len(t.Straights))
		}
		if s.Open {
			x.open[i] = &openPart{x: x, region: s}
		}
	}
	for i, s := range t.Straights {
		if s.Open || !slices.ContainsFunc(s.Out, isOpen) {
			continue
		}
		var in []nn.Dims
		for _, v := range s.In {
			in = append(in, t.Values[v].Dims)
		}
		var err error
		if _, x.dims[i], err = s.Instance(in, nil, nil); err != nil {
			return err
		}
	}
	x.stats.KeptBytes = t.KeptBytes()
	return nil
}

// openExecution is what one run of a tree has to keep of values with open dimensions, of which most have none.
type openExecution struct {
	dims    []nn.Dims       // by value; of those that are open
	own     []*tensorMemory // by value; the memory of those that are open
	omitted []bool          // by value; a parameter that the request left off

	outputs []backend.Binding
	sizes   []nn.Dims // of the outputs; nil: not known yet
	missing int       // how many are not known
	short   error     // the first output that does not fit

	of     *openPart // of the region under way; nil: it is not open
	region *instance

	inputs, paramDims []nn.Dims // room for those of a region
	params            [][]byte
}

func (o *openExecution) init(x *tree, inputs, outputs []backend.Binding) {
	t := x.model
	o.outputs, o.sizes = outputs, make([]nn.Dims, len(outputs))
	if x.dims != nil {
		n := len(t.Values)
		o.dims, o.own, o.omitted = make([]nn.Dims, n), make([]*tensorMemory, n), make([]bool, n)
	}
	for k, v := range t.Inputs {
		if v != compile.None && t.Values[v].IsOpen() { // a parameter of one dimension; one that is left off stands as an element
			o.dims[v] = nn.Dims{uint32(max(inputs[k].Size()/4, 1))}
		}
	}
	for k, v := range t.Outputs {
		if t.Values[v].IsOpen() {
			o.missing++
		} else {
			o.sizes[k] = t.Values[v].Dims
		}
	}
}

// OutputDims implements backend.Execution.
func (e *treeExecution) OutputDims() []nn.Dims {
	return e.open.sizes
}

// dims are those that value v has now.
func (e *treeExecution) dims(v int) nn.Dims {
	if o := &e.x.model.Values[v]; !o.IsOpen() {
		return o.Dims
	}
	return e.open.dims[v]
}

// enter lets state k of a loop begin.
func (e *treeExecution) enter(l *compile.Loop, k int) error {
	init, current, next := l.Init[k], l.Current[k], l.Next[k]
	d, o := e.dims(init), &e.x.model.Values[current]
	if !o.IsOpen() {
		if !o.Dims.Equal(d) {
			return nn.Invalid("WHILE", "input %d has dimensions %v, the body takes %v", 2+k, []uint32(d), []uint32(o.Dims))
		}
		return nil
	}
	for _, v := range []int{current, next} {
		e.f.giveSized(e.open.own[v])
		e.open.own[v] = nil
	}
	e.open.dims[current] = d
	return nil
}

// swap makes what a loop wrote to next its current state. What was current has memory of its own but in the first iteration.
func (e *treeExecution) swap(current, next int) {
	o := &e.open
	e.at[current], e.at[next] = e.at[next], backend.Binding{}
	o.dims[current], o.dims[next] = o.dims[next], o.dims[current]
	o.own[current], o.own[next] = o.own[next], o.own[current]
}

// isEmpty reports whether value v has no elements.
func (e *treeExecution) isEmpty(v int) bool {
	return e.x.model.Values[v].IsOpen() && slices.Contains(e.open.dims[v], 0)
}

// beginOpen begins region n, which is open. It reports false where it has nothing to do.
func (e *treeExecution) beginOpen(ctx context.Context, n *compile.Straight, p *openPart) (bool, error) {
	o := &e.open
	o.inputs, o.paramDims, o.params = o.inputs[:0], o.paramDims[:0], o.params[:0]
	for _, v := range n.In {
		o.inputs = append(o.inputs, e.dims(v))
	}
	for _, x := range n.Params {
		o.paramDims = append(o.paramDims, e.dims(x.Value))
		data := e.f.words[x.Value]
		if o.omitted[x.Value] {
			data = nil
		}
		o.params = append(o.params, data)
	}
	i, err := p.take(ctx, o.inputs, o.paramDims, o.params)
	for isFull(err) && e.f.dropSpare(0) {
		i, err = p.take(ctx, o.inputs, o.paramDims, o.params)
	}
	if err != nil {
		return false, err
	}
	o.of, o.region = p, i
	if err = e.size(n, i.outputs); err == nil && i.part != nil {
		err = e.beginPart(ctx, n, i.part)
	}
	if err != nil || i.part == nil {
		o.leave()
		return false, err
	}
	return true, nil
}

// leave lets go of the instance that the region under way is.
func (o *openExecution) leave() {
	if o.of != nil {
		o.of.give(o.region)
		o.of, o.region = nil, nil
	}
}

// size gives the outputs of region n, of which those that are open have these dimensions, their places. Without dimensions
// they are those of the inputs, which it copies.
func (e *treeExecution) size(n *compile.Straight, dims []nn.Dims) error {
	for k, v := range n.Out {
		var d nn.Dims
		switch {
		case n.Model == nil:
			d = e.dims(n.In[k])
			in := &e.at[n.In[k]]
			e.open.omitted[v] = e.open.omitted[n.In[k]] || in.Host == nil && in.Memory == nil && !e.isEmpty(n.In[k])
		case dims == nil:
			continue // all are known
		default:
			d = dims[k]
		}
		o := &e.x.model.Values[v]
		if !o.IsOpen() {
			if !o.Dims.Equal(d) {
				return nn.Invalid("region", "a result has dimensions %v, the model says %v", []uint32(d), []uint32(o.Dims))
			}
			continue
		}
		if err := e.place(v, d); err != nil {
			return err
		}
	}
	return nil
}

// place gives value v, whose dimensions are open, these, and a place to be written to.
func (e *treeExecution) place(v int, d nn.Dims) error {
	t, o := e.x.model, &e.open
	x := t.Values[v].Operand
	x.Dims = d
	n, err := x.ByteSize()
	if err != nil {
		return nn.Invalid("region", "%w", err)
	}
	o.dims[v] = d
	switch t.Values[v].Place {
	case compile.InWord:
		if n == 0 || n > compile.MaxParamBytes {
			return nn.Invalid("parameter", "%d bytes; there may be 1 to %d", n, compile.MaxParamBytes)
		}
		e.f.words[v] = make([]byte, n)
		e.at[v].Host = e.f.words[v]
		return nil
	case compile.InRequest:
		for k, y := range t.Outputs {
			if y != v {
				continue
			}
			if o.sizes[k] == nil {
				o.missing--
			}
			o.sizes[k] = d
			if n == 0 {
				break
			}
			if at, fits := within(o.outputs[k], int64(n)); fits {
				e.at[v] = at
				return nil
			}
			if o.short == nil {
				o.short = nn.Errorf(nn.StatusOutputInsufficientSize, fmt.Sprintf("output %d", k), "%d bytes of room; %v%v has %d",
					o.outputs[k].Size(), x.Type, []uint32(d), n)
			}
		}
	}
	e.f.giveSized(o.own[v])
	o.own[v], e.at[v] = nil, backend.Binding{}
	if n == 0 {
		return nil
	}
	if o.own[v], err = e.x.takeSized(e.f, x.Type, d); err != nil {
		return err
	}
	e.at[v] = backend.Binding{Memory: o.own[v].Memory, Length: int64(n)}
	return nil
}

// within is the part of b that a tensor of n bytes takes; false where it has no room there.
func within(b backend.Binding, n int64) (backend.Binding, bool) {
	switch m, _ := b.Memory.(*vulkan.Memory); {
	case b.Memory == nil:
		if int64(len(b.Host)) < n {
			return b, false
		}
		b.Host = b.Host[:n:n]
	case m != nil && m.Allocated():
		return b, b.Length == n
	default:
		if b.Length < n {
			return b, false
		}
		b.Length = n
	}
	return b, true
}

// tooShort is the error of an execution of which an output does not fit, once the dimensions of all are known.
func (o *openExecution) tooShort() error {
	if o.missing > 0 {
		return nil
	}
	return o.short
}

// release gives the memory of open values back to f.
func (o *openExecution) release(f *frame) {
	for _, s := range o.own {
		f.giveSized(s)
	}
	clear(o.own)
}
