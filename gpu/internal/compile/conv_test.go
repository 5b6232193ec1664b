package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// TestConvolutionsBecomeOthers: groups of many channels are convolutions of their own unless they are whole tiles, transposed ones
// of stride 1 have constant filters turned round, and all else stays for the kernels that can do it.
func TestConvolutionsBecomeOthers(t *testing.T) {
	model := func(in, filter nn.Dims, fed bool, apply func(b *layers.Builder, x, w, bias uint32) uint32) *nn.Model {
		var b layers.Builder
		x := b.Input(nn.TensorQuant8AsymmSigned, in, 0.5, 9)
		n, err := filter.Elements()
		require.NoError(t, err)
		scales, value := make([]float32, filter[0]), make([]byte, n)
		for i := range scales {
			scales[i] = float32(i + 1)
		}
		for i := range value {
			value[i] = byte(i)
		}
		w, bias := b.PerChannel(filter, scales, 0, value), b.Const(nn.TensorInt32, filter[:1], 0, 0, make([]byte, 4*filter[0]))
		b.Output(apply(&b, w, x, bias))
		m, err := b.Build()
		require.NoError(t, err)
		if fed {
			m.Main.Operands[w].Lifetime, m.Main.Operands[w].Location = nn.SubgraphInput, nn.Location{}
			m.Main.Inputs = append(m.Main.Inputs, w)
		}
		return m
	}
	grouped := func(n int) func(b *layers.Builder, w, x, bias uint32) uint32 {
		return func(b *layers.Builder, w, x, bias uint32) uint32 {
			return b.GroupedConv2D(x, w, bias, n, layers.Conv{Padding: nn.PaddingSame})
		}
	}
	transposed := func(stride int) func(b *layers.Builder, w, x, bias uint32) uint32 {
		return func(b *layers.Builder, w, x, bias uint32) uint32 {
			return b.TransposeConv2D(x, w, bias, nil, layers.Conv{Stride: [2]int{stride, stride}})
		}
	}
	for _, tc := range []struct {
		name       string
		in, filter nn.Dims
		fed        bool
		apply      func(b *layers.Builder, w, x, bias uint32) uint32
		want       []nn.OperationType
	}{
		{"groups", nn.Dims{1, 5, 5, 32}, nn.Dims{6, 3, 3, 16}, false, grouped(2), []nn.OperationType{nn.OpSplit, nn.OpConv2D, nn.OpConv2D, nn.OpConcatenation}},
		{"one group", nn.Dims{1, 5, 5, 3}, nn.Dims{6, 3, 3, 3}, true, grouped(1), []nn.OperationType{nn.OpConv2D}},
		{"narrow groups", nn.Dims{1, 5, 5, 30}, nn.Dims{6, 3, 3, 15}, false, grouped(2), []nn.OperationType{nn.OpGroupedConv2D}},
		{"groups of whole tiles", nn.Dims{1, 5, 5, 32}, nn.Dims{16, 3, 3, 16}, false, grouped(2), []nn.OperationType{nn.OpGroupedConv2D}},
		{"groups of an input", nn.Dims{1, 5, 5, 32}, nn.Dims{6, 3, 3, 16}, true, grouped(2), []nn.OperationType{nn.OpGroupedConv2D}},
		{"transposed", nn.Dims{1, 5, 5, 3}, nn.Dims{2, 2, 3, 3}, false, transposed(1), []nn.OperationType{nn.OpConv2D}},
		{"transposed with an input", nn.Dims{1, 5, 5, 3}, nn.Dims{2, 2, 3, 3}, true, transposed(1), []nn.OperationType{nn.OpTransposeConv2D}},
		{"transposed with a stride", nn.Dims{1, 5, 5, 3}, nn.Dims{2, 2, 3, 3}, false, transposed(2), []nn.OperationType{nn.OpTransposeConv2D}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, err := Optimised(&lavapipe, model(tc.in, tc.filter, tc.fed, tc.apply))
			require.NoError(t, err)
			var got []nn.OperationType
			for i := range g.Nodes {
				got = append(got, g.Nodes[i].Op)
			}
			require.Equal(t, tc.want, got)
			filterOf := func(i int) *ir.Tensor { return g.T(g.Nodes[i].In[1]) }
			switch tc.name {
			case "groups":
				require.Equal(t, []float32{4, 5, 6}, filterOf(2).Channel.Scales)
				require.Equal(t, byte(3*9*16%256), filterOf(2).Const[0])
			case "transposed":
				require.Equal(t, []byte{15, 16, 17, 12, 13, 14, 9, 10, 11, 6}, filterOf(0).Const[:10])
			}
		})
	}
}
