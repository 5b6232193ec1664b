package null

import (
	"cmp"
	"context"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// CompileImage implements backend.Backend for images of 8 bits and tensors of TENSOR_QUANT8_ASYMM: the first channels of
// each texel are copied. Others are INVALID_ARGUMENT.
func (b *Backend) CompileImage(ctx context.Context, d nn.ImageLayout, o *nn.Operand, _ backend.Options) (backend.Executable, error) {
	if err := cmp.Or(nn.NotNil("context", ctx), nn.NotNil("tensor", o), b.begin("compile image")); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d.Float16 || o.Type != nn.TensorQuant8Asymm {
		return nil, nn.Invalid("image", "%v", o.Type)
	}
	size, err := o.ByteSize()
	if err != nil {
		return nil, nn.Invalid("image", "%w", err)
	}
	channels := int(o.Dims[3])
	convert := func(inputs, outputs [][]byte) error {
		out := outputs[0]
		for row := range int(d.Layers * d.Height) {
			for x := range int(d.Width) {
				at := (row*int(d.Stride) + x) * int(d.TexelBytes)
				out = out[copy(out[:channels], inputs[0][at:]):]
			}
		}
		return nil
	}
	return &executable{b: b, inputs: []int{int(d.Bytes())}, outputs: []int{int(size)}, compute: convert, converted: d.Bytes()}, nil
}
