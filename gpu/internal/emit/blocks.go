package emit

import "github.com/nngpu/nngpu/gpu/internal/plan"

// array is what Blocks has bound.
type array struct {
	v             Value
	offset, count int64
}

// Blocks is r, a part of the weights, as an array of storage buffers of each bytes, and their number. What is bound again
// counts once.
func (b *Builder) Blocks(r Binding, each int64) (bound Binding, count int) {
	r.Format = plan.FormatBlocks
	n := b.Bytes(r) / each
	b.Once(array{r.Value, r.Offset, n}, func() Value {
		b.blocks += n
		return r.Value
	})
	return r, int(n)
}

// BlocksLeft is the number of storage buffers that arrays of the plan may still have: half of what there is, so that other
// models have some.
func (b *Builder) BlocksLeft() int64 { return b.Facts.MaxBlocks/2 - b.blocks }
