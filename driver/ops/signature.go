package ops

import (
	"fmt"
	"strings"

	"github.com/nngpu/nngpu/driver/nn"
)

// MaxRank bounds the rank of operations that the HAL stops at rank 4 although they only move data or work
// element by element (the driver's extension: TFLite models use rank 5 and more). Convolutions, pools,
// resizes, FULLY_CONNECTED, SOFTMAX, MEAN and CONCATENATION keep the HAL's limit; operations that the HAL
// allows any rank stop at anyRank, and kernels earlier.
const MaxRank = 8

// limitlessRank bounds the rank where the HAL has no limit: shapes are inferred for each operation, so that
// without one a single tensor of a million dimensions, or EXPAND_DIMS in a row, would make a small model large.
const limitlessRank = 64

// typeSet is a set of operand types: bit t stands for type t.
type typeSet uint32

func of(types ...nn.OperandType) typeSet {
	var s typeSet
	for _, t := range types {
		s |= 1 << t
	}
	return s
}

func (s typeSet) has(t nn.OperandType) bool { return t.Valid() && s&(1<<t) != 0 }

func (s typeSet) String() string {
	var names []string
	for t := nn.OperandType(0); t.Valid(); t++ {
		if s.has(t) {
			names = append(names, t.String())
		}
	}
	return strings.Join(names, " or ")
}

// Sets that many operations share.
var (
	floats      = of(nn.TensorFloat16, nn.TensorFloat32)
	quant8      = of(nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned)
	numbers     = floats | quant8
	withInt32   = numbers | of(nn.TensorInt32)
	floatsInt32 = floats | of(nn.TensorInt32)
)

// ranks is an inclusive range.
type ranks struct{ min, max int }

var (
	anyRank  = ranks{1, limitlessRank}
	extended = ranks{1, MaxRank} // 4 in the HAL
)

func exactly(n int) ranks { return ranks{n, n} }
func atMost(n int) ranks  { return ranks{1, n} }

// arg describes what one position of an input or output list takes.
type arg struct {
	name string
	// types gives the legal types when input 0 has type x.
	types func(x nn.OperandType) typeSet
	ranks ranks
	// data: a tensor for the kernel. Otherwise a parameter.
	data bool
	// omit: may have the lifetime NO_VALUE.
	omit bool
}

func fixed(s typeSet) func(nn.OperandType) typeSet {
	return func(nn.OperandType) typeSet { return s }
}

func same(x nn.OperandType) typeSet { return of(x) }

// input is the tensor that leads the list, of one of the given types.
func input(s typeSet, r ranks) arg {
	return arg{name: "input 0", types: fixed(s), ranks: r, data: true}
}

// like is a further tensor of the type of input 0.
func like(name string, r ranks) arg { return arg{name: name, types: same, ranks: r, data: true} }

// typed is a tensor whose type does not follow input 0.
func typed(name string, s typeSet, r ranks) arg {
	return arg{name: name, types: fixed(s), ranks: r, data: true}
}

// weights has the type of input 0, or is quantised by channel when input 0 is of an 8-bit type.
func weights(r ranks) arg {
	return arg{name: "weights", ranks: r, data: true, types: func(x nn.OperandType) typeSet {
		if x.IsQuant8() {
			return of(x, nn.TensorQuant8PerChannel)
		}
		return of(x)
	}}
}

// bias has the type of a float input 0, else TENSOR_INT32.
func bias() arg {
	return arg{name: "bias", ranks: exactly(1), data: true, types: func(x nn.OperandType) typeSet {
		if x.IsFloat() {
			return of(x)
		}
		return of(nn.TensorInt32)
	}}
}

func int32s(names ...string) []arg {
	var args []arg
	for _, n := range names {
		args = append(args, arg{name: n, types: fixed(of(nn.Int32))})
	}
	return args
}

func flag(name string) arg { return arg{name: name, types: fixed(of(nn.Bool))} }

// realOf is the scalar type that goes with tensor type x.
func realOf(x nn.OperandType) typeSet {
	if x == nn.TensorFloat16 {
		return of(nn.Float16)
	}
	return of(nn.Float32)
}

func realNumber(name string) arg { return arg{name: name, types: realOf} }

// indices is a TENSOR_INT32 parameter: axes, a permutation, a shape, paddings.
func indices(name string, r ranks, omit bool) arg {
	return arg{name: name, types: fixed(of(nn.TensorInt32)), ranks: r, omit: omit}
}

func list(parts ...any) []arg {
	var args []arg
	for _, p := range parts {
		switch p := p.(type) {
		case arg:
			args = append(args, p)
		case []arg:
			args = append(args, p...)
		default:
			panic(fmt.Sprintf("ops: %T in an argument list", p))
		}
	}
	return args
}

// form is one list of inputs that an operation takes; counts are the legal lengths (trailing inputs may
// be left off), all of them when nil.
type form struct {
	args   []arg
	counts []int
}

func (f *form) takes(n int) bool {
	if f.counts == nil {
		return n == len(f.args)
	}
	for _, c := range f.counts {
		if c == n {
			return true
		}
	}
	return false
}

// wrongCount names the operand that a list of n inputs lacks, or the first that it has too many.
func (f *form) wrongCount(n int) error {
	if n < len(f.args) {
		return fmt.Errorf("operand %d (%s) is missing", n, f.args[n].name)
	}
	return fmt.Errorf("%d inputs; the last is operand %d (%s)", n, len(f.args)-1, f.args[len(f.args)-1].name)
}

// operand returns operand i of an index list, also one without a value.
func (c *Call) operand(list []uint32, i int) *nn.Operand { return &c.Graph.Operands[list[i]] }

// inputType is the type of the operand at position i, -1 when the list is shorter.
func (c *Call) inputType(i int) nn.OperandType {
	if i >= len(c.Op.Inputs) {
		return -1
	}
	return c.operand(c.Op.Inputs, i).Type
}

// checkSignature compares the call's operands with the form and the single output.
func (c *Call) checkSignature(f *form, out arg) error {
	if n := len(c.Op.Inputs); n == 0 || !f.takes(n) {
		return f.wrongCount(n)
	}
	if n := len(c.Op.Outputs); n != 1 {
		return fmt.Errorf("%d outputs instead of 1", n)
	}
	x := c.inputType(0)
	for i := range c.Op.Inputs {
		if err := f.args[i].check(c.operand(c.Op.Inputs, i), x); err != nil {
			return fmt.Errorf("input %d (%s): %w", i, f.args[i].name, err)
		}
	}
	o := c.operand(c.Op.Outputs, 0)
	if o.Lifetime == nn.NoValue {
		return fmt.Errorf("output 0 has no value")
	}
	if err := out.check(o, x); err != nil {
		return fmt.Errorf("output 0: %w", err)
	}
	return nil
}

func (a *arg) check(o *nn.Operand, x nn.OperandType) error {
	if s := a.types(x); !s.has(o.Type) {
		return fmt.Errorf("type %v instead of %v", o.Type, s)
	}
	if o.Lifetime == nn.NoValue {
		if !a.omit {
			return fmt.Errorf("has no value")
		}
		return nil
	}
	if !o.Type.IsTensor() || len(o.Dims) == 0 { // scalar, or rank not known yet
		return nil
	}
	r := a.ranks
	if n := len(o.Dims); n < r.min || n > r.max {
		if r.min == r.max {
			return fmt.Errorf("rank %d instead of %d", n, r.min)
		}
		return fmt.Errorf("rank %d is outside %d..%d", n, r.min, r.max)
	}
	return nil
}
