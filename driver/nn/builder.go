package nn

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// Builder makes a model operand by operand. Operands are numbered in the order of the calls; operations must
// come in running order. What it is given is copied.
//
// A mistake in a call, such as an operand that does not exist or a value of the wrong size, is kept with the caller's
// place in the source, and the first one is what Build returns. What shows only in the whole model is checked when the
// model is prepared.
type Builder struct {
	m     Model
	err   error // the first mistake
	built bool
}

// Input adds a model input of type t and returns its index. scale and zero are 0 for types without
// quantisation.
func (b *Builder) Input(t OperandType, dims Dims, scale float32, zero int32) uint32 {
	i := b.add("Input", Operand{Type: t, Dims: dims, Scale: scale, ZeroPoint: zero, Lifetime: SubgraphInput})
	if !b.built {
		b.m.Main.Inputs = append(b.m.Main.Inputs, i)
	}
	return i
}

// Temp adds an intermediate result. Output makes it a result of the model.
func (b *Builder) Temp(t OperandType, dims Dims, scale float32, zero int32) uint32 {
	return b.add("Temp", Operand{Type: t, Dims: dims, Scale: scale, ZeroPoint: zero, Lifetime: Temporary})
}

// Omitted adds an operand of type t without a value, for an optional input of an operation that is left out.
func (b *Builder) Omitted(t OperandType) uint32 {
	o := Operand{Type: t, Lifetime: NoValue}
	switch t {
	case TensorQuant8Asymm, TensorQuant8AsymmSigned, TensorQuant8Symm, TensorQuant16Asymm, TensorQuant16Symm:
		o.Scale = 1 // no value, but a valid operand
	}
	return b.add("Omitted", o)
}

// Output makes operand i, which was added by Temp, a result of the model.
func (b *Builder) Output(i uint32) {
	if !b.known("Output", i) {
		return
	}
	o := &b.m.Main.Operands[i]
	switch o.Lifetime {
	case Temporary:
		o.Lifetime = SubgraphOutput
		b.m.Main.Outputs = append(b.m.Main.Outputs, i)
	case SubgraphOutput:
		b.fail("Output", "operand %d is an output already", i)
	default:
		b.fail("Output", "operand %d has lifetime %v; only what Temp added can be an output", i, o.Lifetime)
	}
}

// Name names operand i, an input of the model or what Output made an output. Two inputs, or two outputs, have no name in
// common.
func (b *Builder) Name(i uint32, name string) {
	if !b.known("Name", i) {
		return
	}
	g, n := &b.m.Main, &b.m.Names
	list, names := g.Inputs, &n.Inputs
	switch l := g.Operands[i].Lifetime; {
	case l == SubgraphOutput:
		list, names = g.Outputs, &n.Outputs
	case l != SubgraphInput:
		b.fail("Name", "operand %d is neither an input nor an output", i)
		return
	}
	if at := slices.Index(*names, name); name == "" || at >= 0 && list[at] != i {
		b.fail("Name", "operand %d cannot be called %q: a name is not empty, and not that of another", i, name)
		return
	}
	at := slices.Index(list, i)
	*names = append(*names, make([]string, max(at+1-len(*names), 0))...)
	(*names)[at] = name
}

// Const adds a constant tensor with the given dense, row-major, little-endian value. Bytes makes one of Go values.
func (b *Builder) Const(t OperandType, dims Dims, scale float32, zero int32, value []byte) uint32 {
	return b.constant("Const", Operand{Type: t, Dims: dims, Scale: scale, ZeroPoint: zero}, value)
}

// Pool adds memory of the model's and returns its index. It is retained.
func (b *Builder) Pool(p Memory) uint32 {
	if p == nil {
		b.fail("Pool", "there is no memory")
	}
	if b.open("Pool") {
		b.m.Pools = append(b.m.Pools, p)
	}
	return uint32(max(len(b.m.Pools), 1) - 1)
}

