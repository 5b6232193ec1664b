package ops

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(Row{
		Type: nn.OpDetectionPostprocessing, Since: 3,
		Forms: one(input(floats, exactly(3)).noted("scores, [N, A, C]: of each class at each of A anchors; class 0 is the background"),
			like("deltas", exactly(3)).noted("[N, A, 4 or more]: dy, dx, dh, dw, and what is not looked at"),
			like("anchors", exactly(2)).noted("[A, 4]: y and x of the center, height, width"),
			realNumber("y scale", "positive; divides dy"), realNumber("x scale", "positive; divides dx"),
			realNumber("height scale", "positive; divides dh"), realNumber("width scale", "positive; divides dw"),
			flag("regular", "true: overlaps are looked for in each class; false: once, by the best class of each anchor"),
			int32Of("detections", "at least 1"),
			int32Of("classes per detection", "at least 1, where regular is false"),
			int32Of("detections per class", "at least 1, where regular is true"),
			realNumber("score threshold", ""), realNumber("overlap threshold", "at least 0"),
			flag("background", "true: the background counts as class 0, so that the results begin with 1; false: they begin with 0")),
		Outputs: []Operand{like("scores", exactly(2)).noted("[N, D]"), like("boxes", exactly(3)).noted("[N, D, 4]: y1, x1, y2, x2"),
			int32Tensor("classes", exactly(2), "[N, D]"), int32Tensor("counts", exactly(1), "[N]: how many of D there are; the others are 0")},
		Rules: []string{"D is detections, or detections times classes per detection where regular is false",
			"an anchor becomes a box: its center moves by dy, dx of its size over the scales, its size grows by e^(dh over its scale), e^(dw over its scale)",
			"of scores above the threshold the highest is taken, and boxes that overlap with its box by the threshold or more, as intersection over union, are left out; then the next",
			"equal scores are in the order of classes and anchors; a NaN is below all others, and no detection begins with it"},
		Extends: []string{"a negative score threshold"},
		rules:   typed[Detection]{attrs: detectionAttrs, shapes: detectionShapes},
	})
}

// Detection are the attributes of DETECTION_POSTPROCESSING.
type Detection struct {
	Scale              [4]float32 `json:"scale"`                        // divides dy, dx, dh, dw; positive
	Regular            bool       `json:"regular,omitempty"`            // suppresses in each class
	Detections         int        `json:"detections"`                   // at least 1
	ClassesPerBox      int        `json:"classesPerBox,omitempty"`      // at least 1 where Regular is false, else 0
	DetectionsPerClass int        `json:"detectionsPerClass,omitempty"` // at least 1 where Regular is true, else 0
	Score              float32    `json:"score,omitempty"`              // detections have higher ones
	Overlap            float32    `json:"overlap,omitempty"`            // from this on the box of lower score is left out
	Background         bool       `json:"background,omitempty"`         // classes of the result begin with 1
}

func (Detection) attrs() {}

// Places is the number of places that an image has in the result.
func (a *Detection) Places() int64 {
	if a.Regular {
		return int64(a.Detections)
	}
	return int64(a.Detections) * int64(a.ClassesPerBox)
}

func detectionAttrs(p *params, a *Detection) {
	for i, name := range []string{"y scale", "x scale", "height scale", "width scale"} {
		a.Scale[i] = p.positive(name)
	}
	a.Regular, a.Background = p.flag("regular"), p.flag("background")
	a.Detections = p.atLeast("detections", 1)
	switch _, known := p.bytes("regular", 1); {
	case !known:
	case a.Regular:
		a.DetectionsPerClass = p.atLeast("detections per class", 1)
	default:
		a.ClassesPerBox = p.atLeast("classes per detection", 1)
	}
	score, _ := p.real("score threshold")
	a.Score, a.Overlap = float32(score), p.notNegative("overlap threshold")
}

// notNegative returns a FLOAT32 or FLOAT16 that must not be below 0; 0 when it is not known.
func (p *params) notNegative(name string) float32 {
	v, ok := p.real(name)
	if ok && v < 0 {
		p.fail("%s %v is negative", name, v)
	}
	return float32(max(v, 0))
}

func detectionShapes(p *params, a *Detection) ([]nn.Dims, error) {
	x, deltas := p.In(0).Dims, p.In(1).Dims
	if x[2] < 2 {
		return nil, fmt.Errorf("%d classes with the background", x[2])
	}
	if deltas[0] != x[0] || deltas[1] != x[1] || deltas[2] < 4 {
		return nil, fmt.Errorf("deltas %v of scores %v", []uint32(deltas), []uint32(x))
	}
	if err := p.sizes(2, x[1], 4); err != nil {
		return nil, err
	}
	if a.Places() > math.MaxInt32 {
		return nil, fmt.Errorf("%d detections of %d classes each", a.Detections, a.ClassesPerBox)
	}
	d := uint32(a.Places())
	return []nn.Dims{{x[0], d}, {x[0], d, 4}, {x[0], d}, {x[0]}}, nil
}
