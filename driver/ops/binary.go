package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// pairwise is an operation on two tensors with broadcasting; fused ones end with an activation.
func pairwise(t nn.OperationType, types typeSet, r ranks, second string, fused bool) definition {
	d := definition{t: t, out: like("output", r), shape: broadcastShape}
	if !fused {
		d.form = one(nil, input(types, r), like(second, r))
		return d
	}
	d.form = one(nil, input(types, r), like(second, r), int32s("activation"))
	d.attrs = func(c *Call, p *params, a *Attrs) {
		a.Act = p.activation(2)
		if a.Act != nn.ActNone && c.inputType(0) == nn.TensorInt32 {
			p.fail("activation %v on TENSOR_INT32", a.Act)
		}
	}
	return d
}

// The HAL wants the 8-bit output scale of MUL to exceed scale(x) * scale(y). That is not tested: the
// kernels take any ratio, and TFLite models have outputs of finer scales.
func init() {
	register(rows(
		pairwise(nn.OpAdd, withInt32, extended, "second input", true),
		pairwise(nn.OpSub, withInt32, extended, "second input", true),
		pairwise(nn.OpMul, withInt32, extended, "second input", true),
		pairwise(nn.OpDiv, floatsInt32, extended, "second input", true),
		pairwise(nn.OpMaximum, withInt32, anyRank, "second input", false),
		pairwise(nn.OpMinimum, withInt32, anyRank, "second input", false),
		pairwise(nn.OpPow, floats, anyRank, "exponent", false),
		pairwise(nn.OpPrelu, numbers, anyRank, "alpha", false),
		pairwise(nn.OpSquaredDifference, withInt32, extended, "second input", false),
	)...)
}

func broadcastShape(c *Call, _ *Attrs) (nn.Dims, error) {
	return broadcast(c.In(0).Dims, c.In(1).Dims)
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
