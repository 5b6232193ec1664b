package vulkan

import "github.com/nngpu/nngpu/gpu/internal/plan"

// On a device with memory of its own, all of which the host can write to, inputs lie in a block of it: kernels that
// convert them would read host memory over the bus, while the host writes to either equally fast. Outputs, which the
// host reads, stay in host memory. See inputMemory.

// inputsEnd is where in plan.Host the inputs of p end, a multiple of plan.Align, if they can have a block of their own
// with plan.Align bytes more behind them: outputs lie behind them, and steps bind no range that needs both blocks. Else,
// and without inputs, it is 0. Precondition: p is verified.
func inputsEnd(p *plan.Plan) (end int64) {
	room := plan.AlignUp(p.HostBytes)
	for _, io := range p.Inputs {
		if io.DeviceBytes > room-io.Offset {
			return 0
		}
		if io.DeviceBytes > 0 {
			end = max(end, plan.AlignUp(io.Offset+io.DeviceBytes))
		}
	}
	for _, io := range p.Outputs {
		if io.DeviceBytes > 0 && io.Offset < end {
			return 0
		}
	}
	for i := range p.Steps {
		for _, b := range p.Steps[i].Bindings {
			if b.Buffer == plan.Host && b.Offset < end && b.Offset+b.Size > end+plan.Align {
				return 0
			}
		}
	}
	return end
}

// hostBytes is the size of the blocks of plan.Host in each slot: of inputs, 0 where they are in the other one, and of
// all else.
func (x *Executable) hostBytes() (inputs, host int64) {
	if x.inputsEnd == 0 {
		return 0, x.plan.HostBytes
	}
	return x.inputsEnd + plan.Align, max(x.plan.HostBytes-x.inputsEnd, 0)
}

// hostAt returns the block that has a location of plan.Host, nil if none has, and where in the block that is.
func (s *slot) hostAt(offset int64) (*block, int64) {
	if offset < s.x.inputsEnd {
		return s.inputs, offset
	}
	return s.host, offset - s.x.inputsEnd
}

// locate returns the block of s, or of its executable, that b is in, and where it begins there.
func (s *slot) locate(b *plan.Binding) (*block, int64) {
	switch b.Buffer {
	case plan.Arena:
		return s.arena, b.Offset
	case plan.Weights:
		return s.x.weights, b.Offset
	}
	return s.hostAt(b.Offset)
}
