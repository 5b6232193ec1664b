package emit

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// MaxLoop bounds the sum of iterations of the rolled loops of one invocation: an old lavapipe, before Mesa 23, ends an
// invocation silently after 65,535.
const MaxLoop = 60_000

// MaxInvocations bounds one dispatch: kernels count in int32, and a dispatch has two dimensions of at most 32768
// workgroups.
const MaxInvocations = 1 << 30

// maxWork bounds the floating-point operations of one dispatch, which nothing can stop: minutes on a CPU, and more
// than a hundred times what the largest layers of networks take.
const maxWork = 1e13

// CheckWork reports a dispatch of too many operations.
func CheckWork(flop float64) error {
	if flop > maxWork {
		return fmt.Errorf("%.1g operations in one step, at most %.1g", flop, float64(maxWork))
	}
	return nil
}

// MaxElements keeps element indexes, with the padding, below 2^31.
const MaxElements = 1<<31 - 1

// Bindable reports whether kernels can index a tensor of layout l and the device can bind all of it.
func Bindable(f *plan.Facts, l pack.Layout) bool {
	return l.TotalQuads() <= MaxElements/4 && l.Bytes() <= f.MaxStorageRange
}

// CheckTensors reports the first tensor of n that is too large to be bound or indexed as a whole.
func CheckTensors(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
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
	if l.TotalQuads() > MaxElements/4 {
		return fmt.Errorf("a tensor of shape %v is too large to index", l.Dims)
	}
	return nil
}

// Oversized reports whether n has a tensor that is larger than what the device binds.
func Oversized(f *plan.Facts, g *ir.Graph, n *ir.Node) bool {
	return slices.ContainsFunc(slices.Concat(n.In, n.Out), func(id ir.ID) bool {
		return id != ir.None && pack.LayoutOf(g.T(id)).Bytes() > f.MaxStorageRange
	})
}

// CheckReshape reports why Builder.Reshape cannot copy elements between tensors of these layouts.
func CheckReshape(f *plan.Facts, to, from pack.Layout) error {
	if size := max(to.Bytes(), from.Bytes()); size > f.MaxStorageRange && reshapeRanges(f, to, from) == nil {
		return fmt.Errorf("a tensor of %d bytes is larger than the %d that the device binds, and cannot be converted in parts",
			size, f.MaxStorageRange)
	}
	return nil
}

// CheckExchange reports why t, as an input or output of a model, cannot be brought to the device's form and back.
func CheckExchange(f *plan.Facts, t *ir.Tensor) error {
	l := pack.LayoutOf(t)
	if l.Dense() {
		return nil
	}
	return CheckReshape(f, l, denseLayout(l))
}

// CheckTensor reports why the device can have no tensor t of its own, nil when it can: the limits are those of
// every kernel. Precondition: no dimension of t is negative.
func CheckTensor(f *plan.Facts, t *ir.Tensor) error {
	elements := 1
	for _, d := range t.Shape {
		if d == 0 || elements > MaxElements/d {
			return fmt.Errorf("a tensor of shape %v", t.Shape)
		}
		elements *= d
	}
	if e := t.Type.Bytes(); e != 1 && e != 2 && e != 4 {
		return fmt.Errorf("tensors of %v have no device form", t.Type)
	}
	if err := checkIndexed(t); err != nil {
		return err
	}
	return CheckExchange(f, t)
}
