package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// CheckTensor reports why the device can have no tensor t of its own, nil when it can: the limits are those of
// every kernel. Precondition: no dimension of t is negative.
func CheckTensor(f *plan.Facts, t *ir.Tensor) error {
	elements := 1
	for _, d := range t.Shape {
		if d == 0 || elements > maxElements/d {
			return fmt.Errorf("a tensor of shape %v", t.Shape)
		}
		elements *= d
	}
	if e := t.Type.Bytes(); e != 1 && e != 2 && e != 4 {
		return fmt.Errorf("tensors of %v have no device form", t.Type)
	}
	if err := checkIndexed(t); err != nil {
		return err
	}
	g := &ir.Graph{}
	id := g.Add(*t)
	return checkExchanges(f, g, &ir.Node{In: []ir.ID{id}})
}

// Exchange returns the plans that convert a tensor of layout l from its dense form, at the start of plan.Host, to
// its device form, at the start of plan.Arena, and back. They are nil where the dense form is the beginning of the
// device's. Segments are not set.
func Exchange(f *plan.Facts, l pack.Layout) (pad, unpad *plan.Plan, err error) {
	if l.Dense() {
		return nil, nil, nil
	}
	build := func(pad bool) (*plan.Plan, error) {
		b := NewBuilder(f, &ir.Graph{})
		dense, device := b.newValue(plan.Host, l.Bytes(), 0), b.Temp(l.Bytes())
		if pad {
			b.label = "write"
			b.transfer(device, dense, l, true)
		} else {
			b.label = "read"
			b.transfer(dense, device, l, false)
		}
		p, _, err := b.Finish()
		if err != nil {
			return nil, err
		}
		p.HostBytes, p.WeightBytes = l.Bytes(), 0
		return p, nil
	}
	if pad, err = build(true); err != nil {
		return nil, nil, err
	}
	unpad, err = build(false)
	return pad, unpad, err
}
