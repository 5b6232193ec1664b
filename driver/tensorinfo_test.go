package driver_test

import (
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// portsModel has inputs and outputs of each kind: needed and optional, of one scale and of one a channel, without a name.
func portsModel() *nn.Model {
	var b nn.Builder
	x := b.Input(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 0.5, 7)
	order := b.Input(nn.TensorInt32, nn.Dims{0}, 0, 0)
	filter := b.Input(nn.TensorQuant8PerChannel, nn.Dims{2, 2}, 0, 0)
	y := b.Temp(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 0.5, 7)
	z := b.Temp(nn.TensorQuant8Asymm, nn.Dims{3, 2}, 0.5, 7)
	real := b.Temp(nn.TensorFloat32, nil, 0, 0) // its dimensions follow
	b.Op(nn.OpAdd, []uint32{x, b.Const(nn.TensorQuant8Asymm, nn.Dims{1}, 1, 0, []byte{3}), b.Scalar(nn.ActNone)}, []uint32{y})
	b.Op(nn.OpTranspose, []uint32{y, order}, []uint32{z})
	b.Op(nn.OpDequantize, []uint32{filter}, []uint32{real})
	b.Output(z)
	b.Output(real)
	b.Name(filter, "filter \xff")
	b.Name(x, "image")
	b.Name(z, "image")
	m := nntest.Build(&b)
	m.Main.Operands[filter].Channel = &nn.ChannelQuant{Scales: []float32{0.1, 1e-30}, ChannelDim: 1}
	return m
}

// TestInputsAndOutputs: a model says the same of them however it was prepared, and belongs to nobody who changes what
// it said.
func TestInputsAndOutputs(t *testing.T) {
	inputs := func() []driver.TensorInfo {
		return []driver.TensorInfo{
			{Name: "image", Operand: nn.Operand{Type: nn.TensorQuant8Asymm, Dims: nn.Dims{2, 3}, Scale: 0.5, ZeroPoint: 7, Lifetime: nn.SubgraphInput}},
			{Operand: nn.Operand{Type: nn.TensorInt32, Dims: nn.Dims{0}, Lifetime: nn.SubgraphInput}, Optional: true},
			{Name: "filter \xff", Operand: nn.Operand{
				Type: nn.TensorQuant8PerChannel, Dims: nn.Dims{2, 2}, Lifetime: nn.SubgraphInput,
				Channel: &nn.ChannelQuant{Scales: []float32{0.1, 1e-30}, ChannelDim: 1},
			}},
		}
	}
	outputs := func() []driver.TensorInfo {
		return []driver.TensorInfo{
			{Name: "image", Operand: nn.Operand{Type: nn.TensorQuant8Asymm, Dims: nn.Dims{3, 2}, Scale: 0.5, ZeroPoint: 7, Lifetime: nn.SubgraphOutput}},
			{Operand: nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{2, 2}, Lifetime: nn.SubgraphOutput}},
		}
	}
	var warned atomic.Int32
	c := openStoring(t, &storing{}, cacheOptions(t, &warned))
	files := [2][]*os.File{cacheFile(t, "model"), cacheFile(t, "data")}
	for _, tc := range []struct {
		name    string
		prepare func(m *nn.Model) (*driver.PreparedModel, error)
	}{
		{"fresh", func(m *nn.Model) (*driver.PreparedModel, error) {
			return c.PrepareModel(t.Context(), m, driver.WithCacheFiles(cache.Token{1}, files[0], files[1]))
		}},
		{"delayed", func(m *nn.Model) (*driver.PreparedModel, error) {
			return c.PrepareModel(t.Context(), m, driver.WithDelayedCompilation())
		}},
		{"from the cache", func(*nn.Model) (*driver.PreparedModel, error) {
			return c.PrepareModelFromCache(t.Context(), cache.Token{1}, files[0], files[1])
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := portsModel()
			pm, err := tc.prepare(m)
			require.NoError(t, err)
			for range 2 {
				in, out := pm.Inputs(), pm.Outputs()
				require.Equal(t, inputs(), in)
				require.Equal(t, outputs(), out)
				in[0].Dims[0], in[0].Name, in[2].Channel.Scales[0], in[2].Channel.ChannelDim, out[1].Dims[1] = 9, "", 9, 9, 9
				m.Names.Inputs[0], m.Names.Outputs[0] = "changed", "changed"
			}
			require.NoError(t, pm.Close())
			require.Equal(t, inputs(), pm.Inputs())
		})
	}
	require.Zero(t, warned.Load())
}
