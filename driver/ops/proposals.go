package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	anchors := Operand{Name: "anchors", Ranks: exactly(2), Data: true, Note: "[A, 4]: x1, y1, x2, y2 about the first position",
		Types: TypeRule{Text: "as a float input 0, else TENSOR_QUANT16_SYMM", With: func(x nn.OperandType) Types {
			if x.IsQuant8() {
				return of(nn.TensorQuant16Symm)
			}
			return of(x)
		}}}
	register(Row{
		Type: nn.OpGenerateProposals, Since: 3,
		Forms: one(input(numbers, exactly(4)).named("scores").noted("[N, H, W, A]: of each of A anchors at each position"),
			like("deltas", exactly(4)).noted("[N, H, W, 4*A]: dx, dy, dw, dh for each"),
			anchors, boxes("image sizes", exactly(2), "[N, 2]: height, width"),
			realNumber("height ratio", "positive; of the image to the input"), realNumber("width ratio", "positive; of the image to the input"),
			int32Of("most before", "of an image, by score, that are considered; without a limit where not positive"),
			int32Of("most", "of an image; without a limit where not positive"),
			realNumber("overlap threshold", "at least 0"), realNumber("smallest", "width and height of a box are above"), layout()),
		Outputs: []Operand{like("scores", exactly(1)).noted("[K]"), boxes("boxes", exactly(2), "[K, 4]: x1, y1, x2, y2"),
			int32Tensor("images", exactly(1), "[K]: which each is in")},
		Rules: []string{"an anchor at position h, w moves by h and w times the ratios, its center by dx, dy of its size, its size grows by e^dw, e^dh, and it " +
			"is cut at the edges of its image",
			"of each image the boxes that are large enough, with a center before the right and bottom edge, in the order of their scores; those that overlap " +
				"with a better one that stays by the threshold or more, as intersection over union, are left out",
			"equal scores are in the order of positions and anchors; a NaN is none",
			"K, which may be 0, depends on the data"},
		FromData: true,
		quant:    boxQuant(sameQuant),
		rules:    typed[Proposals]{attrs: proposalAttrs, shapes: proposalShapes},
	})
}

// Proposals are the attributes of GENERATE_PROPOSALS.
type Proposals struct {
	Ratio    [2]float32 `json:"ratio"`              // of the image to the input: height, width
	Before   int        `json:"before,omitempty"`   // boxes of an image that are considered; 0: all
	Most     int        `json:"most,omitempty"`     // boxes of an image; 0: all
	Overlap  float32    `json:"overlap,omitempty"`  // from this on the box of lower score is left out
	Smallest float32    `json:"smallest,omitempty"` // boxes are larger than this
	NCHW     bool       `json:"nchw,omitempty"`
}

func (Proposals) attrs() {}

// Candidates is how many of all boxes of an image, whose number is given, are considered.
func (a *Proposals) Candidates(all int) int { return limited(a.Before, all) }

// Room is how many of all boxes of an image, whose number is given, there may be in the result.
func (a *Proposals) Room(all int) int { return limited(a.Most, a.Candidates(all)) }

// limited is n, at most limit where that is not 0.
func limited(limit, n int) int {
	if limit == 0 {
		return n
	}
	return min(limit, n)
}

func proposalAttrs(p *params, a *Proposals) {
	a.Ratio = [2]float32{p.positive("height ratio"), p.positive("width ratio")}
	before, _ := p.int32("most before")
	most, _ := p.int32("most")
	a.Before, a.Most = int(max(before, 0)), int(max(most, 0))
	a.Overlap = p.notNegative("overlap threshold")
	smallest, _ := p.real("smallest")
	a.Smallest, a.NCHW = float32(smallest), p.flag("layout")
}

// proposalShapes has the most boxes that there can be.
func proposalShapes(p *params, a *Proposals) ([]nn.Dims, error) {
	x, deltas := p.In(0).Dims, p.In(1).Dims
	h, w, ch := spatial(a.NCHW)
	if uint64(deltas[ch]) != 4*uint64(x[ch]) || deltas[0] != x[0] || deltas[h] != x[h] || deltas[w] != x[w] {
		return nil, fmt.Errorf("deltas %v of scores %v", []uint32(deltas), []uint32(x))
	}
	if err := p.sizes(2, x[ch], 4); err != nil {
		return nil, err
	}
	if err := p.sizes(3, x[0], 2); err != nil {
		return nil, err
	}
	all, err := x[1:].Elements()
	if err != nil {
		return nil, err
	}
	k, err := nn.Dims{x[0], uint32(a.Room(int(all)))}.Elements()
	return []nn.Dims{{k}, {k, 4}, {k}}, err
}
