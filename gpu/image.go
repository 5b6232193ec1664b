package gpu

import (
	"bytes"
	"context"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

var _ backend.Imager = (*Backend)(nil)

// CompileImage implements backend.Imager.
func (b *Backend) CompileImage(ctx context.Context, d nn.ImageLayout, o *nn.Operand, opts backend.Options) (backend.Executable, error) {
	p, err := compile.Image(&b.facts, d, o)
	if err != nil {
		return nil, err
	}
	x, err := b.newLasting(ctx, p, bytes.NewReader(nil), vulkan.ExecutableOptions{MemoryBudget: opts.MemoryBudget, Urgent: opts.Priority == nn.PriorityHigh})
	if err != nil {
		return nil, err
	}
	return x, nil
}
