package compile

import (
	"errors"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/codec"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// treeMagic begins every encoded tree; its last byte is the version of the encoding. Whatever changes the layout below, or
// the meaning of a tree, changes the version. That of its plans is their own.
const treeMagic = "nntree\x00\x01"

// The encoding: the magic, then what package codec writes.
//
//	values   list of: place, type, list of dimensions
//	inputs   list of: value + 1; 0 for one that nothing needs
//	outputs  list of values
//	plans    list of encoded plans, each once, in the order of first use
//	main     sequence
//
// A sequence is a list of: kind, and
//
//	0  a straight region: plan, constants, list of values that it reads, list of those that it writes
//	1  a branch: its condition, two sequences
//	2  a loop: its condition, list of states (three values: in the beginning, current, next), two sequences
//
// Regions of equal constants have them once. Those constants, numbered in the order of first use, lie one after the other
// in the data part, each as long as the plans say, and after them the values InConstant in their order.
//
// A tree has only one encoding. That what was read is no tree comes to light in Tree.Verify.

// Stored is a tree as files have it. Straight regions and loops have the index at which they stand in the encoding.
type Stored struct {
	*Tree
	Weights []int // by straight region: which constants are its own
}

// Kinds of nodes.
const (
	nodeStraight = iota
	nodeBranch
	nodeLoop
	nodeKinds
)

// EncodeTree returns the encoding of t, without what a compiler alone wants of it. weights says by straight region which
// constants are its own, by numbers that only count where they are equal. Precondition: t.Verify is nil.
func EncodeTree(t *Tree, weights []int) []byte {
	b := []byte(treeMagic)
	b = codec.AppendCount(b, len(t.Values))
	for i := range t.Values {
		v := &t.Values[i]
		b = codec.AppendCount(append(b, byte(v.Place)), int(v.Type))
		b = codec.AppendCount(b, len(v.Dims))
		for _, n := range v.Dims {
			b = codec.AppendSize(b, int64(n))
		}
	}
	b = codec.AppendCount(b, len(t.Inputs))
	for _, v := range t.Inputs {
		b = codec.AppendCount(b, v-None)
	}
	b = appendValues(b, t.Outputs)
	e := treeEncoder{weights: weights, plans: map[string]int{}, numbers: map[int]int{}}
	main := e.sequence(nil, t.Main)
	b = codec.AppendCount(b, len(e.list))
	for _, p := range e.list {
		b = codec.AppendString(b, p)
	}
	return append(b, main...)
}

func appendValues(b []byte, list []int) []byte {
	b = codec.AppendCount(b, len(list))
	for _, v := range list {
		b = codec.AppendCount(b, v)
	}
	return b
}

// treeEncoder numbers plans and constants.
type treeEncoder struct {
	weights []int // as of EncodeTree
	numbers map[int]int
	plans   map[string]int
	list    []string // of plans
}

func (e *treeEncoder) sequence(b []byte, s Sequence) []byte {
	b = codec.AppendCount(b, len(s))
	for _, n := range s {
		switch n := n.(type) {
		case *Straight:
			p := string(plan.Encode(n.Plan))
			if _, ok := e.plans[p]; !ok {
				e.plans[p] = len(e.list)
				e.list = append(e.list, p)
			}
			w := e.weights[n.Index]
			if _, ok := e.numbers[w]; !ok {
				e.numbers[w] = len(e.numbers)
			}
			b = codec.AppendCount(append(b, nodeStraight), e.plans[p])
			b = codec.AppendCount(b, e.numbers[w])
			b = appendValues(appendValues(b, n.In), n.Out)
		case *Branch:
			b = codec.AppendCount(append(b, nodeBranch), n.If)
			b = e.sequence(e.sequence(b, n.Then), n.Else)
		case *Loop:
			b = codec.AppendCount(append(b, nodeLoop), n.While)
			b = codec.AppendCount(b, len(n.Init))
			for k := range n.Init {
				for _, v := range []int{n.Init[k], n.Current[k], n.Next[k]} {
					b = codec.AppendCount(b, v)
				}
			}
			b = e.sequence(e.sequence(b, n.First), n.Step)
		}
	}
	return b
}

// The least bytes that an element of each list takes in the encoding.
const (
	minValue = 3
	minNode  = 4
	minState = 3
)

// DecodeTree returns the tree that data encodes. It takes only what EncodeTree can have made of a tree that passes Verify
// on f, and allocates at most a small multiple of the size of data whatever that holds. The tree does not refer to data.
// Values InConstant have no Data yet: how much each takes, and the constants of regions, Sizes says.
//
// Errors: another version, what plan.Decode says, damage.
func DecodeTree(f *plan.Facts, data []byte) (*Stored, error) {
	if len(data) < len(treeMagic) || string(data[:len(treeMagic)-1]) != treeMagic[:len(treeMagic)-1] {
		return nil, errors.New("not an encoded tree")
	}
	if v := data[len(treeMagic)-1]; v != treeMagic[len(treeMagic)-1] {
		return nil, fmt.Errorf("encoded tree of version %d, this is %d", v, treeMagic[len(treeMagic)-1])
	}
	d := treeDecoder{Reader: codec.NewReader(data[len(treeMagic):]), out: &Stored{Tree: &Tree{}}}
	d.tree()
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("encoded tree: %w", err)
	}
	if err := d.out.Verify(f); err != nil {
		return nil, fmt.Errorf("encoded tree: %w", err)
	}
	if _, _, err := d.out.Sizes(); err != nil {
		return nil, fmt.Errorf("encoded tree: %w", err)
	}
	return d.out, nil
}

