package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	deltas := Operand{Name: "deltas", Ranks: exactly(2), Data: true, Note: "[R, 4*C]: dx, dy, dw, dh for each of C classes",
		Types: TypeRule{Text: "as a float input 0, else TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED", With: func(x nn.OperandType) Types {
			if x == nn.TensorQuant16Asymm {
				return quant8
			}
			return of(x)
		}}}
	register(Row{
		Type: nn.OpAxisAlignedBboxTransform, Since: 3, Empty: AnyEmpty,
		Forms: one(input(floats|of(nn.TensorQuant16Asymm), exactly(2)), deltas, int32Tensor("images", exactly(1), "[R]: which image each is in"),
			like("image sizes", exactly(2)).noted("[N, 2]: height, width")),
		Outputs: result(exactly(2)),
		Rules: []string{"[R, 4], boxes x1, y1, x2, y2, becomes [R, 4*C]: centers move by dx, dy of the box's size, sizes grow by e^dw, e^dh",
			"boxes are cut at the edges of their image; one in no image is in the nearest"},
		quant: boxQuant(quantRule{}),
		rules: untyped(single(bboxShape)),
	}, Row{
		Type: nn.OpHeatmapMaxKeypoint, Since: 3,
		Forms:   one(input(numbers, exactly(4)), boxes("boxes", exactly(2), "[R, 4]: x1, y1, x2, y2"), layout()),
		Outputs: []Operand{like("scores", exactly(2)), boxes("keypoints", exactly(3), "[R, K, 2]: x, y")},
		Rules: []string{"a square heatmap [R, s, s, K] of at least 2 by 2 for each box: where in the box the largest of each of K channels is, " +
			"and its score, both of the quadratic through its neighbours"},
		quant: boxQuant(quantRule{}),
		rules: typed[Keypoint]{attrs: func(p *params, a *Keypoint) { a.NCHW = p.flag("layout") }, shapes: keypointShapes},
	})
}

func (o Operand) noted(note string) Operand { o.Note = note; return o }

func bboxShape(p *params, _ *none) (nn.Dims, error) {
	rois, deltas, info := p.In(0).Dims, p.In(1).Dims, p.In(3).Dims
	if err := p.sizes(0, rois[0], 4); err != nil {
		return nil, err
	}
	if deltas[0] != rois[0] || deltas[1]%4 != 0 {
		return nil, fmt.Errorf("deltas %v of %d boxes", []uint32(deltas), rois[0])
	}
	if err := p.sizes(2, rois[0]); err != nil {
		return nil, err
	}
	return nn.Dims{deltas[0], deltas[1]}, p.sizes(3, info[0], 2)
}

// Keypoint are the attributes of HEATMAP_MAX_KEYPOINT.
type Keypoint struct {
	NCHW bool `json:"nchw,omitempty"`
}

func (Keypoint) attrs() {}

func keypointShapes(p *params, a *Keypoint) ([]nn.Dims, error) {
	x := p.In(0).Dims
	h, w, ch := spatial(a.NCHW)
	if x[h] != x[w] || x[h] < 2 {
		return nil, fmt.Errorf("a heatmap of %d by %d", x[h], x[w])
	}
	return []nn.Dims{{x[0], x[ch]}, {x[0], x[ch], 2}}, p.sizes(1, x[0], 4)
}
