package lower

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// Image returns the plan that makes tensor t of an image: input 0 is the image's bytes, which the kernel reads where
// they are, output 0 the tensor. Segments are not set.
//
// The error says why the device cannot. Precondition: nn.ImageLayout.Check and CheckTensor are nil.
func Image(f *plan.Facts, d nn.ImageLayout, t *ir.Tensor) (*plan.Plan, error) {
	if err := CheckTensor(f, t); err != nil {
		return nil, err
	}
	bytes := (d.Bytes() + 3) / 4 * 4
	if bytes > f.MaxStorageRange || bytes > math.MaxUint32 {
		return nil, fmt.Errorf("an image of %d bytes; the device reads %d at once", d.Bytes(), f.MaxStorageRange)
	}
	g := &ir.Graph{}
	g.Outputs = []ir.ID{g.Add(*t)}
	b := NewBuilder(f, g)
	_, outputs, hostBytes := b.PlaceIO()
	input := plan.IO{Offset: hostBytes, Size: d.Bytes(), DeviceBytes: bytes}
	x := b.newValue(plan.Host, bytes, hostBytes)
	b.values[x.id].of = plan.InputRef(0)
	hostBytes += plan.AlignUp(bytes)

	l := pack.LayoutOf(t)
	count := l.TotalQuads()
	push := append(ints(nil, count), divisor(int(d.Width))...)
	push = append(push, d.Stride, uint32(bytes/4-1), uint32(l.C))
	if !d.Float16 {
		push = append(push, d.TexelBytes)
	}
	if t.Type.IsQuant8() {
		lo, hi := 0, 255
		if t.Type == nn.TensorQuant8AsymmSigned {
			lo, hi = -128, 127
		}
		if d.Float16 {
			push = append(push, uint32(t.Zero), f32(float64(t.Scale)), uint32(lo), uint32(hi))
		} else {
			push = append(push, uint32(-lo))
		}
	}
	b.label = "image"
	b.serve(plan.InputRef(0), plan.Always, func() {
		b.Dispatch(shaders.Of(family.Image{Half: d.Float16, Elem: elem(t.Type)}), quadLocal, count, push, Cost{}, b.Read(x, plan.FormatNone), b.Out(g.Outputs[0]))
	})
	b.StoreOutputs()
	p, _, err := b.Finish()
	if err != nil {
		return nil, err
	}
	p.Inputs, p.Outputs, p.HostBytes, p.WeightBytes = []plan.IO{input}, outputs, hostBytes, 0
	return p, nil
}
