package backend

import (
	"context"

	"github.com/nngpu/nngpu/driver/nn"
)

// Imager is an Allocator that makes tensors of images, on the device. Safe for concurrent use.
type Imager interface {
	Allocator
	// CompileImage returns an executable whose one input is the bytes of an image of layout d and whose one output
	// is the tensor that nn.Image speaks of, of the type, dimensions and quantisation of o; all dimensions are
	// known. It does not retain o. The Traffic of its executions counts the image as converted. ctx bounds compile
	// time only.
	//
	// Errors: INVALID_ARGUMENT for an image that cannot be such a tensor; GENERAL_FAILURE for one that the device
	// cannot handle; RESOURCE_EXHAUSTED_*.
	CompileImage(ctx context.Context, d nn.ImageLayout, o *nn.Operand, opts Options) (Executable, error)
}
