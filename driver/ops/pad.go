package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// Modes of MIRROR_PAD.
const (
	mirrorReflect   = 0
	mirrorSymmetric = 1
)

func init() {
	paddings := indices("paddings", exactly(2), "[rank, 2]: before and after each dimension, not negative").runtime()
	value := Operand{Name: "value", Note: "a stored number where the input is quantised", Types: TypeRule{
		With: func(x nn.OperandType) Types {
			if x.IsQuant8() {
				return of(nn.Int32)
			}
			return realOf(x)
		},
		Text: "FLOAT32; FLOAT16 with TENSOR_FLOAT16, INT32 with 8 bits",
	}}
	register(
		Row{
			Type: nn.OpPad, Since: 2,
			Forms: one(input(numbers, extended), paddings), Outputs: result(extended),
			Rules: []string{"fills with zero, the zero point of a quantised input"},
			quant: sameQuant,
			rules: typed[Padding]{attrs: padAttrs, shapes: single(padShape), runtime: padRuntime},
		},
		Row{
			Type: nn.OpPadV2, Since: 3,
			Forms: one(input(numbers, extended), paddings, value), Outputs: result(extended),
			quant: sameQuant,
			rules: typed[Padding]{attrs: padV2Attrs, shapes: single(padShape), runtime: padRuntime},
		},
		Row{
			Type: nn.OpMirrorPad, Since: 7,
			Forms:   one(input(withInt32, AnyRank), paddings, int32Of("mode", "0 REFLECT, 1 SYMMETRIC: the edge is repeated")),
			Outputs: result(AnyRank),
			Rules:   []string{"a padding is at most the size of its dimension, one less with REFLECT"},
			quant:   sameQuant,
			rules:   typed[MirrorPadding]{attrs: mirrorPadAttrs, shapes: single(mirrorPadShape), runtime: mirrorPadRuntime},
		},
	)
}

// Padding are the attributes of PAD and PAD_V2.
type Padding struct {
	Pads [][2]int `json:"pads,omitempty"` // before and after, for each dimension
	// Value is the fill: the real value for a float type, the stored integer for a quantised one (PAD: the zero point).
	Value float64 `json:"value,omitempty"`
}

func (Padding) attrs() {}

// MirrorPadding are the attributes of MIRROR_PAD.
type MirrorPadding struct {
	Pads      [][2]int `json:"pads,omitempty"`      // before and after, for each dimension
	Symmetric bool     `json:"symmetric,omitempty"` // the edge is repeated
}

func (MirrorPadding) attrs() {}

func padAttrs(p *params, a *Padding) {
	a.Pads = p.pads()
	if x := p.In(0); x.Type.IsQuant8() {
		a.Value = float64(x.ZeroPoint)
	}
}

// pads reads the paddings [rank, 2].
func (p *params) pads() (pads [][2]int) {
	rank := p.rank()
	if o := p.In(1); len(o.Dims) == 2 {
		if o.Dims[1] != 2 && o.Dims[1] != 0 || rank > 0 && o.Dims[0] != 0 && int64(o.Dims[0]) != int64(rank) {
			p.fail("paddings have dimensions %v instead of [%d 2]", []uint32(o.Dims), rank)
			return nil
		}
	}
	v, ok := p.int32s("paddings")
	if !ok {
		return nil
	}
	for _, n := range v {
		if n < 0 {
			p.fail("padding %d is negative", n)
			return nil
		}
	}
	if rank == 0 {
		return nil
	}
	if len(v) != 2*rank {
		p.fail("%d paddings for rank %d", len(v), rank)
		return nil
	}
	for i := 0; i < len(v); i += 2 {
		pads = append(pads, [2]int{int(v[i]), int(v[i+1])})
	}
	return pads
}

// padV2Attrs: the value of an 8-bit form is a stored integer.
func padV2Attrs(p *params, a *Padding) {
	a.Pads = p.pads()
	lo, hi := int32(0), int32(255)
	switch p.In(0).Type {
	case nn.TensorQuant8AsymmSigned:
		lo, hi = -128, 127
	case nn.TensorQuant8Asymm:
	default:
		a.Value, _ = p.real("value")
		return
	}
	v, ok := p.int32("value")
	if ok && (v < lo || v > hi) {
		p.fail("value %d is outside %d..%d", v, lo, hi)
	}
	a.Value = float64(v)
}

func padShape(p *params, a *Padding) (nn.Dims, error) { return padded(p.In(0).Dims, a.Pads) }

func padded(x nn.Dims, pads [][2]int) (nn.Dims, error) {
	out := append(nn.Dims(nil), x...)
	for i, pad := range pads {
		n, err := toDim(int64(out[i]) + int64(pad[0]) + int64(pad[1]))
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

func mirrorPadAttrs(p *params, a *MirrorPadding) {
	a.Pads = p.pads()
	mode, ok := p.int32("mode")
	if ok && mode != mirrorReflect && mode != mirrorSymmetric {
		p.fail("mode %d", mode)
	}
	a.Symmetric = mode == mirrorSymmetric
}

// mirrorPadShape: a padding may be as large as the dimension if the edge is repeated, else one less.
func mirrorPadShape(p *params, a *MirrorPadding) (nn.Dims, error) {
	for i, n := range p.In(0).Dims {
		limit := int64(n)
		if !a.Symmetric {
			limit--
		}
		for _, pad := range a.Pads[i] {
			if int64(pad) > limit {
				return nil, fmt.Errorf("padding %d of dimension %d exceeds %d", pad, i, limit)
			}
		}
	}
	return padded(p.In(0).Dims, a.Pads)
}
