package ops

import (
	"encoding/binary"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(Row{
		Type: nn.OpFill, Since: 4,
		Forms: one(indices("shape", exactly(1), "positive sizes"), Operand{Name: "value", Types: fixed(of(nn.Float16, nn.Float32, nn.Int32))}),
		Outputs: []Operand{{
			Name: "result", Types: TypeRule{
				With: func(nn.OperandType) Types { return floatsInt32 },
				Text: "TENSOR_FLOAT16, TENSOR_FLOAT32 or TENSOR_INT32, as the value is",
			}, Ranks: AnyRank, Data: true,
		}},
		rules: typed[Fill]{attrs: fillAttrs, shapes: single(fillShape), leads: true},
	})
}

// Fill are the attributes of FILL.
type Fill struct {
	Bits uint32 `json:"bits,omitempty"` // of an element of the output's type
}

func (Fill) attrs() {}

func fillAttrs(c *Call, p *params, a *Fill) {
	if _, _, err := fillSizes(c); err != nil {
		p.fail("%w", err)
	}
	y := c.Out(0).Type
	if want := map[nn.OperandType]nn.OperandType{
		nn.TensorFloat16: nn.Float16, nn.TensorFloat32: nn.Float32, nn.TensorInt32: nn.Int32,
	}[y]; c.inputType(1) != want {
		p.fail("a value of type %v for a result of type %v", c.inputType(1), y)
		return
	}
	if b, ok := p.bytes("value", y.Bytes()); ok {
		var word [4]byte
		copy(word[:], b[:y.Bytes()])
		a.Bits = binary.LittleEndian.Uint32(word[:])
	}
}

// fillSizes reads and tests the shape; isKnown is false where it is known only at run time.
func fillSizes(c *Call) (d nn.Dims, isKnown bool, err error) {
	p := &params{c: c}
	sizes, ok := p.int32s("shape")
	if !ok {
		if p.notConstant {
			return nil, false, nil
		}
		return nil, false, p.err
	}
	if len(sizes) > MaxRank {
		return nil, false, fmt.Errorf("shape %v has more than %d dimensions", sizes, MaxRank)
	}
	for _, n := range sizes {
		if n < 1 {
			return nil, false, fmt.Errorf("size %d in shape %v", n, sizes)
		}
		d = append(d, uint32(n))
	}
	return d, true, nil
}

// fillShape takes the output's dimensions from the model where the shape is known only at run time.
func fillShape(c *Call, _ *Fill) (nn.Dims, error) {
	d, isKnown, err := fillSizes(c)
	if err != nil || isKnown {
		return d, err
	}
	y := c.Out(0)
	if !shapeKnown(y) {
		return nil, fmt.Errorf("input 0 (shape): %w", ErrNotConstant)
	}
	if n := c.In(0).Dims; len(n) == 1 && n[0] != 0 && int64(n[0]) != int64(len(y.Dims)) {
		return nil, fmt.Errorf("a shape of %d sizes for an output %v", n[0], []uint32(y.Dims))
	}
	return append(nn.Dims(nil), y.Dims...), nil
}
