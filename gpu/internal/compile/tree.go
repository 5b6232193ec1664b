package compile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// Tree is a model with IF or WHILE, or with sizes that only the data tells, cut where these are: a part that runs
// without a decision is a straight region with a plan of its own, and a decision is a node that holds others. Tensors
// cross from region to region in the device's form.
type Tree struct {
	Values    []Value
	Straights []*Straight // all that Main holds, and those that are only judged
	Loops     []*Loop
	Main      Sequence
	// Inputs and Outputs are the values of the model's; None for an input that nothing needs.
	Inputs, Outputs []int
	refused         []error // by operation of the main graph
}

// None stands for no value.
const None = -1

// Place says where a value lies.
type Place uint8

const (
	InMemory   Place = iota // memory of the device, in its form, of each execution
	InConstant              // such memory, with Value.Data in it
	InWord                  // bytes that the host reads: a condition or a parameter
	InRequest               // where the execution binds an input or output of the model
)

// Value is a tensor that crosses the border of a region.
type Value struct {
	nn.Operand // Type, Scale, ZeroPoint; Dims, the open ones of which executions find out
	Place      Place
	Data       []byte // InConstant; a copy
	of         origin // the operation that first asked for it
}

// Sequence is run from front to back.
type Sequence []Node

// Node is one of *Straight, *Branch and *Loop.
type Node interface{ node() }

// Straight runs without a decision. In and Out are values, by inputs and outputs of the plan.
type Straight struct {
	Index   int // in Tree.Straights
	In, Out []int
	Model   *nn.Model // nil: what In holds is copied to Out
	// Open: dimensions of In, or the values of Params, are known only when it runs. It has no plan, only Instance.
	Open    bool
	Params  []Param
	origins []origin // by operation of Model
	dead    bool     // never runs
	Plan    *plan.Plan
}

// Param is a parameter that only the data tells.
type Param struct {
	Value   int    // InWord
	Operand uint32 // of Straight.Model
}

// Branch runs one of two sequences.
type Branch struct {
	If         int // InWord
	Then, Else Sequence
}

// Loop runs First, and Step as long as While is true after that. Before First, the values Current lie where Init do;
// Step reads Current and writes Next, which change places after it.
type Loop struct {
	Index               int // in Tree.Loops
	While               int // InWord
	Init, Current, Next []int
	First, Step         Sequence // the condition; the body and the condition of the next iteration
}

func (*Straight) node() {}
func (*Branch) node()   {}
func (*Loop) node()     {}

// origin says which operation of the model an operation of a region comes from.
type origin struct {
	main  int    // index in the main graph: of the operation, or of the one that refers to its graph
	where string // names the operation where it is in another graph; else empty
	label string // its name in the steps of plans, behind its type
}

// Relabel gives steps of p, the plan of s, the names of operations of the whole model.
func (s *Straight) Relabel(p *plan.Plan) {
	for i := range p.Steps {
		step := &p.Steps[i]
		step.Label = numbered.ReplaceAllStringFunc(step.Label, func(number string) string {
			if n, err := strconv.Atoi(number[1:]); err == nil && n < len(s.origins) {
				return s.origins[n].label
			}
			return number
		})
	}
}

// numbered is the position of an operation in the label of a step.
var numbered = regexp.MustCompile("#[0-9]+")

// String is the tree for people and golden files, with the plans that are known.
func (t *Tree) String() string {
	var b strings.Builder
	for i := range t.Values {
		v := &t.Values[i]
		fmt.Fprintf(&b, "value %d %v%v %s\n", i, v.Type, []uint32(v.Dims), [...]string{"memory", "constant", "word", "request"}[v.Place])
	}
	fmt.Fprintf(&b, "inputs %v outputs %v\n", t.Inputs, t.Outputs)
	t.text(&b, t.Main, "")
	for i, s := range t.Straights {
		if s.Plan != nil {
			fmt.Fprintf(&b, "\nstraight %d\n%s", i, s.Plan)
		}
	}
	return b.String()
}

func (t *Tree) text(b *strings.Builder, s Sequence, indent string) {
	for _, n := range s {
		switch n := n.(type) {
		case *Straight:
			what := "copy"
			if n.Model != nil {
				var names []string
				for _, op := range n.Model.Main.Operations {
					names = append(names, op.Type.String())
				}
				what = strings.Join(names, " ")
			}
			if n.Open {
				what += "  open"
			}
			for _, p := range n.Params {
				what += fmt.Sprintf(", reads %d", p.Value)
			}
			fmt.Fprintf(b, "%sstraight %d: %v -> %v  %s\n", indent, n.Index, n.In, n.Out, what)
		case *Branch:
			fmt.Fprintf(b, "%sif %d\n", indent, n.If)
			t.text(b, n.Then, indent+"  ")
			fmt.Fprintf(b, "%selse\n", indent)
			t.text(b, n.Else, indent+"  ")
		case *Loop:
			fmt.Fprintf(b, "%sloop: %v = %v\n", indent, n.Current, n.Init)
			t.text(b, n.First, indent+"  ")
			fmt.Fprintf(b, "%swhile %d: %v -> %v\n", indent, n.While, n.Current, n.Next)
			t.text(b, n.Step, indent+"  ")
		}
	}
}