// Reference adds a constant tensor with the given dense, row-major, little-endian value, which stays in a pool.
func (b *Builder) Reference(t OperandType, dims Dims, scale float32, zero int32, at Location) uint32 {
	o := Operand{Type: t, Dims: dims, Scale: scale, ZeroPoint: zero, Lifetime: ConstantReference, Location: at}
	if n := len(b.m.Pools); b.open("Reference") && uint64(at.PoolIndex) >= uint64(n) {
		b.fail("Reference", "pool %d of %d", at.PoolIndex, n)
	}
	return b.add("Reference", o)
}

// PerChannel adds a constant filter with one scale for each index of dimension dim.
func (b *Builder) PerChannel(dims Dims, scales []float32, dim uint32, value []byte) uint32 {
	q := &ChannelQuant{Scales: slices.Clone(scales), ChannelDim: dim}
	return b.constant("PerChannel", Operand{Type: TensorQuant8PerChannel, Dims: dims, Channel: q}, value)
}

// Floats adds a constant TENSOR_FLOAT32.
func (b *Builder) Floats(dims Dims, v ...float32) uint32 {
	return b.constant("Floats", Operand{Type: TensorFloat32, Dims: dims}, Bytes(v))
}

// Ints adds a constant TENSOR_INT32.
func (b *Builder) Ints(dims Dims, v ...int32) uint32 {
	return b.constant("Ints", Operand{Type: TensorInt32, Dims: dims}, Bytes(v))
}

// Scalar adds a constant scalar. A signed integer of any size becomes INT32, and so do the constants of this
// package such as ActRelu and PaddingSame; an unsigned one UINT32; a float32 or float64 FLOAT32; a Half FLOAT16; a
// bool BOOL. The value must fit.
func (b *Builder) Scalar(v any) uint32 {
	t, value, err := scalar(v)
	if err != nil {
		b.fail("Scalar", "%w", err)
	}
	return b.constant("Scalar", Operand{Type: t}, value)
}

func scalar(v any) (OperandType, []byte, error) {
	none := make([]byte, 4)
	if h, ok := v.(Half); ok {
		return Float16, Bytes([]Half{h}), nil
	}
	r := reflect.ValueOf(v)
	switch {
	case r.Kind() == reflect.Bool:
		return Bool, Bytes([]bool{r.Bool()}), nil
	case r.CanInt():
		if n := r.Int(); n != int64(int32(n)) {
			return Int32, none, fmt.Errorf("%d does not fit into an INT32", n)
		}
		return Int32, Bytes([]int32{int32(r.Int())}), nil
	case r.CanUint():
		if n := r.Uint(); n > math.MaxUint32 {
			return Uint32, none, fmt.Errorf("%d does not fit into a UINT32", n)
		}
		return Uint32, Bytes([]uint32{uint32(r.Uint())}), nil
	case r.CanFloat():
		x := float32(r.Float())
		if math.IsInf(float64(x), 0) && !math.IsInf(r.Float(), 0) {
			return Float32, none, fmt.Errorf("%v does not fit into a FLOAT32", r.Float())
		}
		return Float32, Bytes([]float32{x}), nil
	}
	return Int32, none, fmt.Errorf("there is no scalar operand for a %T", v)
}

// Operand returns operand i as far as it is known yet.
func (b *Builder) Operand(i uint32) Operand {
	if !b.known("Operand", i) {
		return Operand{}
	}
	return b.m.Main.Operands[i]
}

// Op adds an operation. Its operands stand in the order of the NN HAL.
func (b *Builder) Op(t OperationType, inputs, outputs []uint32) {
	for _, list := range [][]uint32{inputs, outputs} {
		for _, i := range list {
			if !b.known("Op", i) {
				return
			}
		}
	}
	if b.open("Op") {
		op := Operation{Type: t, Inputs: slices.Clone(inputs), Outputs: slices.Clone(outputs)}
		b.m.Main.Operations = append(b.m.Main.Operations, op)
	}
}

