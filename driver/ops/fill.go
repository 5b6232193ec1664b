package ops

import (
	"encoding/binary"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(Row{
		Type: nn.OpFill, Since: 4,
		Forms: one(indices("shape", exactly(1), "positive sizes").runtime(), Operand{Name: "value", Types: fixed(of(nn.Float16, nn.Float32, nn.Int32))}),
		Outputs: []Operand{{
			Name: "result", Types: TypeRule{
				With: func(nn.OperandType) Types { return floatsInt32 },
				Text: "TENSOR_FLOAT16, TENSOR_FLOAT32 or TENSOR_INT32, as the value is",
			}, Ranks: AnyRank, Data: true,
		}},
		rules: typed[Fill]{attrs: fillAttrs, shapes: single(fillShape), runtime: fillRuntime},
	})
}

// Fill are the attributes of FILL.
type Fill struct {
	Bits uint32 `json:"bits,omitempty"` // of an element of the output's type
}

func (Fill) attrs() {}

func fillAttrs(p *params, a *Fill) {
	fillSizes(p)
	y := p.Out(0).Type
	if want := map[nn.OperandType]nn.OperandType{
		nn.TensorFloat16: nn.Float16, nn.TensorFloat32: nn.Float32, nn.TensorInt32: nn.Int32,
	}[y]; p.inputType(1) != want {
		p.fail("a value of type %v for a result of type %v", p.inputType(1), y)
		return
	}
	if b, ok := p.bytes("value", y.Bytes()); ok {
		var word [4]byte
		copy(word[:], b[:y.Bytes()])
		a.Bits = binary.LittleEndian.Uint32(word[:])
	}
}

// fillSizes reads and tests the shape.
func fillSizes(p *params) (d nn.Dims) {
	sizes, _ := p.int32s("shape")
	if len(sizes) > MaxRank {
		p.fail("shape %v has more than %d dimensions", sizes, MaxRank)
	}
	for _, n := range sizes {
		if n < 1 {
			p.fail("size %d in shape %v", n, sizes)
		}
		d = append(d, uint32(n))
	}
	return d
}

func fillShape(p *params, _ *Fill) (nn.Dims, error) { return fillSizes(p), nil }

// fillRuntime: any shape of the output's rank.
func fillRuntime(p *params, _ *Fill, y nn.Dims) (nn.Dims, error) {
	if n := p.In(0).Dims; len(n) == 1 && n[0] != 0 && int64(n[0]) != int64(len(y)) {
		return nil, fmt.Errorf("a shape of %d sizes for an output %v", n[0], []uint32(y))
	}
	return nil, nil
}
