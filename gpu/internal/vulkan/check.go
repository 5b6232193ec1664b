package vulkan

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// checkPlan refuses plans that would break a rule of Vulkan on this device. Plans also come from cache
// files, so nothing is taken for granted; what kernels do with their push constants is not checked.
func (d *Device) checkPlan(p *plan.Plan) error {
	if err := p.Verify(); err != nil {
		return err
	}
	for _, n := range []int64{p.ArenaBytes, p.WeightBytes, p.HostBytes} {
		if n > d.props.MaxAllocation {
			return nn.Errorf(nn.StatusResourceExhaustedPersistent, "memory", "%d bytes in one piece exceed the device's limit of %d",
				n, d.props.MaxAllocation)
		}
	}
	for _, key := range p.Pipelines() {
		if err := d.checkPipeline(key); err != nil {
			return err
		}
	}
	for i := range p.Steps {
		if err := d.checkStep(&p.Steps[i]); err != nil {
			return fmt.Errorf("step %d (%s, %s): %w", i, p.Steps[i].Label, p.Steps[i].Kernel, err)
		}
	}
	return nil
}

// checkStep checks what a plan cannot know. Precondition: plan.Plan.Verify accepted s.
func (d *Device) checkStep(s *plan.Step) error {
	if s.Kernel == shaders.Copy {
		return nil
	}
	info := s.Kernel.Info()
	for i := range s.Bindings {
		if err := d.checkBinding(&s.Bindings[i], info.Bindings[i]); err != nil {
			return fmt.Errorf("binding %d: %w", i, err)
		}
	}
	for i, n := range s.Groups {
		if n > d.props.MaxGroups[i] || s.Base[i] > d.props.MaxGroups[i]-n {
			return fmt.Errorf("%v workgroups from %v on; the device allows 1 to %v", s.Groups, s.Base, d.props.MaxGroups)
		}
	}
	return nil
}

func (d *Device) checkBinding(b *plan.Binding, letter byte) error {
	f := &d.info.Facts
	if letter == 's' {
		if b.Size > f.MaxStorageRange {
			return nn.Errorf(nn.StatusResourceExhaustedPersistent, "storage buffer", "%d bytes exceed the device's limit of %d",
				b.Size, f.MaxStorageRange)
		}
		return nil
	}
	if letter == 'i' && b.Format == plan.FormatRGBA32F && !f.StorageTexelRGBA32F {
		return fmt.Errorf("cannot write texels of %s", b.Format)
	}
	if texel := b.Format.TexelBytes(); b.Size/texel > f.MaxTexelElements {
		return fmt.Errorf("%d bytes as texels of %d; the device allows %d texels", b.Size, texel, f.MaxTexelElements)
	}
	return nil
}