// Derive adds an operation and its outputs, and returns these. dims completes the dimensions of the outputs: it is
// called before Derive returns, with the model so far, outputs included; its error is a mistake.
func (b *Builder) Derive(t OperationType, inputs []uint32, outputs []Operand, dims func(*Model, *Operation) ([]Dims, error)) []uint32 {
	list := make([]uint32, len(outputs))
	known := b.err == nil
	for _, i := range inputs {
		known = b.known("Derive", i) && known
	}
	if !known {
		return list
	}
	for i, o := range outputs {
		o.Lifetime = Temporary
		list[i] = b.add("Derive", o)
	}
	op := Operation{Type: t, Inputs: slices.Clone(inputs), Outputs: slices.Clone(list)}
	shapes, err := dims(&b.m, &op)
	if err == nil && len(shapes) != len(list) {
		err = fmt.Errorf("%d shapes of %d outputs", len(shapes), len(list))
	}
	if err != nil {
		b.fail("Derive", "%w", err)
		return list
	}
	for i, d := range shapes {
		b.m.Main.Operands[list[i]].Dims = slices.Clone(d)
	}
	b.m.Main.Operations = append(b.m.Main.Operations, op)
	return list
}

// Relax allows float32 to be computed with the range and precision of float16.
func (b *Builder) Relax() {
	if b.open("Relax") {
		b.m.RelaxFloat32 = true
	}
}

// Build returns the model, or the first mistake: an *Error of status INVALID_ARGUMENT that says where it was made.
// After it every call is a mistake, which the next Build returns; the model that was handed out stays as it is.
func (b *Builder) Build() (*Model, error) {
	if !b.open("Build") || b.err != nil {
		return nil, b.err
	}
	m := b.m
	b.m, b.built = Model{}, true
	return &m, nil
}

// constant adds an operand whose value must have the operand's size.
func (b *Builder) constant(call string, o Operand, value []byte) uint32 {
	if n, err := o.ByteSize(); err != nil {
		b.fail(call, "%w", err)
	} else if uint64(n) != uint64(len(value)) {
		b.fail(call, "a value of %d bytes; %v%v has %d", len(value), o.Type, []uint32(o.Dims), n)
	}
	at := (uint64(len(b.m.Values)) + 3) &^ 3
	if at+uint64(len(value)) > math.MaxUint32 {
		b.fail(call, "constants of more than 2^32-1 bytes")
		value = nil
	}
	if !b.built {
		if need := int(at) + len(value); need > cap(b.m.Values) { // twice as much: large constants are dear to move
			b.m.Values = slices.Grow(b.m.Values, max(need, 2*cap(b.m.Values))-len(b.m.Values))
		}
		b.m.Values = append(b.m.Values, make([]byte, at-uint64(len(b.m.Values)))...)
		b.m.Values = append(b.m.Values, value...)
	}
	o.Lifetime, o.Location = ConstantCopy, Location{Offset: uint32(at), Length: uint32(len(value))}
	return b.add(call, o)
}

func (b *Builder) add(call string, o Operand) uint32 {
	if !b.open(call) {
		return 0
	}
	o.Dims = slices.Clone(o.Dims)
	b.m.Main.Operands = append(b.m.Main.Operands, o)
	return uint32(len(b.m.Main.Operands) - 1)
}

// known requires operand i to be there.
func (b *Builder) known(call string, i uint32) bool {
	if n := len(b.m.Main.Operands); b.open(call) && uint64(i) >= uint64(n) {
		b.fail(call, "operand %d of %d", i, n)
	}
	return !b.built && uint64(i) < uint64(len(b.m.Main.Operands))
}

// open refuses a call after Build.
func (b *Builder) open(call string) bool {
	if b.built {
		b.fail(call, "after Build")
	}
	return !b.built
}

// fail keeps the first mistake.
func (b *Builder) fail(call, format string, args ...any) {
	if b.err == nil {
		b.err = Invalid(builderCaller(), "nn.Builder."+call+": "+format, args...)
	}
}

// builders is how the names of functions begin that build models for others: of this Builder, and of those that embed it.
var builders = []string{"driver/nn.(*Builder).", "driver/layers."}

// builderCaller is the file and line from which a method of Builder was called.
func builderCaller() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !slices.ContainsFunc(builders, func(name string) bool { return strings.Contains(f.Function, name) }) {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return "nn.Builder"
		}
	}
}
