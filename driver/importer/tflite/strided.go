package tflite

import (
	"fmt"
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// Slots of StridedSliceOptions.
const (
	sliceBegin, sliceEnd, sliceEllipsis    = 0, 1, 2
	sliceNewAxis, sliceShrink, sliceOffset = 3, 4, 5
)

// selection is what STRIDED_SLICE takes of one dimension.
type selection struct {
	begin, stride, count int64
	from, to             int32 // begin and end as the HAL's operation takes them, from the end where they are negative
	first, last          bool  // from the dimension's beginning in the stride's direction, whatever from is; to its end
	dropped              bool
}

// all is a whole dimension.
func all(n int64) selection { return selection{stride: 1, count: n, first: true, last: true} }

// strides are the parameters of a STRIDED_SLICE in the file.
type strides struct {
	begin, end, stride                      []int32
	begins, ends, ellipsis, newAxes, shrink int32 // masks
	offset                                  bool
}

// strides reads the parameters.
func (c *call) strides() (s strides, err error) {
	s.begin, s.end, s.stride = c.ints(1, "begin"), c.ints(2, "end"), c.ints(3, "strides")
	if c.err != nil {
		return s, c.err
	}
	o := &c.options
	s.begins, s.ends, s.ellipsis = o.int32(sliceBegin, 0), o.int32(sliceEnd, 0), o.int32(sliceEllipsis, 0)
	s.newAxes, s.shrink, s.offset = o.int32(sliceNewAxis, 0), o.int32(sliceShrink, 0), o.bool(sliceOffset)
	if n := len(s.begin); len(s.end) != n || len(s.stride) != n || n > maxRank*2 {
		return s, importer.Damaged("%d, %d and %d positions and strides", n, len(s.end), len(s.stride))
	}
	return s, nil
}

// of applies the parameters to dimensions: what is taken of each, and where new ones of size 1 stand in the result
// before dimensions are dropped. Positions are those of TensorFlow: an ellipsis stands for the dimensions that no other
// position names.
func (s *strides) of(dims []int64) (list []selection, added []int, err error) {
	named := 0 // dimensions of the input that have a position
	ellipsis := -1
	for i := range s.begin {
		switch {
		case s.ellipsis>>i&1 != 0 && ellipsis < 0:
			ellipsis = i
		case s.ellipsis>>i&1 != 0:
			return nil, nil, importer.Damaged("two ellipses")
		case s.newAxes>>i&1 == 0:
			named++
		}
	}
	if named > len(dims) {
		return nil, nil, importer.Damaged("%d positions for rank %d", named, len(dims))
	}
	for i := range s.begin {
		switch {
		case i == ellipsis:
			for range len(dims) - named {
				list = append(list, all(dims[len(list)]))
			}
		case s.newAxes>>i&1 != 0:
			added = append(added, len(list)+len(added))
		default:
			x, err := s.at(i, dims[len(list)])
			if err != nil {
				return nil, nil, fmt.Errorf("dimension %d: %w", len(list), err)
			}
			list = append(list, x)
		}
	}
	for len(list) < len(dims) {
		list = append(list, all(dims[len(list)]))
	}
	return list, added, nil
}

// at is what position i takes of a dimension of n.
func (s *strides) at(i int, n int64) (selection, error) {
	begin, end, step := int64(s.begin[i]), int64(s.end[i]), int64(s.stride[i])
	wrap := func(v int64) int64 {
		if v < 0 {
			v += n
		}
		return v
	}
	if s.shrink>>i&1 != 0 {
		if s.begins>>i&1 != 0 {
			begin = 0
		}
		if begin = wrap(begin); begin < 0 || begin >= n || step <= 0 {
			return selection{}, fmt.Errorf("position %d of %d, with stride %d", s.begin[i], n, step)
		}
		x := selection{begin: begin, stride: 1, count: 1, dropped: true, from: s.begin[i]}
		if s.begins>>i&1 != 0 {
			x.from = 0
		}
		x.to = x.from + 1
		x.last = x.to == 0
		return x, nil
	}
	if step == 0 {
		return selection{}, importer.Damaged("stride 0")
	}
	low, high := int64(0), n // where begin and end may lie
	x := selection{begin: low, stride: step, from: s.begin[i]}
	x.first, x.last = s.begins>>i&1 != 0, s.ends>>i&1 != 0
	to := high
	if step < 0 {
		low, high = -1, n-1
		x.begin, to = high, low
	}
	if !x.first {
		x.begin = min(max(wrap(begin), low), high)
	}
	if s.offset { // end is a length
		end += x.begin
	}
	x.to = int32(min(max(end, math.MinInt32), math.MaxInt32))
	if !x.last {
		to = min(max(wrap(end), low), high)
	}
	if step > 0 {
		x.count = (to - x.begin + step - 1) / step
	} else {
		x.count = (to - x.begin + step + 1) / step
	}
	if x.count < 1 || step > 0 && to <= x.begin || step < 0 && to >= x.begin {
		return selection{}, fmt.Errorf("nothing is left of %d positions", n)
	}
	return x, nil
}

// shape are the dimensions of the result.
func shape(list []selection, added []int) nn.Dims {
	var d nn.Dims
	k := 0
	for i := 0; i <= len(list); i++ {
		for k < len(added) && added[k] == i+k {
			d = append(d, 1)
			k++
		}
		if i < len(list) && !list[i].dropped {
			d = append(d, uint32(list[i].count))
		}
	}
	return d
}

// stridedSlice: the HAL's operation has neither an ellipsis, which becomes masks, nor new axes, which a RESHAPE adds.
func stridedSlice(c *call) error {
	x := c.data(0)
	s, err := c.strides()
	if err != nil {
		return err
	}
	list, added, err := s.of(sizes(c.operand(x).Dims))
	if err != nil {
		return err
	}
	x = c.take(x, c.result(), list)
	d := shape(list, added)
	if len(d) == 0 {
		d = nn.Dims{1}
	}
	if !d.Equal(c.operand(x).Dims) {
		return c.reshapeTo(x, d)
	}
	return c.bind(x)
}

func sizes(d nn.Dims) []int64 {
	list := make([]int64, len(d))
	for i, n := range d {
		list[i] = int64(n)
	}
	return list
}

// take emits what takes the selections of x, of type t as the result.
func (c *call) take(x uint32, t spec, list []selection) uint32 {
	if c.operand(x).Type == nn.TensorInt32 { // which STRIDED_SLICE does not know
		return c.takeInts(x, t, list)
	}
	var begin, end, stride []int32
	var begins, ends, shrink int32
	for i, s := range list {
		bit := func(is bool) int32 {
			if is {
				return 1 << i
			}
			return 0
		}
		begins, ends, shrink = begins|bit(s.first), ends|bit(s.last), shrink|bit(s.dropped)
		begin, end, stride = append(begin, s.from), append(end, s.to), append(stride, int32(s.stride))
	}
	return c.emit(nn.OpStridedSlice, t, x, begin, end, stride, begins, ends, shrink)
}

// takeInts is take by SLICE, and GATHER where strides are not 1.
func (c *call) takeInts(x uint32, t spec, list []selection) uint32 {
	begin, size := make([]int32, len(list)), make([]int32, len(list))
	whole := true
	for i, s := range list {
		size[i] = -1
		if s.stride != 1 {
			continue
		}
		if begin[i] = int32(s.begin); !s.last {
			size[i] = int32(s.count)
		}
		whole = whole && s.first && s.last
	}
	strided := slices.ContainsFunc(list, func(s selection) bool { return s.stride != 1 })
	if !whole || !strided {
		x = c.emit(nn.OpSlice, t, x, begin, size)
	}
	for i, s := range list {
		if s.stride == 1 {
			continue
		}
		places := c.made(nn.Dims{uint32(s.count)}, func(k int) int32 { return int32(s.begin + int64(k)*s.stride) })
		x = c.gatherBy(x, t, i, places)
	}
	return x
}
