package plan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/shaders"
)

// example is the plan in the comment of String, with one segment for each step.
func example() *Plan {
	return &Plan{
		ArenaBytes: 256, HostBytes: 512,
		Inputs:  []IO{{Name: "x", Size: 48, DeviceBytes: 48}},
		Outputs: []IO{{Offset: 256, Size: 48, DeviceBytes: 48}},
		Steps: []Step{{
			Kernel: shaders.UnaryClampF32, Local: Flat(64), Groups: [3]uint32{1, 1, 1}, Label: "RELU #0", FLOP: 12, Bytes: 96,
			Push:     []uint32{3, 1, 12, 0, 0x7f800000},
			Bindings: []Binding{{Buffer: Host, Size: 48, Of: InputRef(0)}, {Buffer: Arena, Size: 48, Write: true, Of: OutputRef(0)}},
		}, {
			Kernel: shaders.Copy, Barrier: true, Label: "output", Bytes: 96, Transfers: OutputRef(0), When: WhenDense,
			Bindings: []Binding{
				{Buffer: Arena, Size: 48, Of: OutputRef(0)}, {Buffer: Host, Offset: 256, Size: 48, Write: true, Of: OutputRef(0)},
			},
		}},
		Segments: []int{1, 2},
	}
}

func TestStringShowsEveryStep(t *testing.T) {
	want := `arena 256  weights 0  host 512
input 0 "x" host[0+48]
output 0 "" host[256+48]
segment 0
  0   unary_clamp_f32  1x1x1 of 64  r host[0+48] buf in0  w arena[0+48] buf out0  RELU #0  12 flop, 96 bytes
segment 1
  1 | copy             r arena[0+48] buf out0  w host[256+48] buf out0  output  unless output 0 is on the device  0 flop, 96 bytes
`
	require.Equal(t, want, example().String())
}

func TestStringOfOddPlans(t *testing.T) {
	require.Equal(t, "arena 0  weights 0  host 0\n", (&Plan{}).String())
	require.Equal(t, "arena 0  weights 0  host 0\ninput 0 \"\" omitted\n", (&Plan{Inputs: []IO{{}}, Segments: []int{0}}).String())
	p := example()
	p.Segments = []int{2}
	require.Equal(t, 1, strings.Count(p.String(), "segment"))
	p.Steps[0].Bindings[0] = Binding{Buffer: Weights, Format: FormatRGBA32U, Offset: 512, Size: 32}
	require.Contains(t, p.String(), "r weights[512+32] rgba32ui")
	p.Steps[0].Base = [3]uint32{7, 0, 1}
	p.Steps[1].Transfers, p.Steps[1].When, p.Steps[1].Bindings[0].At = InputRef(3), WhenDevice, 512
	require.Contains(t, p.String(), "1x1x1 of 64 from 7,0,1")
	require.Contains(t, p.String(), "r arena[0+48] buf out0+512")
	require.Contains(t, p.String(), "if input 3 is on the device")
}

func TestPipelinesAreDistinctAndInOrder(t *testing.T) {
	p := example()
	again := p.Steps[0]
	again.Local[0] = 32
	p.Steps = append(p.Steps, again, p.Steps[0], p.Steps[1])
	require.Equal(t, []Pipeline{{shaders.UnaryClampF32, Flat(64)}, {shaders.UnaryClampF32, Flat(32)}}, p.Pipelines())
	require.Equal(t, 36.0, p.FLOP())
}

func TestTexelBytesOfEveryFormat(t *testing.T) {
	for f, want := range map[Format]int64{
		FormatNone: 0, FormatRGBA32F: 16, FormatRGBA32U: 16, FormatR32U: 4, FormatRG32U: 8,
	} {
		require.Equal(t, want, f.TexelBytes(), f)
	}
}
