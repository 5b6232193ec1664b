package ops

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// resize has two forms, told apart by the types of inputs 1 and 2: sizes or factors, width first. tail is what may
// follow.
func resize(t nn.OperationType, since Level, layout Operand) Row {
	lead := input(numbers, exactly(4))
	tail := list(layout,
		flag("align corners", "the centers of the corners' pixels stay").since(4).trailing(),
		flag("half pixel centers", "not with align corners").since(4).trailing())
	factor := "positive; the result has floor(size * factor)"
	return Row{
		Type: t, Since: since, Empty: RowsEmpty,
		Forms: []Form{
			{"sizes", list(lead, int32s("output width", "output height"), tail)},
			{"factors", list(lead, realNumber("width factor", factor).since(3), realNumber("height factor", factor).since(3), tail)},
		},
		Outputs: result(exactly(4)),
		quant:   sameQuant,
		relate:  relateImage,
		rules:   typed[Resize]{attrs: resizeAttrs, shapes: single(resizeShape)},
	}
}

func init() {
	bilinear := resize(nn.OpResizeBilinear, 1, layout().trailing())
	bilinear.Later = map[nn.OperandType]Level{nn.TensorQuant8Asymm: 3}
	register(bilinear, resize(nn.OpResizeNearestNeighbor, 3, layout()))
}

// Resize are the attributes of RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR.
type Resize struct {
	NCHW         bool `json:"nchw,omitempty"`
	AlignCorners bool `json:"alignCorners,omitempty"`
	HalfPixel    bool `json:"halfPixel,omitempty"`
}

func (a Resize) attrs()              {}
func (a Resize) ChannelsFirst() bool { return a.NCHW }
func (a Resize) ChannelsLast() Attrs { a.NCHW = false; return a }

func resizeAttrs(p *params, a *Resize) {
	a.NCHW, a.AlignCorners, a.HalfPixel = p.flag("layout"), p.flag("align corners"), p.flag("half pixel centers")
	if a.AlignCorners && a.HalfPixel {
		p.fail("align corners and half pixel centers exclude each other")
	}
	if p.has("output width") {
		p.pair("output")
		return
	}
	for _, name := range []string{"width factor", "height factor"} {
		if v, ok := p.real(name); ok && v <= 0 {
			p.fail("%s %v is not positive", name, v)
		}
	}
}

func resizeShape(p *params, a *Resize) (nn.Dims, error) {
	x := p.In(0).Dims
	h, w, ch := spatial(a.NCHW)
	var out [2]uint32
	var err error
	if p.has("output width") {
		size := p.pair("output")
		out = [2]uint32{uint32(size[0]), uint32(size[1])}
		return image(a.NCHW, x[0], out, x[ch]), nil
	}
	for i, at := range [2]struct {
		dim  int
		name string
	}{{h, "height factor"}, {w, "width factor"}} {
		factor, _ := p.real(at.name)
		// The reference multiplies in float32: 7 * 0.7f must give the same here.
		n := math.Floor(float64(float32(x[at.dim]) * float32(factor)))
		if n > math.MaxUint32 {
			return nil, fmt.Errorf("size %d times %v is too large", x[at.dim], factor)
		}
		if out[i], err = toDim(int64(n)); err != nil {
			return nil, err
		}
	}
	return image(a.NCHW, x[0], out, x[ch]), nil
}
