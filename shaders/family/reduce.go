package family

import "fmt"

// Team is who goes through a row together.
type Team uint8

// Teams. A workgroup of those of a subgroup has TeamRows rows.
const (
	Alone     Team = iota // an invocation
	Subgroup              // the invocations of a subgroup
	Workgroup             // those of a workgroup of TeamSubgroups subgroups
)

// Rows of a workgroup where each subgroup has one; subgroups of a workgroup where all have the same.
const (
	TeamRows      = 4
	TeamSubgroups = 8
)

// suffix is what names have for t.
func (t Team) suffix() string { return [...]string{"", "_subgroup", "_workgroup"}[t] }

// Softmax is the key of the softmax kernels of reduce/: over rows or, Column, over another dimension.
type Softmax struct {
	Log, Column, Long bool // Long: rows of one invocation whose loops are worth unrolling
	Wide              bool // rows of whole groups of 16 bytes
	Elem              Elem
	Access            Access
	Team              Team // of a row
}

// Name implements Key.
func (k Softmax) Name() string {
	along := "row_"
	if k.Column {
		along = "column_"
	}
	return on(k.Log, "log_") + "softmax_" + along + on(k.Long, "long_") + string(k.Elem) + on(k.Wide, "_wide") + k.Team.suffix() + k.Access.suffix()
}

// Floor implements Varied.
func (k Softmax) Floor() bool { return k.Team == Alone }

// LocalResponse is the key of reduce/lrn.comp: along rows or, Column, along another dimension.
type LocalResponse struct {
	Column bool
	Elem   Elem
}

// Name implements Key.
func (k LocalResponse) Name() string {
	along := "row_"
	if k.Column {
		along = "column_"
	}
	return "lrn_" + along + string(k.Elem)
}

// Sum is the key of reduce/sum_row.comp, of sum_team.comp and, Column, sum_column.comp. Wide: of rows of whole groups of 16
// bytes.
type Sum struct {
	Column, Wide bool
	From, To     Elem
	Access       Access
	Team         Team // of a row of floats
}

// Name implements Key.
func (k Sum) Name() string {
	along := "row_"
	if k.Column {
		along = "column_"
	}
	return "sum_" + along + string(k.From) + "_" + string(k.To) + on(k.Wide, "_wide") + k.Team.suffix() + k.Access.suffix()
}

// Floor implements Varied.
func (k Sum) Floor() bool { return k.Team == Alone }

// FoldOp is what reduce/fold.comp makes of the elements of a dimension.
type FoldOp string

// What elements are folded to. FoldPlace is where the largest or the smallest is.
const (
	FoldMax   FoldOp = "max"
	FoldMin   FoldOp = "min"
	FoldProd  FoldOp = "prod"
	FoldPlace FoldOp = "place"
)

// Keyed is the type of elements between the stages of FoldPlace: keys and places.
const Keyed Elem = "key"

// Fold is the key of reduce/fold.comp; Wide as in Sum.
type Fold struct {
	Op           FoldOp
	Column, Wide bool
	From, To     Elem
	Access       Access
}

// Name implements Key.
func (k Fold) Name() string {
	along := "_row_"
	if k.Column {
		along = "_column_"
	}
	return "fold_" + string(k.Op) + along + string(k.From) + "_" + string(k.To) + on(k.Wide, "_wide") + k.Access.suffix()
}

// MeanRuntime is the key of reduce/mean_fed.comp, whose axes lie in memory.
type MeanRuntime struct{ Elem Elem }

// Name implements Key.
func (k MeanRuntime) Name() string { return "mean_fed_" + string(k.Elem) }

// TopKSort is the key of the step of reduce/topk.comp that sorts blocks of rows.
type TopKSort struct{ Elem Elem }

// Name implements Key.
func (k TopKSort) Name() string { return "topk_sort_" + string(k.Elem) }

// TopKTake is the key of its step that writes the results, elements of so many bytes. The step between them, topk_merge,
// has no variants.
type TopKTake struct{ Bytes int }

// Name implements Key.
func (k TopKTake) Name() string { return fmt.Sprintf("topk_take_e%d", k.Bytes) }
