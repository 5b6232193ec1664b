package plan

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/shaders"
)

// Bounds of every plan, far beyond what any device or network needs.
const (
	MaxSteps    = 1 << 20 // of one plan
	MaxSegments = 1 << 16 // of one plan; an execution has measurements of each
	maxMemory   = 1 << 62 // bytes of one memory: rounding up cannot overflow
	maxPushData = 32      // words; Vulkan guarantees no more
	// MaxGroups is the number of workgroups in each dimension that every device has.
	MaxGroups = 65535
)

// Verify reports what in p contradicts the promises of this package or the interface of a kernel, as far as that can be
// told without a device. What the kernels do with their push constants is not checked.
//
// A plan that passes binds nothing outside of its memories, each rounded up to Align.
func (p *Plan) Verify() error {
	if len(p.Steps) > MaxSteps {
		return fmt.Errorf("%d steps, at most %d", len(p.Steps), MaxSteps)
	}
	for _, n := range []int64{p.ArenaBytes, p.WeightBytes, p.HostBytes} {
		if n < 0 || n > maxMemory {
			return fmt.Errorf("memory of %d bytes", n)
		}
	}
	for _, list := range [][]IO{p.Inputs, p.Outputs} {
		for i, io := range list {
			if io.Offset < 0 || io.Size < 0 || io.Offset > p.HostBytes-io.Size {
				return fmt.Errorf("input or output %d (%s): %d bytes at %d of %d", i, io.Name, io.Size, io.Offset, p.HostBytes)
			}
			if io.DeviceBytes < io.Size || io.DeviceBytes > maxMemory {
				return fmt.Errorf("input or output %d (%s): %d bytes on the device for %d", i, io.Name, io.DeviceBytes, io.Size)
			}
		}
	}
	if err := p.verifySegments(); err != nil {
		return err
	}
	for _, key := range p.Pipelines() {
		if !key.Kernel.Valid() {
			return fmt.Errorf("%s is no kernel", key.Kernel)
		}
	}
	for i := range p.Steps {
		if err := p.verifyStep(&p.Steps[i]); err != nil {
			return fmt.Errorf("step %d (%s, %s): %w", i, p.Steps[i].Label, p.Steps[i].Kernel, err)
		}
	}
	return nil
}

// verifySegments: segments divide the steps, and only a plan without steps has an empty one.
func (p *Plan) verifySegments() error {
	if len(p.Segments) > MaxSegments {
		return fmt.Errorf("%d segments, at most %d", len(p.Segments), MaxSegments)
	}
	if len(p.Segments) > max(1, len(p.Steps)) {
		return fmt.Errorf("%d segments of %d steps", len(p.Segments), len(p.Steps))
	}
	at := 0
	for i, end := range p.Segments {
		if end < at || end > len(p.Steps) || end == at && len(p.Steps) > 0 {
			return fmt.Errorf("segment %d ends at step %d", i, end)
		}
		at = end
	}
	if at != len(p.Steps) {
		return fmt.Errorf("segments end at step %d of %d", at, len(p.Steps))
	}
	return nil
}

// verifyStep checks s. Precondition: its kernel is known.
func (p *Plan) verifyStep(s *Step) error {
	info := s.Kernel.Info()
	if len(s.Bindings) != len(info.Bindings) {
		return fmt.Errorf("%d bindings, the kernel has %d", len(s.Bindings), len(info.Bindings))
	}
	if s.When > WhenDevice || s.When != Always && s.Transfers == 0 {
		return fmt.Errorf("runs when %d, and serves %v", s.When, s.Transfers)
	}
	if s.Transfers != 0 && !p.has(s.Transfers) {
		return fmt.Errorf("serves %v, which the plan lacks", s.Transfers)
	}
	for i := range s.Bindings {
		if err := p.verifyPlace(s, &s.Bindings[i]); err != nil {
			return fmt.Errorf("binding %d: %w", i, err)
		}
		if err := p.verifyBinding(&s.Bindings[i], info.Bindings[i], int64(info.Needs.BlockBytes)); err != nil {
			return fmt.Errorf("binding %d: %w", i, err)
		}
	}
	if len(s.Push) != info.PushWords || len(s.Push) > maxPushData {
		return fmt.Errorf("%d words of push constants, the kernel has %d", len(s.Push), info.PushWords)
	}
	for _, v := range []float64{s.FLOP, s.Bytes} {
		if math.Signbit(v) || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("estimated work of %v", v)
		}
	}
	if s.Kernel == shaders.Copy {
		return verifyCopy(s)
	}
	for i := range s.Groups {
		if fixed := info.Workgroup[i]; s.Local[i] == 0 || s.Groups[i] == 0 || fixed != 0 && s.Local[i] != fixed {
			return fmt.Errorf("%v workgroups of %v, the kernel's are of %v", s.Groups, s.Local, info.Workgroup)
		}
		if s.Base[i] > MaxGroups || s.Groups[i] > MaxGroups-s.Base[i] {
			return fmt.Errorf("%v workgroups from %v on", s.Groups, s.Base)
		}
	}
	return nil
}

