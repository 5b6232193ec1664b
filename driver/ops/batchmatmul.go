package ops

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	ranks := Ranks{2, 4}
	types := floats | of(nn.TensorQuant8AsymmSigned, nn.TensorInt32)
	left, right := input(types, ranks).named("left"), like("right", ranks)
	left.Note, right.Note = "[…, m, k], adjoint […, k, m]", "[…, k, n], adjoint […, n, k]"
	register(Row{
		Type: nn.OpBatchMatmul, Since: nn.AIDL2,
		Forms:   one(left, right, flag("adjoint left", "its last two dimensions are swapped"), flag("adjoint right", "its last two dimensions are swapped")),
		Outputs: result(ranks),
		Rules:   []string{"both have the same batch dimensions, which are all but the last two; the result is […, m, n]"},
		quant:   quantRule{text: "8-bit inputs and the result may differ in scale and zero point"},
		relate:  relateBatchMatmul,
		rules: typed[BatchMatmul]{
			attrs:  func(p *params, a *BatchMatmul) { a.Left, a.Right = p.flag("adjoint left"), p.flag("adjoint right") },
			shapes: single(batchMatmulShape),
		},
	})
}

// BatchMatmul are the attributes of BATCH_MATMUL: whether the last two dimensions of an input are swapped.
type BatchMatmul struct {
	Left  bool `json:"left,omitempty"`
	Right bool `json:"right,omitempty"`
}

func (BatchMatmul) attrs() {}

// batchMatmulShape: left […, m, k] and right […, k, n] make […, m, n].
func batchMatmulShape(p *params, a *BatchMatmul) (nn.Dims, error) {
	x, y := p.In(0).Dims, p.In(1).Dims
	r := len(x)
	if len(y) != r || !slices.Equal(x[:r-2], y[:r-2]) {
		return nil, fmt.Errorf("batches of %v and %v differ", []uint32(x), []uint32(y))
	}
	m, k := x[r-2], x[r-1]
	if a.Left {
		m, k = k, m
	}
	depth, n := y[r-2], y[r-1]
	if a.Right {
		depth, n = n, depth
	}
	if k != depth {
		return nil, fmt.Errorf("rows of %d times columns of %d", k, depth)
	}
	return append(slices.Clone(x[:r-2]), m, n), nil
}
