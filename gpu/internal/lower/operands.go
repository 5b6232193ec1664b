package lower

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders/family"
)

// elem is the element type of kernels for tensors of t; "" where there is none.
func elem(t nn.OperandType) family.Elem {
	switch t {
	case nn.TensorFloat32:
		return family.F32
	case nn.TensorFloat16:
		return family.F16
	case nn.TensorInt32:
		return family.I32
	case nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned:
		return family.Q8
	}
	return ""
}

// quadTexels is the format of texels that hold a quad of elements e.
func quadTexels(e family.Elem) plan.Format {
	switch e {
	case family.Q8:
		return plan.FormatR32U
	case family.F16:
		return plan.FormatRG32U
	}
	return plan.FormatRGBA32F
}

// checkMoved is the check of operations that move elements without computing: one element type of 1, 2 or
// 4 bytes in and out.
func checkMoved(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	out := g.T(n.Out[0])
	for _, id := range n.In {
		if err := checkSameType(g.T(id), out); err != nil {
			return err
		}
	}
	if e := out.Type.Bytes(); e != 1 && e != 2 && e != 4 {
		return fmt.Errorf("elements of %v cannot be moved", out.Type)
	}
	return emit.CheckTensors(f, g, n)
}

// isFloatTensor reports whether kernels compute t in float32.
func isFloatTensor(t nn.OperandType) bool { return t == nn.TensorFloat32 || t == nn.TensorFloat16 }

// activation is the fused activation of n, none for operations that cannot have one.
func activation(n *ir.Node) nn.Activation {
	if a, ok := n.Attrs.(ops.Activated); ok {
		return a.Activation()
	}
	return nn.ActNone
}

// checkScales reports a quantised tensor whose scale is not a positive number.
func checkScales(tensors ...*ir.Tensor) error {
	for _, t := range tensors {
		if (t.Type.IsQuant8() || isQuant16(t.Type)) && (!(t.Scale > 0) || math.IsInf(float64(t.Scale), 1)) {
			return fmt.Errorf("scale %v", t.Scale)
		}
	}
	return nil
}

// checkNumbers reports the first of several tensors of one type that are neither floats nor bytes with a scale, for
// operation op.
func checkNumbers(op nn.OperationType, tensors ...*ir.Tensor) error {
	if t := tensors[0].Type; !isFloatTensor(t) && !t.IsQuant8() {
		return fmt.Errorf("%v of %v", op, t)
	}
	return checkScales(tensors...)
}

// checkSameType reports an input and an output of different types.
func checkSameType(in, out *ir.Tensor) error {
	if in.Type != out.Type {
		return fmt.Errorf("the input is of %v, the output of %v", in.Type, out.Type)
	}
	return nil
}

// firstInputOnly is n without its parameters, which may still be listed after they were decoded.
func firstInputOnly(n *ir.Node) *ir.Node {
	m := *n
	m.In = n.In[:1]
	return &m
}
