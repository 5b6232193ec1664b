package ref

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpSpaceToDepth, kernel{inputs: []int{2, 3}, run: func(c *call) *Tensor { return SpaceToDepth(c.in[0], c.int(1), c.flag(2)) }})
	register(nn.OpDepthToSpace, kernel{inputs: []int{2, 3}, run: func(c *call) *Tensor { return DepthToSpace(c.in[0], c.int(1), c.flag(2)) }})
	register(nn.OpSpaceToBatchNd, kernel{inputs: []int{3, 4}, run: func(c *call) *Tensor {
		return SpaceToBatch(c.in[0], c.ints(1), c.pads(2), c.flag(3))
	}})
	register(nn.OpBatchToSpaceNd, kernel{inputs: []int{2, 3}, run: func(c *call) *Tensor { return BatchToSpace(c.in[0], c.ints(1), c.flag(2)) }})
	register(nn.OpChannelShuffle, kernel{inputs: []int{3}, run: func(c *call) *Tensor { return ChannelShuffle(c.in[0], c.int(1), c.int(2)) }})
}

// fromPixels builds an image [n, h, w, c], of each element of which source says where it lies in x; outside of x there are zeros.
func fromPixels(x *Tensor, nchw bool, shape func(s []int) []int, source func(n, h, w, c int) [4]int) *Tensor {
	if len(x.Shape) != 4 {
		refuse("rank %d", len(x.Shape))
	}
	x = toNHWC(x, nchw)
	s := shape(x.Shape)
	y := New(x.Format(), s...)
	forEach(y.Shape, func(i int, at []int) {
		y.V[i] = zeroOf(x)
		from := 0
		for d, p := range source(at[0], at[1], at[2], at[3]) {
			if p < 0 || p >= x.Shape[d] {
				return
			}
			from = from*x.Shape[d] + p
		}
		y.V[i] = x.V[from]
	})
	return fromNHWC(y, nchw)
}

// divides refuses a b that does not divide n. Precondition: b is positive.
func divides(b, n int) {
	if n%b != 0 {
		refuse("%d does not divide %d", b, n)
	}
}

// checkBlock refuses a block that does not have so many sizes of at least 1.
func checkBlock(sizes int, b ...int) {
	if len(b) != sizes || slices.Min(b) < 1 {
		refuse("block %v", b)
	}
}

// SpaceToDepth makes the pixels of each block of b by b the channels of one, row by row.
func SpaceToDepth(x *Tensor, b int, nchw bool) *Tensor {
	checkBlock(1, b)
	var depth int
	return fromPixels(x, nchw, func(s []int) []int {
		divides(b, s[1])
		divides(b, s[2])
		depth = s[3]
		return []int{s[0], s[1] / b, s[2] / b, s[3] * b * b}
	}, func(n, h, w, c int) [4]int {
		return [4]int{n, h*b + c/depth/b, w*b + c/depth%b, c % depth}
	})
}

// DepthToSpace makes blocks of b by b pixels of the channels of each, row by row.
func DepthToSpace(x *Tensor, b int, nchw bool) *Tensor {
	checkBlock(1, b)
	var depth int
	return fromPixels(x, nchw, func(s []int) []int {
		divides(b*b, s[3])
		depth = s[3] / (b * b)
		return []int{s[0], s[1] * b, s[2] * b, depth}
	}, func(n, h, w, c int) [4]int {
		return [4]int{n, h / b, w / b, (h%b*b+w%b)*depth + c}
	})
}

// SpaceToBatch makes an image of each pixel of blocks of b[0] by b[1], after padding: all first pixels come first.
func SpaceToBatch(x *Tensor, b []int, pads [][2]int, nchw bool) *Tensor {
	checkBlock(2, b...)
	if len(pads) != 2 || min(pads[0][0], pads[0][1], pads[1][0], pads[1][1]) < 0 {
		refuse("paddings %v", pads)
	}
	var images int
	return fromPixels(x, nchw, func(s []int) []int {
		h, w := s[1]+pads[0][0]+pads[0][1], s[2]+pads[1][0]+pads[1][1]
		divides(b[0], h)
		divides(b[1], w)
		images = s[0]
		return []int{s[0] * b[0] * b[1], h / b[0], w / b[1], s[3]}
	}, func(n, h, w, c int) [4]int {
		return [4]int{n % images, h*b[0] + n/images/b[1] - pads[0][0], w*b[1] + n/images%b[1] - pads[1][0], c}
	})
}

// BatchToSpace makes one image of b[0] * b[1], each of which has one pixel of every block.
func BatchToSpace(x *Tensor, b []int, nchw bool) *Tensor {
	checkBlock(2, b...)
	var images int
	return fromPixels(x, nchw, func(s []int) []int {
		divides(b[0]*b[1], s[0])
		images = s[0] / (b[0] * b[1])
		return []int{images, s[1] * b[0], s[2] * b[1], s[3]}
	}, func(n, h, w, c int) [4]int {
		return [4]int{(h%b[0]*b[1]+w%b[1])*images + n, h / b[0], w / b[1], c}
	})
}

// ChannelShuffle deals the elements along axis, which lie in groups, out in turn: first the first of each group.
func ChannelShuffle(x *Tensor, groups, axis int) *Tensor {
	a := normaliseAxis(axis, len(x.Shape))
	size, step := x.Shape[a], stride(x.Shape, a)
	checkBlock(1, groups)
	divides(groups, size)
	v := make([]float64, len(x.V))
	for i := range v {
		k := i / step % size
		v[i] = x.V[i+(k%groups*(size/groups)+k/groups-k)*step]
	}
	return x.like(x.Shape, v)
}
