package gpu

import (
	"bytes"
	"cmp"
	"context"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/compile"
)

// CompileImage implements backend.Backend. Errors as of Compile, too.
func (b *Backend) CompileImage(ctx context.Context, d nn.ImageLayout, o *nn.Operand, opts backend.Options) (backend.Executable, error) {
	if err := cmp.Or(nn.NotNil("context", ctx), nn.NotNil("tensor", o)); err != nil {
		return nil, err
	}
	facts := b.current()
	p, err := compile.Image(&facts, d, o)
	if err != nil {
		return nil, err
	}
	x, err := b.newLasting(ctx, p, bytes.NewReader(nil), executableOptions(opts))
	if err != nil {
		return nil, err
	}
	return x, nil
}