// treeDecoder reads the parts of a tree.
type treeDecoder struct {
	codec.Reader
	out   *Stored
	plans []*plan.Plan

	planned, weighed int // plans and constants that regions so far have named
}

func (d *treeDecoder) tree() {
	t := d.out.Tree
	t.Values = make([]Value, d.Count(minValue))
	for i := range t.Values {
		v := &t.Values[i]
		v.Place = Place(d.Number(math.MaxUint8))
		v.Type = nn.OperandType(d.Number(math.MaxInt32))
		v.Dims = make(nn.Dims, d.Count(1))
		for k := range v.Dims {
			v.Dims[k] = uint32(d.Number(math.MaxUint32))
		}
	}
	t.Inputs = make([]int, d.Count(1))
	for i := range t.Inputs {
		t.Inputs[i] = d.Index(len(t.Values)+1) + None
	}
	t.Outputs = d.values()
	seen := map[string]bool{}
	for range d.Count(1) {
		b := d.Bytes()
		p, err := plan.Decode(b)
		if err == nil && seen[string(b)] {
			err = errors.New("it stands twice")
		}
		if err != nil {
			d.Fail("plan %d: %w", len(d.plans), err)
			return
		}
		seen[string(b)] = true
		d.plans = append(d.plans, p)
	}
	if t.Main = d.sequence(0); d.planned != len(d.plans) {
		d.Fail("%d of %d plans are used", d.planned, len(d.plans))
	}
}

func (d *treeDecoder) values() []int {
	list := make([]int, d.Count(1))
	for i := range list {
		list[i] = d.value()
	}
	return list
}

func (d *treeDecoder) value() int { return d.Index(len(d.out.Values)) }

// sequence reads one that is nested so deeply.
func (d *treeDecoder) sequence(depth int) Sequence {
	if depth > maxNesting {
		d.Fail("nested more than %d deep", maxNesting)
	}
	list := make(Sequence, 0, d.Count(minNode))
	for range cap(list) {
		if d.Err() != nil {
			return nil
		}
		switch d.Number(nodeKinds - 1) {
		case nodeStraight:
			list = append(list, d.straight())
		case nodeBranch:
			list = append(list, &Branch{If: d.value(), Then: d.sequence(depth + 1), Else: d.sequence(depth + 1)})
		case nodeLoop:
			list = append(list, d.loop(depth))
		}
	}
	return list
}

func (d *treeDecoder) straight() *Straight {
	s := &Straight{Index: len(d.out.Straights)}
	p, w := d.Index(min(len(d.plans), d.planned+1)), d.Index(d.weighed+1)
	d.planned, d.weighed = max(d.planned, p+1), max(d.weighed, w+1)
	s.In, s.Out = d.values(), d.values()
	if d.Err() == nil {
		s.Plan = d.plans[p]
	}
	d.out.Straights, d.out.Weights = append(d.out.Straights, s), append(d.out.Weights, w)
	return s
}

func (d *treeDecoder) loop(depth int) *Loop {
	l := &Loop{Index: len(d.out.Loops), While: d.value()}
	d.out.Loops = append(d.out.Loops, l)
	for range d.Count(minState) {
		l.Init, l.Current, l.Next = append(l.Init, d.value()), append(l.Current, d.value()), append(l.Next, d.value())
	}
	l.First, l.Step = d.sequence(depth+1), d.sequence(depth+1)
	return l
}

// Order lists straight regions and loops in the order of the encoding.
func (t *Tree) Order() (straights []*Straight, loops []*Loop) {
	var walk func(Sequence)
	walk = func(s Sequence) {
		for _, n := range s {
			switch n := n.(type) {
			case *Straight:
				straights = append(straights, n)
			case *Branch:
				walk(n.Then)
				walk(n.Else)
			case *Loop:
				loops = append(loops, n)
				walk(n.First)
				walk(n.Step)
			}
		}
	}
	walk(t.Main)
	return straights, loops
}

// Sizes says how many bytes of data the constants of regions have, one after the other by their number, and how many all
// data has, the values InConstant included.
func (s *Stored) Sizes() (weights []int64, total int64, err error) {
	add := func(n int64) bool {
		total += n
		return total < 1<<62 && total >= n
	}
	for i, w := range s.Weights {
		n := s.Straights[i].Plan.WeightBytes
		switch {
		case w == len(weights):
			weights = append(weights, n)
			if !add(n) {
				return nil, 0, errors.New("more data than there can be")
			}
		case weights[w] != n:
			return nil, 0, fmt.Errorf("straight region %d shares %d bytes of constants and has %d", i, weights[w], n)
		}
	}
	for i := range s.Values {
		if v := &s.Values[i]; v.Place == InConstant {
			n, _ := v.ByteSize() // which Verify has computed
			if !add(int64(n)) {
				return nil, 0, errors.New("more data than there can be")
			}
		}
	}
	return weights, total, nil
}
