package validate

import (
	"errors"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Bound is what a request and the model say together.
type Bound struct {
	// InputDims and OutputDims are the dimensions after joining model and request. Those of an omitted input
	// are nil; those of outputs and of buffers can be open.
	InputDims, OutputDims []nn.Dims
}

// Needed says for each input of m's main graph which operation needs its value; "" for those that a request may omit.
//
// Precondition: m passed Model.
func Needed(m *nn.Model) []string {
	g := &m.Main
	needed := make([]string, len(g.Inputs))
	inputs := make(map[uint32]int, len(g.Inputs)) // by operand
	for i, x := range g.Inputs {
		inputs[x] = i
	}
	for i := range g.Operations {
		op := &g.Operations[i]
		row := ops.Lookup(op.Type)
		for k, x := range op.Inputs {
			input, ok := inputs[x]
			if !ok || needed[input] != "" {
				continue
			}
			if row == nil || !row.Optional(&ops.Call{Model: m, Graph: g, Op: op}, k) {
				needed[input] = fmt.Sprintf("operation %d (%v)", i, op.Type)
			}
		}
	}
	return needed
}

// Request checks r against g, the main graph of a model, of which it reads the operands of inputs and outputs; needed
// is what Needed said of the model. It maps no pool: it remains to check that the pools can be mapped and are as large
// as they say, that outputs do not overlap (Overlap), and that tokens are known.
//
// Precondition: the model passed Model, or g Signature.
func Request(g *nn.Graph, needed []string, r *nn.Request) (*Bound, error) {
	if r == nil {
		return nil, nn.Invalid("request", "there is none")
	}
	if len(r.Inputs) != len(g.Inputs) || len(r.Outputs) != len(g.Outputs) {
		return nil, nn.Invalid("request", "%d inputs, %d outputs; the model has %d, %d",
			len(r.Inputs), len(r.Outputs), len(g.Inputs), len(g.Outputs))
	}
	if err := checkRequestPools(r.Pools); err != nil {
		return nil, err
	}
	dims := make([]nn.Dims, len(r.Inputs)+len(r.Outputs))
	b := &Bound{InputDims: dims[:len(r.Inputs):len(r.Inputs)], OutputDims: dims[len(r.Inputs):]}
	var err error
	for i := range r.Inputs {
		if b.InputDims[i], err = checkInput(&r.Inputs[i], &g.Operands[g.Inputs[i]], r.Pools, needed[i]); err != nil {
			return nil, nn.Invalid(fmt.Sprintf("input %d", i), "%w", err)
		}
	}
	for i := range r.Outputs {
		if b.OutputDims[i], err = checkArgument(&r.Outputs[i], &g.Operands[g.Outputs[i]], r.Pools); err != nil {
			return nil, nn.Invalid(fmt.Sprintf("output %d", i), "%w", err)
		}
	}
	return b, nil
}

// checkRequestPools refuses pools that cannot be memory, whether an argument uses them or not.
func checkRequestPools(pools []nn.Memory) error {
	for i, p := range pools {
		var err error
		switch m := p.(type) {
		case nn.BufferToken:
			if m == 0 {
				err = errors.New("token 0 stands for no buffer")
			}
		case nn.Image:
			err = checkImage(m)
		default:
			err = checkPool(p)
		}
		if err != nil {
			return nn.Invalid(fmt.Sprintf("request pool %d", i), "%w", err)
		}
	}
	return nil
}

// checkPool refuses anything that cannot be memory of bytes.
func checkPool(p nn.Memory) error {
	if nn.IsNil(p) {
		return errors.New("there is no memory")
	}
	if _, ok := p.(nn.HostMemory); !ok && p.Size() <= 0 { // memory of the host may be empty
		return fmt.Errorf("memory of %d bytes", p.Size())
	}
	return nil
}

// isOpen reports whether a size or the rank is unknown.
func isOpen(t nn.OperandType, d nn.Dims) bool {
	return !d.Known() || t.IsTensor() && len(d) == 0
}

// checkInput checks the argument of an input and returns its dimensions, none if it is left off. needed is the
// operation that needs its value.
func checkInput(a *nn.RequestArgument, o *nn.Operand, pools []nn.Memory, needed string) (nn.Dims, error) {
	if a.HasNoValue {
		return nil, checkOmitted(a, needed)
	}
	dims, err := checkArgument(a, o, pools)
	if err != nil {
		return nil, err
	}
	if isOpen(o.Type, dims) && !isToken(pools[a.Location.PoolIndex]) {
		return nil, fmt.Errorf("dimensions %v are open", []uint32(dims))
	}
	return dims, nil
}

func isToken(p nn.Memory) bool {
	_, ok := p.(nn.BufferToken)
	return ok
}

// checkArgument joins the dimensions of an argument with those of its operand and checks its place.
func checkArgument(a *nn.RequestArgument, o *nn.Operand, pools []nn.Memory) (nn.Dims, error) {
	if a.HasNoValue {
		return nil, fmt.Errorf("has no value")
	}
	dims, err := join(o, a.Dims)
	if err != nil {
		return nil, err
	}
	l := a.Location
	if uint64(l.PoolIndex) >= uint64(len(pools)) {
		return nil, fmt.Errorf("pool %d of %d", l.PoolIndex, len(pools))
	}
	full := nn.Operand{Type: o.Type, Dims: dims}
	want, err := full.ByteSize()
	if err != nil {
		return nil, err
	}
	image, isImage := pools[l.PoolIndex].(nn.Image)
	if isImage || isToken(pools[l.PoolIndex]) {
		if l.Offset != 0 || l.Length != 0 || l.Padding != 0 {
			return nil, fmt.Errorf("offset %d, length %d, padding %d in a pool that is used as a whole", l.Offset, l.Length, l.Padding)
		}
		if isImage {
			layout := image.Layout()
			return dims, layout.CheckTensor(o.Type, dims)
		}
		return dims, nil
	}
	if !isOpen(o.Type, dims) && want != l.Length {
		return nil, fmt.Errorf("%d bytes; %v%v has %d", l.Length, o.Type, []uint32(dims), want)
	}
	size := uint64(max(pools[l.PoolIndex].Size(), 0))
	if end := uint64(l.Offset) + uint64(l.Length); end+uint64(l.Padding) > size {
		return nil, fmt.Errorf("[%d, %d) and %d bytes of padding in a pool of %d bytes", l.Offset, end, l.Padding, size)
	}
	return dims, nil
}

// checkImage requires that an image is possible and lies within its memory.
func checkImage(m nn.Image) error {
	if nn.IsNil(m) {
		return errors.New("there is no memory")
	}
	layout, texels := m.Layout(), m.Texels()
	if err := layout.Check(); err != nil {
		return err
	}
	if nn.IsNil(texels) {
		return fmt.Errorf("an image without memory")
	}
	if have, need := texels.Size(), layout.Bytes(); have < need {
		return fmt.Errorf("an image of %d bytes in %d", need, have)
	}
	return nil
}

// join completes the open dimensions of o from those of a request, which may be left off as a whole.
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
	dims, ok := given.Merge(o.Dims)
	if !ok {
		return nil, fmt.Errorf("dimensions %v for the model's %v", []uint32(given), []uint32(o.Dims))
	}
	return dims, nil
}

// checkOmitted requires that an argument without a value is empty, and that nothing needs it.
func checkOmitted(a *nn.RequestArgument, needed string) error {
	if a.Location != (nn.Location{}) || len(a.Dims) > 0 {
		return fmt.Errorf("has no value, but a location or dimensions")
	}
	if needed != "" {
		return fmt.Errorf("has no value, but %s needs it", needed)
	}
	return nil
}
