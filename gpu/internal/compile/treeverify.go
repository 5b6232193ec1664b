package compile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// Bounds of trees that are stored: larger than any tree that cut makes of a model that is not made to be large, so that
// a file can take neither forever nor all memory. Nesting is bounded by maxNesting.
const (
	maxStoredStraights = 2 * maxStraights
	maxStoredNodes     = 2 * maxStoredStraights // straight regions, branches and loops
	maxStoredValues    = 8 * maxValues
)

// Verify reports what in t, whose straight regions all have a plan, contradicts the promises of Tree, or cannot be stored.
// A tree that passes, on whatever plans, executes
//   - without writing to inputs of the model, to constants, or to what a loop was given to begin with;
//   - without reading inputs of the model once its first region has begun, when they may be gone;
//   - with memory of the size and form that each plan has for its inputs and outputs;
//   - with nothing that was not computed before, and no decision either;
//   - with at least one region between two decisions to go on with a loop.
func (t *Tree) Verify(f *plan.Facts) error {
	c := treeVerifier{t: t, facts: f, sides: make([]side, len(t.Values)), loop: slices.Repeat([]*Loop{nil}, len(t.Values))}
	if err := c.values(); err != nil {
		return err
	}
	known := make([]bool, len(t.Values))
	for i := range t.Values {
		known[i] = t.Values[i].Place == InConstant
	}
	if len(t.Main) == 0 {
		return errors.New("a tree without regions")
	}
	if err := c.sequence(t.Main, known, 0); err != nil {
		return err
	}
	for i, v := range t.Outputs {
		if !known[v] {
			return fmt.Errorf("nothing computes output %d", i)
		}
	}
	if c.straights != len(t.Straights) || c.loops != len(t.Loops) {
		return fmt.Errorf("%d of %d straight regions and %d of %d loops are reached", c.straights, len(t.Straights), c.loops, len(t.Loops))
	}
	return nil
}

// side says whether a value in a request is an input or an output.
type side uint8

const (
	neither side = iota
	isInput
	isOutput
)

type treeVerifier struct {
	t     *Tree
	facts *plan.Facts
	sides []side  // by value
	loop  []*Loop // by value: the loop whose state it is

	straights, loops, nodes, steps int // so far
}

// values checks each value by itself, and that inputs and outputs are different ones.
func (c *treeVerifier) values() error {
	t := c.t
	if len(t.Values) > maxStoredValues || len(t.Straights) > maxStoredStraights {
		return fmt.Errorf("%d values and %d straight regions, at most %d and %d", len(t.Values), len(t.Straights), maxStoredValues, maxStoredStraights)
	}
	for i := range t.Values {
		if err := c.value(&t.Values[i]); err != nil {
			return fmt.Errorf("value %d: %w", i, err)
		}
	}
	request := func(what string, list []int, s side) error {
		for i, v := range list {
			if v == None && s == isInput {
				continue
			}
			if v < 0 || v >= len(t.Values) || t.Values[v].Place != InRequest || c.sides[v] != neither {
				return fmt.Errorf("%s %d is value %d, which cannot be that", what, i, v)
			}
			c.sides[v] = s
		}
		return nil
	}
	if err := request("input", t.Inputs, isInput); err != nil {
		return err
	}
	return request("output", t.Outputs, isOutput)
}

func (c *treeVerifier) value(v *Value) error {
	if !v.Type.IsTensor() || len(v.Dims) > ops.MaxRank || !v.Dims.Known() {
		return fmt.Errorf("%v of dimensions %v", v.Type, []uint32(v.Dims))
	}
	n, err := v.ByteSize()
	if err != nil {
		return err
	}
	switch v.Place {
	case InWord:
		if v.Type != nn.TensorBool8 || n != 1 {
			return fmt.Errorf("a condition of %d bytes of %v", n, v.Type)
		}
	case InMemory, InConstant:
		return emit.CheckTensor(c.facts, tensorOf(&v.Operand))
	case InRequest:
	default:
		return fmt.Errorf("it lies in place %d", v.Place)
	}
	return nil
}

// at is value i, nil where there is none.
func (c *treeVerifier) at(i int) *Value {
	if i < 0 || i >= len(c.t.Values) {
		return nil
	}
	return &c.t.Values[i]
}

