package compile

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// Exchanged is a tensor in both of its forms. The device's depends on type and dimensions alone.
type Exchanged struct {
	DenseBytes, DeviceBytes int64
	// Pad and Unpad are the plans of emit.Exchange, cut into segments.
	Pad, Unpad *plan.Plan
}

// Exchange says how a tensor goes to a device and back. A scalar has one element. dims are all known.
//
// Errors: INVALID_ARGUMENT for a type or size that no kernel handles.
func Exchange(f *plan.Facts, t nn.OperandType, dims nn.Dims) (*Exchanged, error) {
	x := &ir.Tensor{Type: t, Shape: shapeOf(dims)}
	if err := emit.CheckTensor(f, x); err != nil {
		return nil, nn.Invalid("tensor memory", "%w", err)
	}
	l := pack.LayoutOf(x)
	e := &Exchanged{DenseBytes: l.DenseBytes(), DeviceBytes: l.Bytes()}
	var err error
	if e.Pad, e.Unpad, err = emit.Exchange(f, l); err != nil {
		return nil, nn.Invalid("tensor memory", "%w", err)
	}
	for _, p := range []*plan.Plan{e.Pad, e.Unpad} {
		if p != nil {
			p.Steps, p.Segments = segments(f, p.Steps)
		}
	}
	return e, nil
}
