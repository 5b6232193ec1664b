package driver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/null"
	"github.com/nngpu/nngpu/memory"
)

// padModel is y = PAD(x) of x [n, 3] with n open, whose amounts lie in a pool.
func padModel(amounts nn.Memory) *nn.Model {
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{0, 3}, 0, 0)
	pads := b.Const(nn.TensorInt32, nn.Dims{2, 2}, 0, 0, padAmounts)
	y := b.Temp(nn.TensorFloat32, nil, 0, 0)
	b.Op(nn.OpPad, []uint32{x, pads}, []uint32{y})
	b.Output(y)
	m := nntest.Build(&b)
	o := &m.Main.Operands[pads]
	o.Lifetime, o.Location = nn.ConstantReference, nn.Location{Length: o.Location.Length}
	m.Values, m.Pools = nil, []nn.Memory{amounts}
	return m
}

// padAmounts is one row above.
var padAmounts = []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// TestX4ParametersInPools: the shapes of an execution follow from parameters that the model had in a pool, whatever
// became of it.
func TestX4ParametersInPools(t *testing.T) {
	kinds := map[string]func() (nn.Memory, func()){
		"mapped": func() (nn.Memory, func()) {
			p, err := memory.NewAshmem("test", 16)
			require.NoError(t, err)
			data, err := p.Bytes()
			require.NoError(t, err)
			copy(data, padAmounts)
			return p, func() { require.NoError(t, p.Close()) }
		},
		"file": func() (nn.Memory, func()) {
			p := newFile(padAmounts)
			return p, func() { p.data = nil }
		},
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			pool, gone := kind()
			_, c := open(t, &null.Backend{})
			pm := prepareOn(t, c, padModel(pool))
			gone()
			r := &nn.Request{
				Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: 24}, Dims: nn.Dims{2, 3}}},
				Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: 100}}},
				Pools:   []nn.Memory{make(nn.HostMemory, 24), make(nn.HostMemory, 100)},
			}
			res, err := pm.Execute(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, nn.Dims{3, 3}, res.Shapes[0].Dims)
		})
	}
}

// TestX4LongParametersInPools: axes may be named many times over.
func TestX4LongParametersInPools(t *testing.T) {
	const axes = 1 << 10
	p, err := memory.NewAshmem("test", 4*axes) // all zero
	require.NoError(t, err)
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{0, 3}, 0, 0)
	list := b.Const(nn.TensorInt32, nn.Dims{axes}, 0, 0, make([]byte, 4*axes))
	y := b.Temp(nn.TensorFloat32, nil, 0, 0)
	b.Op(nn.OpMean, []uint32{x, list, b.Scalar(1)}, []uint32{y})
	b.Output(y)
	m := nntest.Build(&b)
	o := &m.Main.Operands[list]
	o.Lifetime, o.Location = nn.ConstantReference, nn.Location{Length: o.Location.Length}
	m.Pools = []nn.Memory{p}
	_, c := open(t, &null.Backend{})
	pm := prepareOn(t, c, m)
	require.NoError(t, p.Close())
	r := &nn.Request{
		Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: 24}, Dims: nn.Dims{2, 3}}},
		Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: 100}}},
		Pools:   []nn.Memory{make(nn.HostMemory, 24), make(nn.HostMemory, 100)},
	}
	res, err := pm.Execute(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, nn.Dims{1, 3}, res.Shapes[0].Dims)
}
