package ops

import "slices"

// Relations are what a row knows of the dimensions of a call before those of its inputs are known. Anything that
// depends on numbers is left to Infer. Operands are numbered as in the graph; those that are left off are not among
// them.
type Relations struct {
	// Ranks has the ranks that operands may have.
	Ranks []OperandRanks
	// Shapes are pairs of operands with the same dimensions, Sizes pairs of equal dimensions.
	Shapes [][2]uint32
	Sizes  [][2]Size
	// Broadcast: the only output has the dimensions of the first two inputs, aligned at their last ones, where sizes are equal
	// or one of them is 1.
	Broadcast bool
}

// OperandRanks are the ranks that an operand may have.
type OperandRanks struct {
	Operand uint32
	Ranks   Ranks
}

// Size is a dimension of an operand.
type Size struct {
	Operand uint32
	Dim     int
}

// Relations says how the dimensions of c's operands are related.
//
// Precondition: Check passed.
func (r *Row) Relations(c *Call) *Relations {
	c = r.read(c)
	rel := &Relations{}
	for i, x := range c.Op.Inputs {
		d := at(c.form.Inputs, i, len(c.Op.Inputs))
		if o := c.In(i); o != nil && o.Type.IsTensor() {
			rel.Ranks = append(rel.Ranks, OperandRanks{x, d.Ranks})
		}
	}
	for i, y := range c.Op.Outputs {
		if !c.Out(i).Type.IsTensor() {
			continue
		}
		rel.Ranks = append(rel.Ranks, OperandRanks{y, at(r.Outputs, i, len(c.Op.Outputs)).Ranks})
	}
	if r.relate != nil {
		r.relate(&params{Call: c}, rel)
	}
	return rel
}

func (rel *Relations) same(x uint32, i int, y uint32, k int) {
	rel.Sizes = append(rel.Sizes, [2]Size{{x, i}, {y, k}})
}

// relateSame is for operations whose output is as large as input 0.
func relateSame(p *params, rel *Relations) {
	rel.Shapes = append(rel.Shapes, [2]uint32{p.Op.Inputs[0], p.Op.Outputs[0]})
}

// relateBroadcast is for operations on two tensors.
func relateBroadcast(_ *params, rel *Relations) { rel.Broadcast = true }

// relateImage is for operations on windows of an image [n, h, w, channels] that keep the number of channels.
func relateImage(p *params, rel *Relations) {
	relateImages(p, rel)
	relateChannels(p, rel)
}

// relateImages is for operations that keep the number of images.
func relateImages(p *params, rel *Relations) { rel.same(p.Op.Inputs[0], 0, p.Op.Outputs[0], 0) }

// relateChannels is for operations on images that keep the number of channels.
func relateChannels(p *params, rel *Relations) {
	if ch, ok := p.channels(); ok {
		rel.same(p.Op.Inputs[0], ch, p.Op.Outputs[0], ch)
	}
}

// channels is the index of the channels in an image; ok is false if the layout is known only at run time.
func (p *params) channels() (ch int, ok bool) {
	_, _, ch = spatial(p.flag("layout"))
	return ch, p.err == nil
}

// relateConv: filter [Co, Kh, Kw, Ci], bias [Co].
func relateConv(p *params, rel *Relations) {
	relateGroupedConv(p, rel)
	if ch, ok := p.channels(); ok {
		rel.same(p.Op.Inputs[0], ch, p.Op.Inputs[1], 3)
	}
}

// relateGroupedConv: filter [Co, Kh, Kw, Ci/groups], bias [Co].
func relateGroupedConv(p *params, rel *Relations) {
	filter, bias, y := p.Op.Inputs[1], p.Op.Inputs[2], p.Op.Outputs[0]
	relateImages(p, rel)
	rel.same(bias, 0, filter, 0)
	if ch, ok := p.channels(); ok {
		rel.same(y, ch, filter, 0)
	}
}

// relateDepthwise: filter [1, Kh, Kw, Co], bias [Co].
func relateDepthwise(p *params, rel *Relations) {
	x, filter, bias, y := p.Op.Inputs[0], p.Op.Inputs[1], p.Op.Inputs[2], p.Op.Outputs[0]
	rel.same(x, 0, y, 0)
	rel.same(bias, 0, filter, 3)
	if ch, ok := p.channels(); ok {
		rel.same(y, ch, filter, 3)
		if p.atLeast("depth multiplier", 1) == 1 && p.err == nil {
			rel.same(x, ch, filter, 3)
		}
	}
}

// relateFullyConnected: weights [units, I], bias [units].
func relateFullyConnected(p *params, rel *Relations) {
	w, bias, y := p.Op.Inputs[1], p.Op.Inputs[2], p.Op.Outputs[0]
	rel.same(bias, 0, w, 0)
	rel.same(y, 1, w, 0)
}

// relateBatchMatmul: batches are the same; so are the other dimensions, if it is known which are swapped.
func relateBatchMatmul(p *params, rel *Relations) {
	x, y, out := p.Op.Inputs[0], p.Op.Inputs[1], p.Op.Outputs[0]
	rank := max(p.rank(), len(p.In(1).Dims), len(p.Out(0).Dims))
	if rank < 2 {
		return
	}
	for i := range rank - 2 {
		rel.same(x, i, y, i)
		rel.same(x, i, out, i)
	}
	left, right := p.flag("adjoint left"), p.flag("adjoint right")
	if p.err != nil {
		return
	}
	places := func(swapped bool) (first, second int) {
		if swapped {
			return rank - 1, rank - 2
		}
		return rank - 2, rank - 1
	}
	m, k := places(left)
	depth, n := places(right)
	rel.same(x, m, out, rank-2)
	rel.same(x, k, y, depth)
	rel.same(y, n, out, rank-1)
}

// relateConcat: all but the axis.
func relateConcat(p *params, rel *Relations) {
	axis, known := p.int32("axis")
	tensors := p.Op.Inputs[:len(p.Op.Inputs)-1]
	y := p.Op.Outputs[0]
	rank := len(p.Graph.Operands[y].Dims)
	for _, x := range tensors {
		rank = max(rank, len(p.Graph.Operands[x].Dims))
	}
	if !known || rank == 0 {
		return
	}
	at := p.axis(axis, rank)
	for _, x := range tensors {
		for k := range rank {
			if k != at && p.err == nil {
				rel.same(x, k, y, k)
			}
		}
	}
}

// relateTranspose: by the permutation.
func relateTranspose(p *params, rel *Relations) {
	if p.In(1) == nil {
		return
	}
	perm, known := p.int32s("permutation")
	if !known || slices.ContainsFunc(perm, func(v int32) bool { return v < 0 || int(v) >= len(perm) }) {
		return
	}
	for i, v := range perm {
		rel.same(p.Op.Outputs[0], i, p.Op.Inputs[0], int(v))
	}
}