// sequence checks s. known says which values are known before it, and gets those known behind it.
func (c *treeVerifier) sequence(s Sequence, known []bool, depth int) (err error) {
	if depth > maxNesting {
		return fmt.Errorf("nested more than %d deep", maxNesting)
	}
	for _, n := range s {
		if c.nodes++; c.nodes > maxStoredNodes {
			return fmt.Errorf("more than %d regions, branches and loops", maxStoredNodes)
		}
		switch n := n.(type) {
		case *Straight:
			if err = c.straight(n, known); err != nil {
				err = fmt.Errorf("straight region %d: %w", n.Index, err)
			}
		case *Branch:
			err = c.branch(n, known, depth)
		case *Loop:
			if err = c.enclosed(n, known, depth); err != nil {
				err = fmt.Errorf("loop %d: %w", n.Index, err)
			}
		default:
			err = fmt.Errorf("a %T", n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *treeVerifier) straight(n *Straight, known []bool) error {
	first := c.nodes == 1
	c.straights++
	p := n.Plan
	switch {
	case n.Index < 0 || n.Index >= len(c.t.Straights) || c.t.Straights[n.Index] != n:
		return errors.New("it is not where its index says")
	case p == nil || n.Open:
		return errors.New("it has no plan")
	case len(p.Inputs) != len(n.In) || len(p.Outputs) != len(n.Out):
		return fmt.Errorf("%d and %d values for a plan of %d inputs and %d outputs", len(n.In), len(n.Out), len(p.Inputs), len(p.Outputs))
	}
	if c.steps += len(p.Steps); c.steps > plan.MaxSteps {
		return fmt.Errorf("more than %d steps in all", plan.MaxSteps)
	}
	for k, i := range n.In {
		if p.Inputs[k].Size == 0 && c.at(i) != nil { // it is left off
			continue
		}
		if err := c.reads(i, &p.Inputs[k], known, first); err != nil {
			return fmt.Errorf("input %d, value %d: %w", k, i, err)
		}
	}
	for k, i := range n.Out {
		if slices.Contains(n.In, i) || slices.Contains(n.Out[:k], i) {
			return fmt.Errorf("output %d, value %d, is another input or output, too", k, i)
		}
		if err := c.writes(i, &p.Outputs[k]); err != nil {
			return fmt.Errorf("output %d, value %d: %w", k, i, err)
		}
	}
	for _, i := range n.Out {
		known[i] = true
	}
	return nil
}

// reads checks that a region can read value i as the input io of its plan. first says that an execution begins with the
// region.
func (c *treeVerifier) reads(i int, io *plan.IO, known []bool, first bool) error {
	v := c.at(i)
	switch {
	case v == nil:
		return errors.New("there is none")
	case v.Place == InWord:
		return errors.New("only decisions read a condition")
	case v.Place == InRequest && (c.sides[i] != isInput || !first):
		return errors.New("only the first region reads inputs of the model, and none reads outputs")
	case v.Place != InRequest && !known[i]:
		return errors.New("nothing has computed it")
	}
	return v.fits(io)
}

// writes checks that a region can write value i as the output io of its plan.
func (c *treeVerifier) writes(i int, io *plan.IO) error {
	v := c.at(i)
	switch {
	case v == nil:
		return errors.New("there is none")
	case v.Place == InConstant || v.Place == InRequest && c.sides[i] != isOutput:
		return errors.New("it is not to be written")
	case c.loop[i] != nil && slices.Contains(c.loop[i].Current, i):
		return errors.New("it is the state of a loop")
	}
	return v.fits(io)
}

// fits reports why io, of a plan, does not match v.
func (v *Value) fits(io *plan.IO) error {
	n, _ := v.ByteSize() // which value has computed
	if io.Size != int64(n) {
		return fmt.Errorf("%d bytes, the plan has %d", n, io.Size)
	}
	if v.Place != InMemory && v.Place != InConstant {
		return nil
	}
	if device := pack.LayoutOf(tensorOf(&v.Operand)).Bytes(); io.DeviceBytes != device {
		return fmt.Errorf("%d bytes on the device, the plan has %d", device, io.DeviceBytes)
	}
	return nil
}

// condition checks that i is a condition that is known.
func (c *treeVerifier) condition(i int, known []bool) error {
	if v := c.at(i); v == nil || v.Place != InWord || !known[i] {
		return fmt.Errorf("it depends on value %d, which is no condition that is known", i)
	}
	return nil
}

// branch: known behind it is what both sides compute.
func (c *treeVerifier) branch(n *Branch, known []bool, depth int) error {
	if err := c.condition(n.If, known); err != nil {
		return fmt.Errorf("branch: %w", err)
	}
	other := slices.Clone(known)
	if err := c.sequence(n.Then, known, depth+1); err != nil {
		return err
	}
	if err := c.sequence(n.Else, other, depth+1); err != nil {
		return err
	}
	for i := range known {
		known[i] = known[i] && other[i]
	}
	return nil
}

// enclosed checks loop n: known behind it are the results of its first condition, and its state.
func (c *treeVerifier) enclosed(n *Loop, known []bool, depth int) error {
	c.loops++
	if n.Index < 0 || n.Index >= len(c.t.Loops) || c.t.Loops[n.Index] != n {
		return errors.New("it is not where its index says")
	}
	if len(n.Init) != len(n.Current) || len(n.Init) != len(n.Next) {
		return fmt.Errorf("states of %d, %d and %d values", len(n.Init), len(n.Current), len(n.Next))
	}
	for k := range n.Init {
		if err := c.state(n, k, known); err != nil {
			return fmt.Errorf("state %d: %w", k, err)
		}
	}
	for _, i := range n.Current {
		known[i] = true
	}
	if c.at(n.While) == nil {
		return fmt.Errorf("it depends on value %d", n.While)
	}
	known[n.While] = false
	if err := c.sequence(n.First, known, depth+1); err != nil {
		return err
	}
	if err := c.condition(n.While, known); err != nil {
		return err
	}
	again := slices.Clone(known)
	again[n.While] = false
	if err := c.sequence(n.Step, again, depth+1); err != nil {
		return err
	}
	if err := c.condition(n.While, again); err != nil {
		return err
	}
	for k, i := range n.Next {
		if !again[i] {
			return fmt.Errorf("an iteration does not compute state %d", k)
		}
		known[i] = false
	}
	return nil
}

// state checks the k-th state of loop n: three values alike, of which two are its own.
func (c *treeVerifier) state(n *Loop, k int, known []bool) error {
	v := c.at(n.Init[k])
	if v == nil || v.Place != InMemory && v.Place != InConstant || !known[n.Init[k]] || c.loop[n.Init[k]] == n {
		return fmt.Errorf("it begins with value %d, which is none that is known", n.Init[k])
	}
	for _, i := range []int{n.Current[k], n.Next[k]} {
		own := c.at(i)
		if own == nil || own.Place != InMemory || c.loop[i] != nil || known[i] || own.Type != v.Type || !own.Dims.Equal(v.Dims) {
			return fmt.Errorf("value %d cannot be that", i)
		}
		c.loop[i] = n
	}
	return nil
}
