package compile

import (
	"errors"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/gpu/internal/codec"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// treeMagic begins every encoded tree; its last byte is the version of the encoding. Whatever changes the layout below,
// or the meaning of a tree, changes the version. The plans have a version of their own.
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
// Equal constants of several regions are there once. Those constants, numbered in the order of first use, lie one after
// the other in the data part, each as long as the plans say, and after them the values InConstant in their order.
//
// A tree has only one encoding. Data that is not a tree is found by Tree.Verify.

// Stored is a tree as files have it. Straight regions and loops have the indexes of their order in the encoding.
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

// EncodeTree returns the encoding of t, without the parts that only a compiler needs. weights has a number for the
// constants of each straight region, equal where the constants are; the numbers mean nothing else. Precondition:
// t.Verify is nil.
func EncodeTree(t *Tree, weights []int) []byte {
	c := treeCoder{Coder: codec.Writer([]byte(treeMagic)), out: &Stored{Tree: t}, straights: map[*Straight][2]int{}}
	plans, numbers := map[string]int{}, map[int]int{}
	straights, _ := t.Order()
	for _, s := range straights {
		p := string(plan.Encode(s.Plan))
		if _, ok := plans[p]; !ok {
			plans[p] = len(plans)
			c.encoded = append(c.encoded, []byte(p))
		}
		w := weights[s.Index]
		if _, ok := numbers[w]; !ok {
			numbers[w] = len(numbers)
		}
		c.straights[s] = [2]int{plans[p], numbers[w]}
	}
	same := *t
	c.tree(&same)
	return c.Written()
}

// DecodeTree returns the tree that data encodes. It takes only what EncodeTree can have made of a tree that passes Verify
// on f, and allocates at most a small multiple of the size of data whatever that holds. The tree does not refer to data.
// Values InConstant have no Data yet: how much each takes, and the constants of regions, Sizes says.
//
// Errors: another version, what plan.Decode says, damage.
func DecodeTree(f *plan.Facts, data []byte) (*Stored, error) {
	r, err := codec.Reader(data, treeMagic, "tree")
	if err != nil {
		return nil, err
	}
	c := treeCoder{Coder: r, out: &Stored{Tree: &Tree{}}}
	c.tree(c.out.Tree)
	if err = c.End(); err == nil {
		err = c.out.Verify(f)
	}
	if err == nil {
		_, _, err = c.out.Sizes()
	}
	if err != nil {
		return nil, fmt.Errorf("encoded tree: %w", err)
	}
	return c.out, nil
}

// treeCoder writes or reads the parts of a tree.
type treeCoder struct {
	codec.Coder
	out     *Stored
	values  int      // how many there are
	encoded [][]byte // plans

	straights map[*Straight][2]int // of those written, the numbers of plan and constants
	plans     []*plan.Plan         // that were read

	planned, weighed int // plans and constants that regions so far have named
}

// The least bytes that an element of each list takes in the encoding.
const (
	minValue = 3
	minNode  = 4
	minState = 3
)

func (c *treeCoder) tree(t *Tree) {
	codec.List(&c.Coder, &t.Values, minValue, func(v *Value) {
		codec.Number(&c.Coder, &v.Place, math.MaxUint8)
		codec.Number(&c.Coder, &v.Type, math.MaxInt32)
		codec.List(&c.Coder, (*[]uint32)(&v.Dims), 1, func(n *uint32) { codec.Number(&c.Coder, n, math.MaxUint32) })
	})
	c.values = len(t.Values)
	codec.List(&c.Coder, &t.Inputs, 1, func(v *int) {
		n := *v - None
		c.Index(&n, c.values+1)
		*v = n + None
	})
	codec.List(&c.Coder, &t.Outputs, 1, c.value)
	seen := map[string]bool{}
	codec.List(&c.Coder, &c.encoded, 1, func(b *[]byte) {
		if codec.Text(&c.Coder, b); !c.Reading() || c.Err() != nil {
			return
		}
		p, err := plan.Decode(*b)
		if err == nil && seen[string(*b)] {
			err = errors.New("it stands twice")
		}
		if err != nil {
			c.Fail("plan %d: %w", len(c.plans), err)
			return
		}
		seen[string(*b)] = true
		c.plans = append(c.plans, p)
	})
	if c.sequence(&t.Main, 0); c.planned != len(c.encoded) {
		c.Fail("%d of %d plans are used", c.planned, len(c.encoded))
	}
}

func (c *treeCoder) value(v *int) { c.Index(v, c.values) }

// sequence codes one at this depth of nesting.
func (c *treeCoder) sequence(s *Sequence, depth int) {
	if depth > maxNesting {
		c.Fail("nested more than %d deep", maxNesting)
	}
	codec.List(&c.Coder, (*[]Node)(s), minNode, func(n *Node) {
		kind := 0
		switch (*n).(type) {
		case *Branch:
			kind = nodeBranch
		case *Loop:
			kind = nodeLoop
		}
		codec.Number(&c.Coder, &kind, nodeKinds-1)
		if c.Reading() {
			*n = [nodeKinds]Node{&Straight{}, &Branch{}, &Loop{}}[kind]
		}
		switch n := (*n).(type) {
		case *Straight:
			c.straight(n)
		case *Branch:
			c.value(&n.If)
			c.sequence(&n.Then, depth+1)
			c.sequence(&n.Else, depth+1)
		case *Loop:
			c.loop(n, depth)
		}
	})
}

func (c *treeCoder) straight(s *Straight) {
	numbers := c.straights[s]
	c.Index(&numbers[0], min(len(c.encoded), c.planned+1))
	c.Index(&numbers[1], c.weighed+1)
	c.planned, c.weighed = max(c.planned, numbers[0]+1), max(c.weighed, numbers[1]+1)
	codec.List(&c.Coder, &s.In, 1, c.value)
	codec.List(&c.Coder, &s.Out, 1, c.value)
	if c.Reading() && c.Err() == nil {
		s.Index, s.Plan = len(c.out.Straights), c.plans[numbers[0]]
		c.out.Straights, c.out.Weights = append(c.out.Straights, s), append(c.out.Weights, numbers[1])
	}
}

func (c *treeCoder) loop(l *Loop, depth int) {
	c.value(&l.While)
	if c.Reading() {
		l.Index = len(c.out.Loops)
		c.out.Loops = append(c.out.Loops, l)
	}
	states := make([][3]int, len(l.Init))
	for k := range states {
		states[k] = [3]int{l.Init[k], l.Current[k], l.Next[k]}
	}
	codec.List(&c.Coder, &states, minState, func(s *[3]int) {
		for i := range s {
			c.value(&s[i])
		}
	})
	if c.Reading() {
		for _, s := range states {
			l.Init, l.Current, l.Next = append(l.Init, s[0]), append(l.Current, s[1]), append(l.Next, s[2])
		}
	}
	c.sequence(&l.First, depth+1)
	c.sequence(&l.Step, depth+1)
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

// Sizes says how many bytes of data the constants of regions have, one after the other by their number, and how many
// data has in all, the values InConstant included.
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
