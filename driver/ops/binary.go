package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// broadcastRule is how the rows of operations on two tensors state it in words.
const broadcastRule = "shapes are aligned at their last dimensions: sizes are equal, or one of them is 1"

// pairwise is an operation on two tensors with broadcasting.
func pairwise(t nn.OperationType, since Level, types Types, r Ranks, first, second string) Row {
	return Row{
		Type: t, Since: since, Empty: AnyEmpty,
		Forms: one(input(types, r).named(first), like(second, r)), Outputs: result(r),
		Rules:  []string{broadcastRule},
		relate: relateBroadcast,
		rules:  untyped(single(broadcastShape[none])),
	}
}

// fused is a pairwise operation that ends with an activation.
func fused(t nn.OperationType, since Level, types Types) Row {
	row := pairwise(t, since, types, extended, "first input", "second input")
	row.Forms[0].Inputs = append(row.Forms[0].Inputs, activation())
	row.Later = map[nn.OperandType]Level{nn.TensorInt32: 4}
	row.Rules = append(row.Rules, "the activation of TENSOR_INT32 is none")
	row.rules = typed[Arithmetic]{attrs: arithmeticAttrs, shapes: single(broadcastShape[Arithmetic])}
	return row
}

// The HAL wants the 8-bit output scale of MUL to exceed scale(x) * scale(y). That is not tested: the kernels take any
// ratio, and TFLite models have outputs of finer scales.
func init() {
	sub, mul := fused(nn.OpSub, 2, withInt32), fused(nn.OpMul, 1, withInt32)
	sub.Later[nn.TensorQuant8Asymm] = 3
	mul.Extends = []string{"an 8-bit result of any scale; the HAL wants more than scale(first input) * scale(second input)"}
	register(
		fused(nn.OpAdd, 1, withInt32),
		sub,
		mul,
		fused(nn.OpDiv, 2, floatsInt32),
		pairwise(nn.OpMaximum, 3, withInt32, AnyRank, "first input", "second input"),
		pairwise(nn.OpMinimum, 3, withInt32, AnyRank, "first input", "second input"),
		pairwise(nn.OpPow, 3, floats, AnyRank, "base", "exponent"),
		pairwise(nn.OpPrelu, 3, numbers, AnyRank, "input", "alpha"),
		pairwise(nn.OpSquaredDifference, 0, withInt32, extended, "first input", "second input"),
	)
}

// Arithmetic are the attributes of ADD, SUB, MUL and DIV.
type Arithmetic struct {
	Act nn.Activation `json:"act,omitempty"`
}

func (a Arithmetic) attrs()                                 {}
func (a Arithmetic) Activation() nn.Activation              { return a.Act }
func (a Arithmetic) WithActivation(act nn.Activation) Attrs { a.Act = act; return a }

func arithmeticAttrs(p *params, a *Arithmetic) {
	a.Act = p.activation()
	if a.Act != nn.ActNone && p.inputType(0) == nn.TensorInt32 {
		p.fail("activation %v on TENSOR_INT32", a.Act)
	}
}

func broadcastShape[A Attrs](p *params, _ *A) (nn.Dims, error) {
	return broadcast(p.In(0).Dims, p.In(1).Dims)
}

// broadcast aligns x and y at their last dimensions: sizes must be equal, or one of them 1.
func broadcast(x, y nn.Dims) (nn.Dims, error) {
	if len(x) < len(y) {
		x, y = y, x
	}
	out := append(nn.Dims(nil), x...)
	for i := range y {
		k := len(x) - len(y) + i
		switch {
		case y[i] == x[k] || y[i] == 1:
		case x[k] == 1:
			out[k] = y[i]
		default:
			return nil, fmt.Errorf("shapes %v and %v cannot be broadcast", []uint32(x), []uint32(y))
		}
	}
	return out, nil
}
