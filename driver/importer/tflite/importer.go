package tflite

import (
	"errors"
	"fmt"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// conversion holds the model under construction.
type conversion struct {
	*importer.Builder
	file        *file
	values      []value // of each tensor
	views       map[viewKey]uint32
	widened     map[extent]nn.Location // float16 constants as float32
	lifted      map[uint32]uint32      // the numbers of booleans that were moved
	operators   []importer.Operator
	unsupported []importer.Unsupported
	sized       bool // constants of the model follow from dimensions, except shapes of RESHAPE
}

// value is the state of a tensor.
type value struct {
	operand int // index of its operand, -1 when there is none yet
	// unknown marks a tensor that comes from an operator that is not supported and whose shape the file does
	// not tell: what follows from it is not worth reporting.
	unknown bool
	input   bool // of the network
	sized   bool // a constant that follows from dimensions of other tensors
}

// viewKey names a constant tensor seen with other parameters than its own: as weights or bias.
type viewKey struct {
	tensor  int32
	spec    spec
	channel int // dimension of per-channel scales, -1 for none
}

func importFile(data []byte) (*importer.Network, error) {
	f, err := readFile(data)
	if err != nil {
		return nil, invalid(err)
	}
	im := &conversion{
		Builder: importer.NewBuilder(data), file: f, values: make([]value, len(f.tensors)),
		views: map[viewKey]uint32{}, widened: map[extent]nn.Location{}, lifted: map[uint32]uint32{},
	}
	for i := range im.values {
		im.values[i].operand = -1
	}
	n, err := im.run()
	if err != nil {
		return nil, invalid(err)
	}
	return n, nil
}

func (im *conversion) run() (*importer.Network, error) {
	if err := im.bindInputs(); err != nil {
		return nil, err
	}
	im.Grow(im.widenedBytes())
	im.operators = make([]importer.Operator, im.file.operators.n)
	for i := range im.operators {
		if err := im.translate(i); err != nil {
			return nil, err
		}
	}
	if err := im.bindOutputs(); err != nil {
		return nil, err
	}
	if len(im.unsupported) > 0 {
		return nil, &importer.UnsupportedError{List: im.unsupported, Network: &importer.Network{
			Description: im.file.description, Operators: im.operators,
			Inputs: im.describe(im.file.inputs, nil), Outputs: im.describe(im.file.outputs, nil),
		}}
	}
	im.DropUnusedPool()
	n := &importer.Network{
		Model: im.Model, Description: im.file.description, Operators: im.operators, Sized: im.sized,
		Inputs: im.describe(im.file.inputs, im.Model.Main.Inputs), Outputs: im.describe(im.file.outputs, im.Model.Main.Outputs),
	}
	for _, t := range n.Inputs {
		im.Model.Names.Inputs = append(im.Model.Names.Inputs, t.Name)
	}
	for _, t := range n.Outputs {
		im.Model.Names.Outputs = append(im.Model.Names.Outputs, t.Name)
	}
	var err error
	if n.Metadata, err = im.file.readMetadata(len(n.Inputs), len(n.Outputs)); err != nil {
		return nil, err
	}
	return n, im.file.buf.err
}

func (im *conversion) bindInputs() error {
	g := &im.Model.Main
	for i, ti := range im.file.inputs {
		t, v := &im.file.tensors[ti], &im.values[ti]
		if v.input {
			return importer.Damaged("tensor %d is an input twice", ti)
		}
		v.input = true
		if _, ok := im.file.constant(t); ok {
			return importer.Damaged("input %d is a constant", i)
		}
		s, err := im.spec(t)
		var dims nn.Dims
		if err == nil {
			dims, err = t.dims()
		}
		o := s.Operand(dims, nn.SubgraphInput)
		if err == nil {
			if _, size := o.ByteSize(); size != nil {
				err = importer.Damaged("%w", size)
			}
		}
		if importer.IsDamage(err) {
			return fmt.Errorf("input %d: %w", i, err)
		}
		if err != nil {
			im.refusePort("input", i, t, err)
			v.unknown = true
			continue
		}
		v.operand = len(g.Operands)
		g.Inputs = append(g.Inputs, uint32(v.operand))
		g.Operands = append(g.Operands, o)
	}
	return im.file.buf.err
}

func (im *conversion) refusePort(what string, i int, t *tensor, err error) {
	name := t.table.name(tensorName)
	im.unsupported = append(im.unsupported, importer.Unsupported{
		Operator: -1, Name: fmt.Sprintf("%s %d %.100q", what, i, name), Reason: err.Error(),
	})
}

// bindOutputs gives the outputs of the network their lifetime. An output must be written by an operation of
// its own: one that is an input, a constant or listed twice is copied.
func (im *conversion) bindOutputs() error {
	g := &im.Model.Main
	for i, ti := range im.file.outputs {
		t := &im.file.tensors[ti]
		c := &call{conversion: im, index: -1, operator: operator{in: []int32{ti}}, long: true}
		x := c.data(0)
		err := c.err
		if errors.Is(err, errUnknown) {
			continue // its operator is reported
		}
		if importer.IsDamage(err) {
			return fmt.Errorf("output %d: %w", i, err)
		}
		if err == nil && g.Operands[x].Lifetime != nn.Temporary {
			x = c.copy(x)
			err = c.err
		}
		if err != nil {
			im.refusePort("output", i, t, err)
			continue
		}
		g.Operands[x].Lifetime = nn.SubgraphOutput
		g.Outputs = append(g.Outputs, x)
	}
	return nil
}

// describe lists the inputs or outputs of the network, with the shapes of operands, or of the file where
// operands is nil.
func (im *conversion) describe(tensors []int32, operands []uint32) []importer.Tensor {
	list := make([]importer.Tensor, len(tensors))
	for i, ti := range tensors {
		t := &im.file.tensors[ti]
		x := importer.Tensor{Name: t.table.name(tensorName), Type: t.typ.operandName()}
		if operands != nil {
			for _, n := range im.Model.Main.Operands[operands[i]].Dims {
				x.Shape = append(x.Shape, int(n))
			}
		} else if dims, err := t.dims(); err == nil {
			for _, n := range dims {
				x.Shape = append(x.Shape, int(n))
			}
		}
		if t.dynamic() {
			for _, n := range t.signature {
				x.Signature = append(x.Signature, int(n))
			}
		}
		if t.quant.scales.n == 1 {
			x.Scale, x.ZeroPoint = t.quant.scales.float32(0), int32(t.quant.zeroPoint(0))
		}
		list[i] = x
	}
	return list
}

// translate turns operator i into operations. It fails only when the file is damaged; what is not supported
// is noted, and the import goes on so that one error can name everything.
func (im *conversion) translate(i int) error {
	o := im.file.operator(i)
	if im.file.buf.err != nil {
		return im.file.buf.err
	}
	for _, t := range o.out {
		if v := im.values[t]; v.operand >= 0 || v.unknown || v.input {
			return importer.Damaged("operator %d writes tensor %d, which already has a value", i, t)
		}
		if _, ok := im.file.constant(&im.file.tensors[t]); ok {
			return importer.Damaged("operator %d writes tensor %d, which is a constant", i, t)
		}
	}
	entry := &im.operators[i]
	*entry = importer.Operator{Index: i, Name: o.code.name(), Version: int(o.code.version)}
	c := &call{conversion: im, index: i, operator: o}
	first := len(im.Model.Main.Operations)
	b, known := o.code.find()
	var err error
	if known {
		err = c.apply(b)
	} else {
		err = im.readable(o.in)
	}
	switch {
	case im.file.buf.err != nil:
		return im.file.buf.err
	case importer.IsDamage(err):
		return fmt.Errorf("operator %d %s: %w", i, entry.Name, err)
	case !known:
		im.refuse(entry, "", o.out)
	case errors.Is(err, errUnknown):
		im.refuse(nil, "", o.out)
	case err != nil && c.unknown():
		im.refuse(nil, "", o.out)
	case err != nil:
		im.refuse(entry, err.Error(), o.out)
	}
	for n := first; n < len(im.Model.Main.Operations); n++ {
		entry.NN = append(entry.NN, n)
	}
	return nil
}

// refuse notes an operator that cannot be imported (nil: only because of an earlier one) and lets the import
// go on with outputs as the file describes them.
func (im *conversion) refuse(o *importer.Operator, reason string, out []int32) {
	if o != nil {
		im.unsupported = append(im.unsupported, importer.Unsupported{Operator: o.Index, Name: o.Name, Version: o.Version, Reason: reason})
	}
	for _, ti := range out {
		t, v := &im.file.tensors[ti], &im.values[ti]
		s, err := im.spec(t)
		if err != nil || len(t.shape) == 0 || t.dynamic() || o == nil {
			v.unknown = true
			continue
		}
		dims, err := t.dims()
		if err != nil {
			v.unknown = true
			continue
		}
		v.operand = len(im.Model.Main.Operands)
		im.Model.Main.Operands = append(im.Model.Main.Operands, s.Operand(dims, nn.Temporary))
	}
}

// readable reports damage when an operator reads a tensor that has no value.
func (im *conversion) readable(in []int32) error {
	for _, ti := range in {
		if ti < 0 {
			continue
		}
		t, v := &im.file.tensors[ti], im.values[ti]
		_, constant := im.file.constant(t)
		if !constant && v.operand < 0 && !v.unknown && !t.empty() && !t.table.bool(tensorIsVariable) {
			return importer.Damaged("tensor %d is read before it is written", ti)
		}
	}
	return nil
}
