package ops

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// boxType gives the types of boxes, in pixels of an image, that go with type x of input 0.
func boxType(x nn.OperandType) Types {
	if x.IsQuant8() {
		return of(nn.TensorQuant16Asymm)
	}
	return of(x)
}

// boxes is a tensor of boxes, or of sizes of images.
func boxes(name string, r Ranks, shape string) Operand {
	return Operand{Name: name, Ranks: r, Data: true, Note: shape,
		Types: TypeRule{With: boxType, Text: "as a float input 0, else TENSOR_QUANT16_ASYMM"}}
}

func int32Tensor(name string, r Ranks, shape string) Operand {
	return Operand{Name: name, Types: fixed(of(nn.TensorInt32)), Ranks: r, Data: true, Note: shape}
}

// BoxScale is the unit of boxes of 16 bits, in pixels; their zero point is 0. From NN HAL types.hal.
const BoxScale = 0.125

// boxQuant requires that scale and zero point of all operands of 16 bits, in addition to the rule and.
func boxQuant(and quantRule) quantRule {
	rule := and
	rule.text = "boxes of 16 bits have the scale 0.125 and the zero point 0"
	if and.text != "" {
		rule.text = and.text + "; " + rule.text
	}
	rule.check = func(c *Call) error {
		for _, k := range slices.Concat(c.Op.Inputs, c.Op.Outputs) {
			o := &c.Graph.Operands[k]
			if o.Lifetime == nn.NoValue || o.Type != nn.TensorQuant16Asymm && o.Type != nn.TensorQuant16Symm {
				continue
			}
			if o.Scale != BoxScale || o.ZeroPoint != 0 {
				return fmt.Errorf("boxes of scale %v and zero point %d instead of %v and 0", o.Scale, o.ZeroPoint, BoxScale)
			}
		}
		if and.check != nil {
			return and.check(c)
		}
		return nil
	}
	return rule
}

func init() {
	head := list(input(numbers, exactly(4)), boxes("boxes", exactly(2), "[R, 4]: x1, y1, x2, y2 in the image"),
		int32Tensor("images", exactly(1), "[R]: which image of the input each is in"),
		int32Of("output height", "at least 1"), int32Of("output width", "at least 1"),
		realNumber("height ratio", "positive; of the image to the input"), realNumber("width ratio", "positive; of the image to the input"))
	shapes := "[n, h, w, c] becomes [R, output height, output width, c]"
	register(Row{
		Type: nn.OpRoiAlign, Since: 3, Empty: AnyEmpty,
		Forms: one(head, int32Of("height samples", "of a cell; 0: as many as it has pixels, rounded up"),
			int32Of("width samples", "as height samples"), layout()),
		Outputs: result(exactly(4)),
		Rules: []string{shapes, "each cell of a box is the mean of samples between pixels; a sample more than a pixel outside counts as 0",
			"a box that is in no image is in the nearest"},
		quant: boxQuant(quantRule{}),
		rules: typed[RoiAlign]{attrs: roiAlignAttrs, shapes: single(func(p *params, a *RoiAlign) (nn.Dims, error) { return roiShape(p, &a.Roi) })},
	}, Row{
		Type: nn.OpRoiPooling, Since: 3, Empty: AnyEmpty,
		Forms:   one(head, layout()),
		Outputs: result(exactly(4)),
		Rules:   []string{shapes, "each cell of a box is the largest of its pixels, 0 without any"},
		quant:   boxQuant(sameQuant),
		rules:   typed[RoiPooling]{attrs: func(p *params, a *RoiPooling) { roiAttrs(p, &a.Roi) }, shapes: single(func(p *params, a *RoiPooling) (nn.Dims, error) { return roiShape(p, &a.Roi) })},
	})
}

// Roi are the attributes that ROI_ALIGN and ROI_POOLING share.
type Roi struct {
	Size  [2]int     `json:"size"`  // of the output: height, width
	Ratio [2]float32 `json:"ratio"` // of the image, in whose pixels boxes are, to the input: height, width
	NCHW  bool       `json:"nchw,omitempty"`
}

// RoiAlign are the attributes of ROI_ALIGN.
type RoiAlign struct {
	Roi
	Samples [2]int `json:"samples"` // of a cell: height, width; 0: by its size
}

func (a RoiAlign) attrs()              {}
func (a RoiAlign) ChannelsFirst() bool { return a.NCHW }
func (a RoiAlign) ChannelsLast() Attrs { a.NCHW = false; return a }

// RoiPooling are the attributes of ROI_POOLING.
type RoiPooling struct{ Roi }

func (a RoiPooling) attrs()              {}
func (a RoiPooling) ChannelsFirst() bool { return a.NCHW }
func (a RoiPooling) ChannelsLast() Attrs { a.NCHW = false; return a }

func roiAttrs(p *params, a *Roi) {
	a.Size = [2]int{p.atLeast("output height", 1), p.atLeast("output width", 1)}
	a.Ratio = [2]float32{p.positive("height ratio"), p.positive("width ratio")}
	a.NCHW = p.flag("layout")
}

func roiAlignAttrs(p *params, a *RoiAlign) {
	roiAttrs(p, &a.Roi)
	a.Samples = [2]int{p.atLeast("height samples", 0), p.atLeast("width samples", 0)}
}

// positive returns a FLOAT32 or FLOAT16 that must be above 0; 1 when it is not known.
func (p *params) positive(name string) float32 {
	v, ok := p.real(name)
	if ok && float32(v) <= 0 {
		p.fail("%s %v is not positive", name, v)
	}
	if !ok || v <= 0 {
		return 1
	}
	return float32(v)
}

func roiShape(p *params, a *Roi) (nn.Dims, error) {
	x, rois := p.In(0).Dims, p.In(1).Dims
	if err := p.sizes(1, rois[0], 4); err != nil {
		return nil, err
	}
	if err := p.sizes(2, rois[0]); err != nil {
		return nil, err
	}
	_, _, ch := spatial(a.NCHW)
	return image(a.NCHW, rois[0], [2]uint32{uint32(a.Size[0]), uint32(a.Size[1])}, x[ch]), nil
}

// sizes fails where input i does not have these dimensions.
func (c *Call) sizes(i int, want ...uint32) error {
	if d := c.In(i).Dims; !d.Equal(want) {
		return fmt.Errorf("input %d has dimensions %v instead of %v", i, []uint32(d), want)
	}
	return nil
}
