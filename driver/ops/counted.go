package ops

import (
	"github.com/nngpu/nngpu/driver/nn"
)

// compiled are the rows of operations that only compilers make, for work that no operation of a model describes. No
// model has them: their types are not valid.
var compiled = map[nn.OperationType]*Row{}

// counted marks the types of such operations.
const counted nn.OperationType = 1 << 24

// TakeRows is the operation that gives the first rows of its input; a parameter says how many. Its attributes are those
// of SLICE.
const TakeRows = counted | 0xffff

// Counted is the operation that computes the same as t, an operation whose outputs have a number of rows that only the
// data tells (Row.FromData): it gives as many rows as there could be and, behind the outputs of t, another one,
// TENSOR_INT32 [1], with the number of rows that count. The others are 0.
func Counted(t nn.OperationType) nn.OperationType { return t | counted }

// Plain is the operation that t is the counted form of; t itself if it is none.
func Plain(t nn.OperationType) nn.OperationType {
	if t == TakeRows || t == Elementwise {
		return t
	}
	return t &^ counted
}

// countedRules are the rules of a row with an output for the number of rows.
type countedRules struct{ rules }

func (r countedRules) infer(c *Call, inf *Inferred) error {
	if err := r.rules.infer(c, inf); err != nil {
		return err
	}
	inf.Shapes = append(inf.Shapes, nn.Dims{1})
	return nil
}

// registerCounted adds the row of the counted form of r.
func registerCounted(r Row) {
	r.Type, r.FromData, r.rules = Counted(r.Type), false, countedRules{r.rules}
	r.Outputs = append(r.Outputs[:len(r.Outputs):len(r.Outputs)], int32Tensor("count", exactly(1), "[1]"))
	compiled[r.Type] = &r
}

func init() {
	compiled[TakeRows] = &Row{
		Type: TakeRows, Empty: AnyEmpty,
		Forms:   one(input(withInt32|of(nn.TensorQuant16Asymm), AnyRank), Operand{Name: "count", Types: fixed(of(nn.TensorInt32)), Ranks: exactly(1)}),
		Outputs: result(AnyRank),
		rules:   typed[Slice]{attrs: takeAttrs, shapes: single(sliceShape)},
	}
}

func takeAttrs(p *params, a *Slice) {
	v, ok := p.int32s("count")
	rank := p.rank()
	if !ok || rank == 0 {
		return
	}
	if len(v) != 1 || v[0] < 0 {
		p.fail("%v rows", v)
		return
	}
	a.Begin, a.Size = make([]int, rank), make([]int, rank)
	for i := range a.Size {
		a.Size[i] = -1
	}
	a.Size[0] = int(v[0])
}
