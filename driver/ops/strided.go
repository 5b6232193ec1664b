package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(
		Row{
			Type: nn.OpStridedSlice, Since: 2,
			Forms: one(input(numbers, extended), indices("begin", exactly(1), "[rank]: negative ones count from the end"),
				indices("end", exactly(1), "[rank]: the position behind the last, as begin"), indices("strides", exactly(1), "[rank]: not 0"),
				int32Of("begin mask", "bit i: dimension i begins at its first position, or its last for a negative stride"),
				int32Of("end mask", "bit i: dimension i ends behind its last position, or before its first"),
				int32Of("shrink mask", "bit i: dimension i is of size 1 and dropped; its stride is positive")),
			Outputs: result(extended),
			Rules:   []string{"positions beyond a dimension are brought to its ends", "without any dimension left the result is [1]"},
			quant:   sameQuant,
			rules:   typed[StridedSlice]{attrs: stridedSliceAttrs, shapes: single(stridedSliceShape)},
		},
		Row{
			Type: nn.OpReverse, Since: 7,
			Forms:   one(input(withInt32, extended), indices("axis", exactly(1), "[1]: 0 to rank-1")),
			Outputs: result(extended),
			quant:   sameQuant,
			relate:  relateSame,
			rules:   typed[Reverse]{attrs: reverseAttrs, shapes: keepShape[Reverse]},
		},
		Row{
			Type: nn.OpTile, Since: 3,
			Forms:   one(input(withInt32, AnyRank), indices("multiples", exactly(1), "[rank]: how often each dimension is repeated").runtime()),
			Outputs: result(AnyRank),
			quant:   sameQuant,
			rules:   typed[Tile]{attrs: tileAttrs, shapes: single(tileShape), runtime: tileRuntime},
		},
	)
}

// StridedSlice are the attributes of STRIDED_SLICE, set when the shape of the input is known: position p of dimension i of the
// result, before dimensions are dropped, is position Begin[i] + p*Stride[i] of the input.
type StridedSlice struct {
	Begin  []int `json:"begin,omitempty"`
	Stride []int `json:"stride,omitempty"` // may be negative
	Size   []int `json:"size,omitempty"`   // of the result
}

func (StridedSlice) attrs() {}

// Reverse are the attributes of REVERSE.
type Reverse struct {
	Axis int `json:"axis,omitempty"` // 0 <= axis < rank
}

func (Reverse) attrs() {}

// Tile are the attributes of TILE.
type Tile struct {
	Multiples []int `json:"multiples,omitempty"` // how often each dimension is repeated
}

func (Tile) attrs() {}

func stridedSliceAttrs(p *params, _ *StridedSlice) {
	p.perDimension("begin")
	p.perDimension("end")
	strides := p.perDimension("strides")
	shrink, _ := p.int32("shrink mask")
	for i, s := range strides {
		if s == 0 {
			p.fail("stride 0 of dimension %d", i)
		}
		if s < 0 && shrink>>i&1 != 0 {
			p.fail("dimension %d is dropped, and has a negative stride", i)
		}
	}
	p.int32("begin mask")
	p.int32("end mask")
}

func stridedSliceShape(p *params, a *StridedSlice) (nn.Dims, error) {
	begin, end, strides := p.perDimension("begin"), p.perDimension("end"), p.perDimension("strides")
	beginMask, _ := p.int32("begin mask")
	endMask, _ := p.int32("end mask")
	shrink, _ := p.int32("shrink mask")
	var out nn.Dims
	for i, n := range p.In(0).Dims {
		size, step := int64(n), int64(strides[i])
		low, high := int64(0), size // where a slice may begin and end
		from, to := low, high
		if step < 0 {
			low, high = -1, size-1
			from, to = high, low
		}
		within := func(at int32) int64 {
			v := int64(at)
			if v < 0 {
				v += size
			}
			return min(max(v, low), high)
		}
		if beginMask>>i&1 == 0 {
			from = within(begin[i])
		}
		if endMask>>i&1 == 0 {
			to = within(end[i])
		}
		count := int64(0)
		if step > 0 && to > from {
			count = (to - from + step - 1) / step
		} else if step < 0 && to < from {
			count = (to - from + step + 1) / step
		}
		d, err := toDim(count)
		if err != nil {
			return nil, fmt.Errorf("dimension %d of %d from %d to %d by %d: %w", i, n, from, to, step, err)
		}
		a.Begin, a.Stride, a.Size = append(a.Begin, int(from)), append(a.Stride, int(step)), append(a.Size, int(count))
		switch {
		case shrink>>i&1 == 0:
			out = append(out, d)
		case d != 1:
			return nil, fmt.Errorf("dimension %d is dropped, and %d positions of it are left", i, d)
		}
	}
	if len(out) == 0 {
		out = nn.Dims{1}
	}
	return out, nil
}

func reverseAttrs(p *params, a *Reverse) {
	v, ok := p.int32s("axis")
	if !ok {
		return
	}
	if len(v) != 1 || v[0] < 0 || p.rank() > 0 && int(v[0]) >= p.rank() {
		p.fail("axes %v of rank %d", v, p.rank())
		return
	}
	a.Axis = int(v[0])
}

func tileAttrs(p *params, a *Tile) {
	for _, n := range p.perDimension("multiples") {
		if n < 1 {
			p.fail("multiple %d", n)
		}
		a.Multiples = append(a.Multiples, int(n))
	}
}

func tileShape(p *params, a *Tile) (_ nn.Dims, err error) {
	x := p.In(0).Dims
	out := make(nn.Dims, len(x))
	for i, n := range x {
		if out[i], err = toDim(int64(n) * int64(a.Multiples[i])); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// tileRuntime: the multiples follow from the shapes.
func tileRuntime(p *params, a *Tile, y nn.Dims) (nn.Dims, error) {
	x := p.In(0).Dims
	if n := p.In(p.runtime).Dims; len(n) == 1 && n[0] != 0 && int64(n[0]) != int64(len(x)) {
		return nil, fmt.Errorf("%d multiples for rank %d", n[0], len(x))
	}
	for i, n := range x {
		if len(y) != len(x) || y[i]%n != 0 {
			return nil, fmt.Errorf("no multiples make %v of %v", []uint32(y), []uint32(x))
		}
		a.Multiples = append(a.Multiples, int(y[i]/n))
	}
	return nil, nil
}
