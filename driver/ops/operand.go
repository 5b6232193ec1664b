package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// Operand describes one place of a list of inputs or outputs.
type Operand struct {
	Name  string
	Types TypeRule
	Ranks Ranks // of a tensor; the zero value for a scalar
	// Data marks a tensor for the kernel. All else is a parameter.
	Data bool
	// Omissible operands may have the lifetime NO_VALUE.
	Omissible bool
	// Runtime parameters may be known only at run time, if the model states the dimensions of the result.
	Runtime bool
	// Trailing operands may be left off with all that follow: the list may end before each.
	Trailing bool
	// Repeated stands for any number of operands of this kind, at least one.
	Repeated bool
	// Since is the first level that knows the operand, if that is later than the operation's.
	Since Level
	// Note has the shape, the meaning of values, or limits.
	Note string
}

// The constructors of operands that many operations share, and of variations of one.

// input is the tensor that leads the list, of one of the given types.
func input(s Types, r Ranks) Operand {
	return Operand{Name: "input", Types: fixed(s), Ranks: r, Data: true}
}

// inputs are one or more tensors, all of one type out of those given.
func inputs(s Types, r Ranks) Operand {
	o := input(s, r).repeated()
	o.Types.With = func(x nn.OperandType) Types {
		if s.Has(x) {
			return of(x)
		}
		return s
	}
	return o
}

// like is a further tensor of the type of input 0.
func like(name string, r Ranks) Operand {
	return Operand{Name: name, Types: same, Ranks: r, Data: true}
}

// result is the single output of most operations: of the type of input 0.
func result(r Ranks) []Operand { return []Operand{like("result", r)} }

// resultOf is the single output of an operation that converts.
func resultOf(t TypeRule, r Ranks) []Operand {
	return []Operand{{Name: "result", Types: t, Ranks: r, Data: true}}
}

// weights has the type of input 0, or is quantised by channel when input 0 is of an 8-bit type.
func weights(name string, r Ranks, shape string) Operand {
	return Operand{Name: name, Ranks: r, Data: true, Note: shape, Types: TypeRule{
		With: func(x nn.OperandType) Types {
			if x.IsQuant8() {
				return of(x, nn.TensorQuant8PerChannel)
			}
			return of(x)
		},
		Text: "as input 0; with 8 bits also TENSOR_QUANT8_SYMM_PER_CHANNEL",
	}}
}

// bias has the type of a float input 0, else TENSOR_INT32.
func bias(shape string) Operand {
	return Operand{Name: "bias", Ranks: exactly(1), Data: true, Note: shape, Types: TypeRule{
		With: func(x nn.OperandType) Types {
			if x.IsFloat() {
				return of(x)
			}
			return of(nn.TensorInt32)
		},
		Text: "as a float input 0, else TENSOR_INT32",
	}}
}

func int32s(names ...string) []Operand {
	var list []Operand
	for _, n := range names {
		list = append(list, Operand{Name: n, Types: fixed(of(nn.Int32))})
	}
	return list
}

func int32Of(name, note string) Operand {
	return Operand{Name: name, Types: fixed(of(nn.Int32)), Note: note}
}

func activation() Operand { return int32Of("activation", "0 none, 1 RELU, 2 RELU1, 3 RELU6") }

func flag(name, note string) Operand {
	return Operand{Name: name, Types: fixed(of(nn.Bool)), Note: note}
}

func layout() Operand { return flag("layout", "true: NCHW; without it NHWC").since(3) }

// realOf is the scalar type that goes with tensor type x.
func realOf(x nn.OperandType) Types {
	if x == nn.TensorFloat16 {
		return of(nn.Float16)
	}
	return of(nn.Float32)
}

func realNumber(name, note string) Operand {
	return Operand{Name: name, Note: note, Types: TypeRule{With: realOf, Text: "FLOAT32; FLOAT16 with TENSOR_FLOAT16"}}
}

// indices is a TENSOR_INT32 parameter: axes, a permutation, a shape, paddings.
func indices(name string, r Ranks, note string) Operand {
	return Operand{Name: name, Types: fixed(of(nn.TensorInt32)), Ranks: r, Note: note}
}

func (o Operand) named(name string) Operand { o.Name = name; return o }
func (o Operand) omissible() Operand        { o.Omissible = true; return o }
func (o Operand) runtime() Operand          { o.Runtime = true; return o }
func (o Operand) trailing() Operand         { o.Trailing = true; return o }
func (o Operand) repeated() Operand         { o.Repeated = true; return o }
func (o Operand) since(level Level) Operand { o.Since = level; return o }

func list(parts ...any) []Operand {
	var all []Operand
	for _, p := range parts {
		switch p := p.(type) {
		case Operand:
			all = append(all, p)
		case []Operand:
			all = append(all, p...)
		default:
			panic(fmt.Sprintf("ops: %T in a list of operands", p))
		}
	}
	return all
}

// check compares operand o, of an operation whose input 0 has type x, with its description.
func (d *Operand) check(o *nn.Operand, x nn.OperandType) error {
	if s := d.Types.With(x); !s.Has(o.Type) {
		return fmt.Errorf("type %v instead of %v", o.Type, s)
	}
	if o.Lifetime == nn.NoValue {
		if !d.Omissible {
			return fmt.Errorf("has no value")
		}
		return nil
	}
	if !o.Type.IsTensor() || len(o.Dims) == 0 { // scalar, or rank not known yet
		return nil
	}
	if d.Data && d.Omissible && o.Lifetime == nn.SubgraphInput && !o.Dims.Known() { // left off: its rank says nothing
		return nil
	}
	r := d.Ranks
	if n := len(o.Dims); n < r.Min || n > r.Max {
		if r.Min == r.Max {
			return fmt.Errorf("rank %d instead of %d", n, r.Min)
		}
		return fmt.Errorf("rank %d is outside %d..%d", n, r.Min, r.Max)
	}
	return nil
}
