package emit

import (
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// repack copies a tensor of layout l between its dense and its device form; pad: dense to device. It binds
// whole quads of the dense form, so that it may see, or write, a few bytes behind its end.
func (b *Builder) repack(dst, src Value, l pack.Layout, pad bool) {
	dense := denseLayout(l)
	switch {
	case !pad:
		b.Reshape(dst, src, dense, l)
	case l.C == 3 && l.Bytes() <= b.Facts.MaxStorageRange && (l.Elem == 4 && (l.Rows+3)/4*3 <= l.Rows || l.Elem == 1 && l.Rows%4 == 0):
		// Reads whole groups of four rows, which the padded form has room for.
		count := (l.Rows + 3) / 4
		b.Quads(shaders.Of(family.Move{Op: family.RGB, Bytes: l.Elem}), count, Ints(count, l.Rows), Cost{},
			Binding{Value: src, Size: 3 * 4 * int64(count*l.Elem)}, b.Write(dst, plan.FormatNone))
	default:
		b.Reshape(dst, src, l, dense)
	}
}

// RunQuads is how many neighbouring quads one invocation of a moving kernel handles: several on the software
// implementations, because finding the place costs more than moving, elsewhere one, so that neighbouring invocations
// touch neighbouring memory.
func (b *Builder) RunQuads() int {
	if b.Facts.Class == plan.ClassCPU {
		return 8
	}
	return 1
}

// PlaceQuads is RunQuads where finding the place of a run costs more than moving its quads.
func (b *Builder) PlaceQuads() int {
	if n := b.RunQuads(); n > 1 {
		return 4 * n
	}
	return 1
}

// Reshape copies the elements of src in row-major order into the form of dst, in parts where the device cannot bind
// all of both. Precondition: there are such parts.
func (b *Builder) Reshape(dst, src Value, to, from pack.Layout) {
	runs := [][2]int{{0, to.Rows * to.C}}
	if limit := b.Facts.MaxStorageRange; to.Bytes() > limit || from.Bytes() > limit {
		runs = reshapeRanges(b.Facts, to, from)
	}
	if len(runs) <= 1 { // none: no check has seen the tensors, and Finish refuses them
		b.reshapePart(dst, src, stretch{to, 0}, stretch{from, 0})
		return
	}
	for _, r := range runs {
		b.reshapePart(dst, src, stretchOf(to, r[0], r[1]), stretchOf(from, r[0], r[1]))
	}
}

// reshapePart is one dispatch of Reshape.
func (b *Builder) reshapePart(dst, src Value, yPart, xPart stretch) {
	to, from := yPart.layout, xPart.layout
	total, run := to.TotalQuads(), b.RunQuads()
	count := (total + run - 1) / run
	push := Ints(count, run, total, to.C).Divisors(to.Quads, from.C).Ints(4 * from.Quads)
	// No more than the elements: the memory behind them may be a client's.
	b.Quads(shaders.Of(family.Move{Op: family.Reshape, Bytes: to.Elem}), count, push, Cost{},
		Binding{Value: src, Offset: xPart.at, Size: from.Bytes()}, Binding{Value: dst, Offset: yPart.at, Size: to.Bytes(), Write: true})
}

// Strided is a copy between two tensors of quads: dimension i has Dims[i] positions, From[i] and To[i]
// quads apart; FromBase and ToBase are the quads of position 0.
type Strided struct {
	Dims, From, To   []int
	FromBase, ToBase int
	Elem             int // bytes of an element
}

// MaxStrided is the number of dimensions that CopyQuads handles after coalescing.
const MaxStrided = 6

// coalesce drops dimensions of size 1 and joins neighbours that are contiguous on both sides.
func (s *Strided) coalesce() {
	var dims, from, to []int
	for i, d := range s.Dims {
		if d == 1 {
			continue
		}
		k := len(dims) - 1
		if k >= 0 && from[k] == d*s.From[i] && to[k] == d*s.To[i] {
			dims[k], from[k], to[k] = dims[k]*d, s.From[i], s.To[i]
			continue
		}
		dims, from, to = append(dims, d), append(from, s.From[i]), append(to, s.To[i])
	}
	if len(dims) == 0 {
		dims, from, to = []int{1}, []int{1}, []int{1}
	}
	s.Dims, s.From, s.To = dims, from, to
}

// CopyQuads appends the copy s from src to dst.
//
// Precondition: at most MaxStrided dimensions after coalescing.
func (b *Builder) CopyQuads(dst, src Binding, s Strided) {
	s.coalesce()
	last := len(s.Dims) - 1
	unit, run := s.Elem, 1
	if s.From[last] == 1 && s.To[last] == 1 {
		// Count in the largest unit of 1, 2 or 4 words that every distance and the innermost run allow.
		for unit < 4 && s.divisible(2) {
			s.scaleDown(2)
			unit *= 2
		}
		for run < b.RunQuads() && s.Dims[last]%(2*run) == 0 {
			run *= 2
		}
		s.Dims[last], s.From[last], s.To[last] = s.Dims[last]/run, run, run
	}
	count := ir.Product(s.Dims)
	dims := 3
	if len(s.Dims) > 3 {
		dims = MaxStrided
	}
	push := Ints(count, run, s.FromBase, s.ToBase).Divisors(Outermost(s.Dims, dims, 1)[1:]...)
	push = push.Ints(Outermost(s.From, dims, 0)...).Ints(Outermost(s.To, dims, 0)...)
	moved := float64(count*run*unit) * 4
	k, _ := Choose(b, QuadLocal, func(k family.Copy) (float64, string) {
		if k.Words != unit || k.Dims != dims || k.Access != family.Buffers && b.Bytes(src)%plan.FormatRGBA32U.TexelBytes() != 0 {
			return 0, ""
		}
		return b.MoveSpeed(k.Access, src.Value, plan.FormatRGBA32U), ""
	})
	b.Quads(shaders.Of(k), count, push, Cost{Bytes: 2 * moved}, ReadBy(k.Access, src, plan.FormatRGBA32U), dst)
}

// divisible reports whether the copy can count in units of f of its present units.
func (s *Strided) divisible(f int) bool {
	last := len(s.Dims) - 1
	if s.Dims[last]%f != 0 || s.FromBase%f != 0 || s.ToBase%f != 0 {
		return false
	}
	for i := range s.Dims[:last] {
		if s.From[i]%f != 0 || s.To[i]%f != 0 {
			return false
		}
	}
	return true
}

func (s *Strided) scaleDown(f int) {
	last := len(s.Dims) - 1
	s.Dims[last] /= f
	s.FromBase /= f
	s.ToBase /= f
	for i := range s.Dims[:last] {
		s.From[i] /= f
		s.To[i] /= f
	}
}
