package lower

import (
	"fmt"
	"math/bits"

	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// divisor returns the push constants of a Divisor of shaders/include/divide.glsl: d, multiplier and shift
// of the division by d > 0 of numbers below 2^31.
func divisor(d int) []uint32 {
	shift := bits.Len32(uint32(d - 1)) // ceil(log2 d)
	m := (uint64(1)<<32)*(uint64(1)<<shift-uint64(d))/uint64(d) + 1
	return []uint32{uint32(d), uint32(m), uint32(shift)}
}

// divisors returns the push constants of several.
func divisors(ds ...int) []uint32 {
	var push []uint32
	for _, d := range ds {
		push = append(push, divisor(d)...)
	}
	return push
}

// ints appends ints, from -2^31 to 2^32-1, to push constants; negative ones as two's complement.
func ints(push []uint32, v ...int) []uint32 {
	for _, x := range v {
		push = append(push, uint32(x))
	}
	return push
}

// product of dimensions; 1 for none.
func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// outermost returns dims with ones put in front, n in all. Precondition: len(dims) <= n.
func outermost(dims []int, n, with int) []int {
	out := make([]int, n)
	for i := range out[:n-len(dims)] {
		out[i] = with
	}
	copy(out[n-len(dims):], dims)
	return out
}

// firstInputOnly is n without its parameters, which may still be listed when they are decoded.
func firstInputOnly(n *ir.Node) *ir.Node {
	m := *n
	m.In = n.In[:1]
	return &m
}

// maxWork bounds the floating-point operations of one dispatch, which nothing can stop: minutes on a CPU, and more
// than a hundred times what the largest layers of networks take.
const maxWork = 1e13

// checkWork reports a dispatch of too many operations.
func checkWork(flop float64) error {
	if flop > maxWork {
		return fmt.Errorf("%.1g operations in one step, at most %.1g", flop, float64(maxWork))
	}
	return nil
}

// maxElements keeps element indexes, with the padding, below 2^31.
const maxElements = 1<<31 - 1

// checkTensors reports the first tensor of n that is too large to be bound or indexed as a whole.
func checkTensors(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	for _, ids := range [2][]ir.ID{n.In, n.Out} {
		for _, id := range ids {
			if id == ir.None {
				continue
			}
			l := pack.LayoutOf(g.T(id))
			if err := checkIndexed(g.T(id)); err != nil {
				return err
			}
			if l.Bytes() > f.MaxStorageRange {
				return fmt.Errorf("a tensor of %d bytes is larger than the %d that the device binds", l.Bytes(), f.MaxStorageRange)
			}
		}
	}
	return nil
}

// checkIndexed reports why no kernel can index tensor t.
func checkIndexed(t *ir.Tensor) error {
	l := pack.LayoutOf(t)
	if l.Elem == 0 {
		return fmt.Errorf("tensors of %v have no device form", t.Type)
	}
	if l.TotalQuads() > maxElements/4 {
		return fmt.Errorf("a tensor of shape %v is too large to index", l.Dims)
	}
	return nil
}
