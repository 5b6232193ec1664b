package plan

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/shaders"
)

func TestVerifyRefuses(t *testing.T) {
	require.NoError(t, example().Verify())
	const gemm = shaders.ConvGemmF32X8x8TexelStore // "ttsi"
	texels := func(p *Plan) {
		p.WeightBytes = 256
		p.Steps[0].Kernel = gemm
		p.Steps[0].Push = make([]uint32, gemm.Info().PushWords)
		p.Steps[0].Bindings = []Binding{
			{Buffer: Host, Size: 48, Format: FormatRGBA32F}, {Buffer: Weights, Size: 64, Format: FormatRGBA32F},
			{Buffer: Weights, Size: 64}, {Buffer: Arena, Size: 48, Write: true, Format: FormatRGBA32F},
		}
	}
	// shared makes of the first step one whose workgroups have a shape of their own.
	shared := func(p *Plan) {
		const k = shaders.ConvGemmF32SharedX32x32 // "sssss"
		p.WeightBytes = 256
		s := &p.Steps[0]
		s.Kernel, s.Local, s.Groups, s.Push = k, k.Info().Workgroup, [3]uint32{1, 3, 1}, make([]uint32, k.Info().PushWords)
		s.Bindings = []Binding{{Buffer: Host, Size: 48}, {Buffer: Weights, Size: 64}, {Buffer: Weights, Size: 64}, {Buffer: Arena, Size: 48, Write: true}, {Buffer: Weights, Size: 64}}
	}
	// blocks makes of the first step one that sees its weights as an array.
	blocks := func(p *Plan) {
		const k = shaders.ConvGemmF32BlocksX2x32 // "sssa"
		p.WeightBytes = 2048
		s := &p.Steps[0]
		s.Kernel, s.Push = k, make([]uint32, k.Info().PushWords)
		s.Bindings = []Binding{{Buffer: Host, Size: 48}, {Buffer: Weights, Size: 64}, {Buffer: Arena, Size: 48, Write: true}, {Buffer: Weights, Size: 2048, Format: FormatBlocks}}
	}
	for _, change := range []func(*Plan){texels, shared, blocks} {
		p := example()
		change(p)
		require.NoError(t, p.Verify())
		again, err := Decode(Encode(p))
		require.NoError(t, err)
		require.Equal(t, p, again)
	}
	for _, tc := range []struct {
		name string
		do   func(p *Plan)
		want string
	}{
		{"too many steps", func(p *Plan) { p.Steps = make([]Step, MaxSteps+1) }, "steps"},
		{"negative arena", func(p *Plan) { p.ArenaBytes = -1 }, "memory of"},
		{"huge weights", func(p *Plan) { p.WeightBytes = math.MaxInt64 }, "memory of"},
		{"input outside", func(p *Plan) { p.Inputs[0].Size = 513 }, "input or output"},
		{"input far outside", func(p *Plan) { p.Inputs[0].Size = math.MaxInt64 }, "input or output"},
		{"output before", func(p *Plan) { p.Outputs[0].Offset = -1 }, "input or output"},
		{"negative output", func(p *Plan) { p.Outputs[0].Size = -1 }, "input or output"},
		{"empty segment", func(p *Plan) { p.Segments = []int{1, 1, 2} }, "segments"},
		{"first segment empty", func(p *Plan) { p.Segments = []int{0, 2} }, "segment 0"},
		{"segments go back", func(p *Plan) { p.Segments = []int{2, 1} }, "segment 1"},
		{"segments end early", func(p *Plan) { p.Segments = []int{1} }, "segments end"},
		{"segments end late", func(p *Plan) { p.Segments = []int{1, 3} }, "segment 1"},
		{"too many segments", func(p *Plan) {
			p.Segments = nil
			for len(p.Steps) <= MaxSegments {
				p.Steps = append(p.Steps, p.Steps[1])
			}
			for i := range p.Steps {
				p.Segments = append(p.Segments, i+1)
			}
		}, "65537 segments, at most 65536"},
		{"no segments", func(p *Plan) { p.Segments = nil }, "segments end"},
		{"unknown kernel", func(p *Plan) { p.Steps[0].Kernel = 65535 }, "no kernel"},
		{"missing binding", func(p *Plan) { p.Steps[0].Bindings = p.Steps[0].Bindings[:1] }, "1 bindings"},
		{"missing push constants", func(p *Plan) { p.Steps[0].Push = nil }, "0 words"},
		{"push constants of a copy", func(p *Plan) { p.Steps[1].Push = []uint32{1} }, "1 words"},
		{"no workgroups", func(p *Plan) { p.Steps[0].Groups[2] = 0 }, "workgroups"},
		{"empty workgroups", func(p *Plan) { p.Steps[0].Local[0] = 0 }, "workgroups"},
		{"a wide workgroup of a flat kernel", func(p *Plan) { p.Steps[0].Local[1] = 2 }, "the kernel's are of [0 1 1]"},
		{"a deep workgroup of a flat kernel", func(p *Plan) { p.Steps[0].Local[2] = 2 }, "the kernel's are of [0 1 1]"},
		{"another shape than the kernel's", func(p *Plan) { shared(p); p.Steps[0].Local = Flat(64) }, "the kernel's are of [8 8 1]"},
		{"a larger shape than the kernel's", func(p *Plan) { shared(p); p.Steps[0].Local[0] = 16 }, "the kernel's are of [8 8 1]"},
		{"too many workgroups of a grid", func(p *Plan) { shared(p); p.Steps[0].Groups[2] = MaxGroups + 1 }, "workgroups from"},
		{"work that is no number", func(p *Plan) { p.Steps[0].FLOP = math.NaN() }, "estimated work"},
		{"endless work", func(p *Plan) { p.Steps[1].Bytes = math.Inf(1) }, "estimated work"},
		{"negative work", func(p *Plan) { p.Steps[1].Bytes = -1 }, "estimated work"},
		{"unknown memory", func(p *Plan) { p.Steps[0].Bindings[0].Buffer = 3 }, "memory 3"},
		{"empty binding", func(p *Plan) { p.Steps[0].Bindings[0].Size = 0 }, "0 bytes at"},
		{"unaligned", func(p *Plan) { p.Steps[0].Bindings[0].Offset = 16 }, "at 16"},
		{"before", func(p *Plan) { p.Steps[0].Bindings[0].Offset = -256 }, "at -256"},
		{"behind", func(p *Plan) { p.Steps[0].Bindings[0].Size = 513 }, "513 bytes"},
		{"far behind", func(p *Plan) { p.Steps[0].Bindings[0].Size = math.MaxInt64 }, "bytes at"},
		{"no weights", func(p *Plan) { p.Steps[0].Bindings[0] = Binding{Buffer: Weights, Size: 48} }, "of 0 in weights"},
		{"writes to weights", func(p *Plan) {
			p.WeightBytes = 48
			p.Steps[0].Bindings[1] = Binding{Buffer: Weights, Size: 48, Write: true}
		}, "writes to weights"},
		{"format of a storage buffer", func(p *Plan) { p.Steps[0].Bindings[0].Format = FormatR32U }, "storage buffer"},
		{"blocks outside of the weights", func(p *Plan) { blocks(p); p.ArenaBytes = 2048; p.Steps[0].Bindings[3].Buffer = Arena }, "blocks in arena"},
		{"a part of a block", func(p *Plan) { blocks(p); p.Steps[0].Bindings[3].Size = 1536 }, "1536 bytes as blocks of 1024"},
		{"more blocks than weights", func(p *Plan) { blocks(p); p.Steps[0].Bindings[3].Size = 3072 }, "3072 bytes at 0 of 2048"},
		{"blocks that are written", func(p *Plan) { blocks(p); p.Steps[0].Bindings[3].Write = true }, "writes to weights"},
		{"a storage buffer in place of blocks", func(p *Plan) { blocks(p); p.Steps[0].Bindings[3].Format = FormatNone }, "format buf for binding 'a'"},
		{"texels in place of blocks", func(p *Plan) { blocks(p); p.Steps[0].Bindings[3].Format = FormatRGBA32F }, "format rgba32f for binding 'a'"},
		{"blocks in place of a storage buffer", func(p *Plan) { blocks(p); p.Steps[0].Bindings[1].Format = FormatBlocks }, "format blocks for a storage buffer"},
		{"blocks in place of texels", func(p *Plan) { texels(p); p.Steps[0].Bindings[1].Format = FormatBlocks }, "format blocks for binding 't'"},
		{"unknown format", func(p *Plan) { p.Steps[0].Bindings[0].Format = 99 }, "format 99"},
		{"too many workgroups", func(p *Plan) { p.Steps[0].Groups[1] = MaxGroups + 1 }, "workgroups from"},
		{"workgroups that end too late", func(p *Plan) { p.Steps[0].Base[1], p.Steps[0].Groups[1] = 1, MaxGroups }, "workgroups from"},
		{"workgroups that begin too late", func(p *Plan) { p.Steps[0].Base[2] = math.MaxUint32 }, "workgroups from"},
		{"less on the device", func(p *Plan) { p.Inputs[0].DeviceBytes = 47 }, "on the device for 48"},
		{"huge on the device", func(p *Plan) { p.Inputs[0].DeviceBytes = math.MaxInt64 }, "on the device for 48"},
		{"at of nothing", func(p *Plan) { p.Steps[0].Bindings[0].Of, p.Steps[0].Bindings[0].At = 0, 256 }, "of nothing"},
		{"of an unknown input", func(p *Plan) { p.Steps[0].Bindings[0].Of = InputRef(1) }, "of input 1, which"},
		{"of an unknown output", func(p *Plan) { p.Steps[0].Bindings[0].Of = math.MinInt32 }, "which the plan lacks"},
		{"of an omitted input", func(p *Plan) { p.Inputs[0] = IO{} }, "of input 0, which"},
		{"behind an input", func(p *Plan) { p.Steps[0].Bindings[0].Size = 48; p.Steps[0].Bindings[0].At = 512 }, "48 bytes at 512"},
		{"far behind", func(p *Plan) { p.Steps[0].Bindings[0].At = math.MaxInt64 - 255 }, "bytes at"},
		{"longer than the room", func(p *Plan) { p.ArenaBytes = 1 << 20; p.Steps[0].Bindings[1].Size = 1024 }, "1024 bytes at 0"},
		{"unaligned in an input", func(p *Plan) { p.Steps[0].Bindings[0].At = 16 }, "48 bytes at 16"},
		{"before an input", func(p *Plan) { p.Steps[0].Bindings[0].At = -256 }, "48 bytes at -256"},
		{"another's place", func(p *Plan) { p.Steps[0].Bindings[0].Of = OutputRef(0) }, "lies at 0 in host"},
		{"an input among the weights", func(p *Plan) { p.WeightBytes = 48; p.Steps[0].Bindings[0].Buffer = Weights }, "in weights"},
		{"writes to an input", func(p *Plan) { p.Steps[0].Bindings[0].Write = true }, "writes to input 0"},
		{"writes to an input's device form", func(p *Plan) { p.Steps[0].Bindings[1].Of = InputRef(0) }, "writes to input 0"},
		{"writes when the input is on the device", func(p *Plan) {
			p.Steps[0].Bindings[1].Of, p.Steps[0].Transfers, p.Steps[0].When = InputRef(0), InputRef(0), WhenDevice
		}, "writes to input 0"},
		{"runs never", func(p *Plan) { p.Steps[1].When = 3 }, "runs when 3"},
		{"runs for nothing", func(p *Plan) { p.Steps[1].Transfers = 0 }, "serves none"},
		{"serves what is not there", func(p *Plan) { p.Steps[1].Transfers = OutputRef(1) }, "serves output 1"},
		{"short copy", func(p *Plan) { p.Steps[1].Bindings[0].Size = 32 }, "copy of 48 bytes from 32"},
		{"overlapping copy", func(p *Plan) { p.Steps[1].Bindings[0] = p.Steps[1].Bindings[1] }, "overlaps"},
		{"copy onto itself on the device", func(p *Plan) { p.Steps[1].When = Always }, "onto itself"},
		{"copy onto itself for another", func(p *Plan) { p.Steps[1].Transfers = InputRef(0) }, "onto itself"},
		{"copy to weights", func(p *Plan) {
			p.WeightBytes = 48
			p.Steps[1].Bindings[1] = Binding{Buffer: Weights, Size: 48}
		}, "copy to weights"},
		{"no format", func(p *Plan) { texels(p); p.Steps[0].Bindings[0].Format = FormatNone }, "no format"},
		{"format that is not stored", func(p *Plan) { texels(p); p.Steps[0].Bindings[3].Format = FormatRGBA32U }, "cannot write"},
		{"half a texel", func(p *Plan) { texels(p); p.Steps[0].Bindings[0].Size = 40 }, "as texels"},
		{"texels stored to weights", func(p *Plan) {
			texels(p)
			p.Steps[0].Bindings[3] = Binding{Buffer: Weights, Size: 64, Format: FormatRGBA32F}
		}, "writes to weights"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := example()
			tc.do(p)
			require.ErrorContains(t, p.Verify(), tc.want)
		})
	}
}
