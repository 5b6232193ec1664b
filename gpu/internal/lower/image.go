package lower

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/emit"
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
	if err := emit.CheckTensor(f, t); err != nil {
		return nil, err
	}
	bytes := (d.Bytes() + 3) / 4 * 4
	if bytes > f.MaxStorageRange || bytes > math.MaxUint32 {
		return nil, fmt.Errorf("an image of %d bytes; the device reads %d at once", d.Bytes(), f.MaxStorageRange)
	}
	g := &ir.Graph{}
	g.Outputs = []ir.ID{g.Add(*t)}
	b := emit.NewBuilder(f, g)
	_, outputs, hostBytes := b.PlaceIO()
	input := plan.IO{Offset: hostBytes, Size: d.Bytes(), DeviceBytes: bytes}
	x := b.Host(bytes, hostBytes, plan.InputRef(0))
	hostBytes += plan.AlignUp(bytes)

	l := pack.LayoutOf(t)
	count := l.TotalQuads()
	push := emit.Ints(count).Divisors(int(d.Width)).Words(d.Stride).Ints(int(bytes/4-1), l.C)
	if !d.Float16 {
		push = push.Words(d.TexelBytes)
	}
	if t.Type.IsQuant8() {
		if d.Float16 {
			push = push.Ints(int(t.Zero)).Floats(float64(t.Scale)).Words(pack.Bounds(t, nn.ActNone)...)
		} else {
			push = push.Words(pack.SignOffset(t.Type))
		}
	}
	b.Begin("image")
	b.Serve(plan.InputRef(0), plan.Always, func() {
		b.Quads(shaders.Of(family.Image{Half: d.Float16, Elem: elem(t.Type)}), count, push, emit.Cost{}, b.Read(x, plan.FormatNone), b.Out(g.Outputs[0]))
	})
	b.StoreOutputs()
	p, _, err := b.Finish()
	if err != nil {
		return nil, err
	}
	p.Inputs, p.Outputs, p.HostBytes, p.WeightBytes = []plan.IO{input}, outputs, hostBytes, 0
	return p, nil
}