// has reports whether r names an input or output of p that is not omitted.
func (p *Plan) has(r IORef) bool {
	if i, ok := r.Input(); ok {
		return i < len(p.Inputs) && p.Inputs[i].Size > 0
	}
	i, ok := r.Output()
	return ok && i < len(p.Outputs) && p.Outputs[i].Size > 0
}

// verifyPlace checks what b, a binding of s, says of an input or output: executions put other memory in its place, with
// room for the device's form and Align bytes behind it. An input is never written.
func (p *Plan) verifyPlace(s *Step, b *Binding) error {
	if b.Of == 0 {
		if b.At != 0 {
			return fmt.Errorf("at %d of nothing", b.At)
		}
		return nil
	}
	if !p.has(b.Of) {
		return fmt.Errorf("of %v, which the plan lacks", b.Of)
	}
	io := p.IO(b.Of)
	if b.At < 0 || b.At%Align != 0 || b.Size > AlignUp(io.DeviceBytes)+Align || b.At > AlignUp(io.DeviceBytes)+Align-b.Size {
		return fmt.Errorf("%d bytes at %d of the %d of %v", b.Size, b.At, io.DeviceBytes, b.Of)
	}
	if b.Buffer == Weights || b.Buffer == Host && b.Offset != io.Offset+b.At {
		return fmt.Errorf("%v at %d of %v lies at %d in %v", b.Of, b.At, p.IO(b.Of), b.Offset, b.Buffer)
	}
	if _, input := b.Of.Input(); input && b.Write && (b.Buffer == Host || s.Transfers != b.Of || s.When != WhenDense) {
		return fmt.Errorf("writes to %v", b.Of)
	}
	return nil
}

func verifyCopy(s *Step) error {
	src, dst := &s.Bindings[0], &s.Bindings[1]
	if src.Size < dst.Size {
		return fmt.Errorf("copy of %d bytes from %d", dst.Size, src.Size)
	}
	if src.Buffer == dst.Buffer && src.Offset < dst.Offset+dst.Size && dst.Offset < src.Offset+dst.Size {
		return fmt.Errorf("copy of %d bytes from %d to %d overlaps", dst.Size, src.Offset, dst.Offset)
	}
	if dst.Buffer == Weights {
		return fmt.Errorf("copy to weights")
	}
	if src.Of != 0 && src.Of == dst.Of && (s.Transfers != src.Of || s.When != WhenDense) {
		return fmt.Errorf("copy of %v onto itself where that is on the device", src.Of)
	}
	return nil
}

// verifyBinding checks b, which the kernel declares with the given letter of family.Info.Bindings; block is the size of its
// blocks.
func (p *Plan) verifyBinding(b *Binding, letter byte, block int64) error {
	var total int64
	switch b.Buffer {
	case Arena:
		total = p.ArenaBytes
	case Weights:
		total = p.WeightBytes
	case Host:
		total = p.HostBytes
	default:
		return fmt.Errorf("memory %d is unknown", uint8(b.Buffer))
	}
	// A memory's size is rounded up, and so may be the binding that ends it.
	if b.Size <= 0 || b.Offset < 0 || b.Offset%Align != 0 || b.Offset > AlignUp(total)-b.Size {
		return fmt.Errorf("%d bytes at %d of %d in %s", b.Size, b.Offset, total, b.Buffer)
	}
	if b.Buffer == Weights && (b.Write || letter == 'i') {
		return fmt.Errorf("writes to weights")
	}
	if b.Format > FormatBlocks {
		return fmt.Errorf("format %d is unknown", uint8(b.Format))
	}
	switch {
	case letter == 's' && b.Format != FormatNone:
		return fmt.Errorf("format %s for a storage buffer", b.Format)
	case letter == 's':
		return nil
	case (letter == 'a') != (b.Format == FormatBlocks):
		return fmt.Errorf("format %s for binding %q", b.Format, letter)
	case letter == 'a' && b.Buffer != Weights:
		return fmt.Errorf("blocks in %s", b.Buffer)
	case letter == 'a' && b.Size%block != 0:
		return fmt.Errorf("%d bytes as blocks of %d", b.Size, block)
	case letter == 'a':
		return nil
	case b.Format == FormatNone:
		return fmt.Errorf("no format for a texel buffer")
	case letter == 'i' && b.Format != FormatR32U && b.Format != FormatRGBA32F:
		return fmt.Errorf("cannot write texels of %s", b.Format)
	case b.Size%b.Format.TexelBytes() != 0:
		return fmt.Errorf("%d bytes as texels of %d", b.Size, b.Format.TexelBytes())
	}
	return nil
}

// AlignUp rounds n up to a multiple of Align.
func AlignUp(n int64) int64 { return (n + Align - 1) / Align * Align }
