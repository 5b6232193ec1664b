package compile

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/lower"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// Image returns the plan that makes a tensor like o, whose dimensions are all known, of an image: one input, the
// image's bytes, and one output. It has no weights.
//
// Errors: INVALID_ARGUMENT for an image that is no such tensor; GENERAL_FAILURE for one that is too large for the
// device.
func Image(f *plan.Facts, d nn.ImageLayout, o *nn.Operand) (*plan.Plan, error) {
	if err := d.Check(); err != nil {
		return nil, nn.Invalid("image", "%w", err)
	}
	if err := d.CheckTensor(o.Type, o.Dims); err != nil {
		return nil, nn.Invalid("image", "%w", err)
	}
	t := &ir.Tensor{Type: o.Type, Shape: shapeOf(o.Dims), Scale: o.Scale, Zero: o.ZeroPoint}
	p, err := lower.Image(f, d, t)
	if err != nil {
		return nil, nn.Errorf(nn.StatusGeneralFailure, "image", "%w", err)
	}
	p.Steps, p.Segments = segments(f, p.Steps)
	return p, nil
}
