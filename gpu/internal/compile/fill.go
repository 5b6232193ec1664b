package compile

import (
	"encoding/binary"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// expandFill makes a FILL a padding of a single element by more of the same, and a reshape, which is free, since it
// keeps the innermost dimension.
func expandFill(x *expansion, n *ir.Node) error {
	if err := x.checkRoom(2); err != nil {
		return err
	}
	if err := x.takeConstants(1); err != nil {
		return err
	}
	y := x.graph.T(n.Out[0])
	typ, bits := y.Type, n.Attrs.(ops.Fill).Bits
	columns := y.Shape[len(y.Shape)-1]
	rows := y.Elements() / columns
	one := x.graph.Add(ir.Tensor{Type: typ, Shape: []int{1, 1}, Const: binary.LittleEndian.AppendUint32(nil, bits)[:typ.Bytes()]})
	flat := x.graph.Add(ir.Tensor{Type: typ, Shape: []int{rows, columns}})
	a := ops.Padding{Pads: [][2]int{{0, rows - 1}, {0, columns - 1}}, Value: elementOf(typ, bits)}
	x.into(n.Out[0], nn.OpReshape, nil, x.into(flat, nn.OpPad, a, one))
	return nil
}

// expandRank makes a RANK a constant, which the graph knows.
func expandRank(x *expansion, n *ir.Node) error {
	if err := x.takeConstants(1); err != nil {
		return err
	}
	rank := binary.LittleEndian.AppendUint32(nil, uint32(n.Attrs.(ops.Rank).Rank))
	x.into(n.Out[0], nn.OpReshape, nil, x.graph.Add(ir.Tensor{Type: nn.TensorInt32, Shape: []int{1}, Const: rank}))
	return nil
}

// elementOf is the number that an element of type t with these bits has.
func elementOf(t nn.OperandType, bits uint32) float64 {
	switch t {
	case nn.TensorFloat16:
		return float64(nn.Half(bits).Float32())
	case nn.TensorFloat32:
		return float64(math.Float32frombits(bits))
	}
	return float64(int32(bits))
}
