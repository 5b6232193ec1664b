package plan

import (
	"fmt"
	"strings"

	"github.com/nngpu/nngpu/shaders"
)

// String is the plan for people and golden files: the memories, then a line a step.
//
//	arena 256  weights 0  host 512
//	input 0 "x" host[0+48]
//	output 0 "" host[256+48]
//	segment 0
//	  0   unary_clamp_f32  1x1x1 of 64  r host[0+48] buf in0  w arena[0+48] buf out0  RELU #0  12 flop, 96 bytes
//	  1 | copy             r arena[0+48] buf out0  w host[256+48] buf out0  output  unless output 0 is on the device  0 flop, 96 bytes
//
// A step's line has its index, "|" where a barrier comes before it, the kernel by its name, the workgroups,
// their shape (one number where that is flat) and the first of them where that is not 0, the bindings as r (read) or w (written)
// memory[offset+size] format and the input or output that they are of, the label, what the step depends on, and
// the work that the estimate of its time counts. Push constants and weights are left out.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "arena %d  weights %d  host %d\n", p.ArenaBytes, p.WeightBytes, p.HostBytes)
	for i, io := range p.Inputs {
		fmt.Fprintf(&b, "input %d %s\n", i, io)
	}
	for i, io := range p.Outputs {
		fmt.Fprintf(&b, "output %d %s\n", i, io)
	}
	width := 0
	for i := range p.Steps {
		width = max(width, len(p.Steps[i].Kernel.String()))
	}
	segment, start := 0, 0
	for i := range p.Steps {
		for ; segment < len(p.Segments) && start == i; segment++ {
			fmt.Fprintf(&b, "segment %d\n", segment)
			start = p.Segments[segment]
		}
		fmt.Fprintf(&b, "%3d %s\n", i, p.Steps[i].text(width))
	}
	return b.String()
}

// String is the place of an input or output: its name, where it has one, and its range.
func (io IO) String() string {
	if io.Size == 0 {
		return fmt.Sprintf("%q omitted", io.Name)
	}
	return fmt.Sprintf("%q %v[%d+%d]", io.Name, Host, io.Offset, io.Size)
}

// text is the line of a step, the kernel's name padded to width.
func (s *Step) text(width int) string {
	mark := " "
	if s.Barrier {
		mark = "|"
	}
	parts := []string{fmt.Sprintf("%s %-*s", mark, width, s.Kernel)}
	if s.Kernel != shaders.Copy {
		groups := fmt.Sprintf("%dx%dx%d of %d", s.Groups[0], s.Groups[1], s.Groups[2], s.Local[0])
		if s.Local[1] > 1 || s.Local[2] > 1 {
			groups += fmt.Sprintf("x%dx%d", s.Local[1], s.Local[2])
		}
		if s.Base != [3]uint32{} {
			groups += fmt.Sprintf(" from %d,%d,%d", s.Base[0], s.Base[1], s.Base[2])
		}
		parts = append(parts, groups)
	}
	for _, bd := range s.Bindings {
		parts = append(parts, bd.String())
	}
	if s.Label != "" {
		parts = append(parts, s.Label)
	}
	switch s.When {
	case WhenDense:
		parts = append(parts, fmt.Sprintf("unless %v is on the device", s.Transfers))
	case WhenDevice:
		parts = append(parts, fmt.Sprintf("if %v is on the device", s.Transfers))
	}
	return strings.Join(append(parts, fmt.Sprintf("%.0f flop, %.0f bytes", s.FLOP, s.Bytes)), "  ")
}

// String is the access, range and format of a binding, and the input or output that it is of, with the offset in that
// where it is not 0: "r weights[256+1024] rgba32f", "w host[512+48] buf out0+256".
func (bd Binding) String() string {
	access := "r"
	if bd.Write {
		access = "w"
	}
	text := fmt.Sprintf("%s %v[%d+%d] %v", access, bd.Buffer, bd.Offset, bd.Size, bd.Format)
	if i, ok := bd.Of.Input(); ok {
		text += fmt.Sprintf(" in%d", i)
	} else if i, ok := bd.Of.Output(); ok {
		text += fmt.Sprintf(" out%d", i)
	}
	if bd.At != 0 {
		text += fmt.Sprintf("+%d", bd.At)
	}
	return text
}
