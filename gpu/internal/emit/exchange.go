package emit

import (
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// Exchange returns the plans that convert a tensor of layout l from its dense form, at the start of plan.Host, to its
// device form, at the start of plan.Arena, and back. They are nil where the dense form is a prefix of the device form.
// Segments are not set.
func Exchange(f *plan.Facts, l pack.Layout) (pad, unpad *plan.Plan, err error) {
	if l.Dense() {
		return nil, nil, nil
	}
	build := func(pad bool) (*plan.Plan, error) {
		b := NewBuilder(f, &ir.Graph{})
		dense, device := b.Host(l.Bytes(), 0, 0), b.Temp(l.Bytes())
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
