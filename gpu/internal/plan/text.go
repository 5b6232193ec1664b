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
//	  0   unary_clamp_f32  1x1x1 of 64  r host[0+48] buf  w arena[0+48] buf  RELU #0  12 flop, 96 bytes
//	  1 | copy             r arena[0+48] buf  w host[256+48] buf  output  0 flop, 96 bytes
//
// A step's line has its index, "|" where a barrier comes before it, the kernel by its name, the workgroups and
// their size, the bindings as r (read) or w (written) memory[offset+size] format, the label, and the work that
// the estimate of its time counts. Push constants and weights are left out.
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
		parts = append(parts, fmt.Sprintf("%dx%dx%d of %d", s.Groups[0], s.Groups[1], s.Groups[2], s.LocalX))
	}
	for _, bd := range s.Bindings {
		parts = append(parts, bd.String())
	}
	if s.Label != "" {
		parts = append(parts, s.Label)
	}
	return strings.Join(append(parts, fmt.Sprintf("%.0f flop, %.0f bytes", s.FLOP, s.Bytes)), "  ")
}

// String is the access, range and format of a binding: "r weights[256+1024] rgba32f".
func (bd Binding) String() string {
	access := "r"
	if bd.Write {
		access = "w"
	}
	return fmt.Sprintf("%s %v[%d+%d] %v", access, bd.Buffer, bd.Offset, bd.Size, bd.Format)
}
