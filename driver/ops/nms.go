package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	scores := like("scores", exactly(1))
	scores.Note = "[K], after those that precede lowered them"
	register(Row{
		Type: nn.OpBoxWithNmsLimit, Since: 3,
		Forms: one(input(numbers, exactly(2)).named("scores").noted("[R, C]; class 0 is the background, and none is selected"),
			boxes("boxes", exactly(2), "[R, 4*C]: x1, y1, x2, y2 for each class"),
			int32Tensor("images", exactly(1), "[R]: boxes of an image follow one another"),
			realNumber("score threshold", "boxes of higher scores alone are considered"),
			int32Of("limit", "of boxes of an image; negative: none"),
			int32Of("kernel", "0 hard, 1 linear, 2 gaussian"),
			realNumber("overlap threshold", "of the hard and the linear kernel"),
			realNumber("sigma", "positive; of the gaussian kernel"),
			realNumber("lowered threshold", "boxes whose lowered scores are below are dropped")),
		Outputs: []Operand{scores, boxes("boxes", exactly(2), "[K, 4]"),
			int32Tensor("classes", exactly(1), "[K]"), int32Tensor("images", exactly(1), "[K]")},
		Rules: []string{"of each class of an image the box of the highest score, the first of equal ones, is selected until none is left, and each " +
			"time the scores of the others are multiplied: by 1 below the overlap threshold and from it on by 0 (hard) or 1 - o (linear); by " +
			"exp(-o²/sigma) (gaussian); o is the intersection over the union, 0 where that is not positive",
			"then the limit keeps the highest scores of an image, of equal ones those of the lower class",
			"K, which may be 0, depends on the data; boxes are in the order of their images, classes and selection"},
		FromData: true, Empty: AnyEmpty,
		quant: boxQuant(sameQuant),
		rules: typed[BoxNMS]{attrs: nmsAttrs, shapes: nmsShapes},
	})
}

// BoxNMS are the attributes of BOX_WITH_NMS_LIMIT.
type BoxNMS struct {
	Score   float32   `json:"score"`           // boxes with higher scores are considered
	Limit   int       `json:"limit"`           // of boxes of an image; negative: none
	Kernel  NMSKernel `json:"kernel"`          //
	Overlap float32   `json:"overlap"`         // from this on the hard and the linear kernel lower a score
	Sigma   float32   `json:"sigma,omitempty"` // of the gaussian kernel
	Lowered float32   `json:"lowered"`         // boxes with lower scores are dropped
}

func (BoxNMS) attrs() {}

// NMSKernel says what becomes of the score of a box that overlaps another.
type NMSKernel int

// Values of the HAL.
const (
	NMSHard NMSKernel = iota
	NMSLinear
	NMSGaussian
)

func nmsAttrs(p *params, a *BoxNMS) {
	number := func(name string) float32 {
		v, _ := p.real(name)
		return float32(v)
	}
	a.Score, a.Overlap, a.Lowered = number("score threshold"), number("overlap threshold"), number("lowered threshold")
	limit, _ := p.int32("limit")
	kernel, _ := p.int32("kernel")
	a.Limit, a.Kernel = max(int(limit), -1), NMSKernel(kernel)
	if a.Kernel < NMSHard || a.Kernel > NMSGaussian {
		p.fail("kernel %d", kernel)
	}
	if a.Kernel == NMSGaussian {
		a.Sigma = p.positive("sigma")
	}
}

// nmsShapes has the most rows that there can be: each box may belong to an image of its own.
func nmsShapes(p *params, a *BoxNMS) ([]nn.Dims, error) {
	r, c := p.In(0).Dims[0], p.In(0).Dims[1]
	if uint64(c)*4 > 1<<31 {
		return nil, fmt.Errorf("%d classes", c)
	}
	if err := p.sizes(1, r, 4*c); err != nil {
		return nil, err
	}
	if err := p.sizes(2, r); err != nil {
		return nil, err
	}
	each := min(c, max(c, 2)-1)
	if a.Limit >= 0 {
		each = min(each, uint32(max(a.Limit, 1)))
	}
	k, err := nn.Dims{r, each}.Elements()
	return []nn.Dims{{k}, {k, 4}, {k}, {k}}, err
}
