package driver

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/null"
)

// benchModel is z = x + y of 8-bit tensors [2, 3].
func benchModel() *nn.Model {
	var b nn.Builder
	x, y := b.Input(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 1, 0), b.Input(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 1, 0)
	z := b.Temp(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 1, 0)
	b.Op(nn.OpAdd, []uint32{x, y, b.Scalar(0)}, []uint32{z})
	b.Output(z)
	m := nntest.Build(&b)
	m.Pools = []nn.Memory{make(nn.HostMemory, 100)}
	return m
}

// BenchmarkBind is what the driver does for a request over host memory, without the execution.
func BenchmarkBind(b *testing.B) {
	at := func(pool uint32) nn.RequestArgument {
		return nn.RequestArgument{Location: nn.Location{PoolIndex: pool, Length: 6}}
	}
	r := &nn.Request{
		Inputs: []nn.RequestArgument{at(0), at(1)}, Outputs: []nn.RequestArgument{at(2)},
		Pools: []nn.Memory{make(nn.HostMemory, 6), make(nn.HostMemory, 6), make(nn.HostMemory, 6)},
	}
	d := NewDevice(&null.Backend{}, WithCache(CacheOptions{Off: true}))
	defer d.Close()
	c, err := d.NewClient("bench")
	require.NoError(b, err)
	p, err := c.PrepareModel(context.Background(), benchModel())
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		a := newExecution(p, r)
		if err := a.b.start(context.Background(), a); err != nil {
			b.Fatal(err)
		}
		_ = a.b.finish(nil)
		a.b.release()
	}
}
