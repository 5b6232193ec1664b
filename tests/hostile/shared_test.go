//go:build linux

package hostile

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/memory"
)

// rowBytes is the size of a row of growModel.
const rowBytes = 256

// growModel is y = PAD(x) of x [1, 64], whose amounts lie in a pool: the third is how many rows come after x.
func growModel(amounts nn.Memory) *nn.Model {
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{1, rowBytes / 4}, 0, 0)
	pads := b.Const(nn.TensorInt32, nn.Dims{2, 2}, 0, 0, make([]byte, 16))
	y := b.Temp(nn.TensorFloat32, nn.Dims{0, rowBytes / 4}, 0, 0)
	b.Op(nn.OpPad, []uint32{x, pads}, []uint32{y})
	b.Output(y)
	m := nntest.Build(&b)
	o := &m.Main.Operands[pads]
	o.Lifetime, o.Location = nn.ConstantReference, nn.Location{Length: o.Location.Length}
	m.Values, m.Pools = nil, []nn.Memory{amounts}
	return m
}

// ashmem is memory that others can write, closed with the test, and its bytes.
func ashmem(t *testing.T, size int64) (*memory.Mapped, []byte) {
	t.Helper()
	p, err := memory.NewAshmem("nngpu-test", size)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	data, err := p.Bytes()
	require.NoError(t, err)
	return p, data
}

// canary runs growModel into the middle of a pool that is used in place. All but the output that is reported must stay
// as it was.
type canary struct {
	pool *memory.Mapped
	data []byte
}

const (
	canaryPool = 1 << 16
	canaryAt   = 8192
)

func (c *canary) run(t *testing.T, pm *driver.PreparedModel) nn.Status {
	t.Helper()
	for i := range c.data {
		c.data[i] = 0xc5
	}
	x := bytes.Repeat([]byte{0x3f}, rowBytes)
	res, err := pm.Execute(t.Context(), &nn.Request{
		Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: rowBytes}}},
		Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Offset: canaryAt, Length: rowBytes}}},
		Pools:   []nn.Memory{nn.HostMemory(x), c.pool},
	})
	status, written := nn.StatusOf(err), 0
	if status == nn.StatusNone {
		require.Equal(t, nn.Dims{1, rowBytes / 4}, res.Shapes[0].Dims)
		require.Zero(t, res.Traffic.Copied-rowBytes, "the output is in place")
		require.Equal(t, x, c.data[canaryAt:canaryAt+rowBytes])
		written = rowBytes
	}
	for i, v := range c.data {
		if v != 0xc5 && (i < canaryAt || i >= canaryAt+written) {
			t.Fatalf("%v: byte %d of the pool was written, the output is at [%d, %d)", status, i, canaryAt, canaryAt+written)
		}
	}
	return status
}

// TestConstantsChangeLater: a client that changes a parameter in shared memory after its model was checked gets what was
// checked, and nothing behind its output is written.
func TestConstantsChangeLater(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		var c canary
		c.pool, c.data = ashmem(t, canaryPool)
		for name, opts := range map[string][]driver.Option{
			"at once": nil, "delayed": {driver.WithDelayedCompilation()}, "staged": {driver.WithStagedCompilation(1)},
			"both": {driver.WithDelayedCompilation(), driver.WithStagedCompilation(1)},
		} {
			client, err := d.NewClient("hostile")
			require.NoError(t, err)
			pool, amounts := ashmem(t, 16)
			pm, err := client.PrepareModel(t.Context(), growModel(pool), opts...)
			require.NoError(t, err)
			amounts[4] = 15
			for range 5 {
				require.Equal(t, nn.StatusNone, c.run(t, pm), name)
			}
			require.NoError(t, client.Close())
		}
	})
}

// TestConstantsChangeMeanwhile: one who writes to it all the time gets one model or the other.
func TestConstantsChangeMeanwhile(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient("hostile")
		require.NoError(t, err)
		pool, amounts := ashmem(t, 16)
		stop := make(chan struct{})
		var writing sync.WaitGroup
		defer writing.Wait()
		defer close(stop)
		writing.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					amounts[4] = byte(i % 2 * 15)
				}
			}
		})
		var c canary
		c.pool, c.data = ashmem(t, canaryPool)
		seen := map[nn.Status]int{}
		for i := range 200 {
			var opts []driver.Option
			if i%2 == 1 {
				opts = append(opts, driver.WithDelayedCompilation())
			}
			pm, err := client.PrepareModel(t.Context(), growModel(pool), opts...)
			require.NoError(t, err)
			seen[c.run(t, pm)]++
			require.NoError(t, pm.Close())
		}
		require.Len(t, seen, 2, "%v", seen)
		require.Positive(t, seen[nn.StatusNone])
		require.Positive(t, seen[nn.StatusOutputInsufficientSize])
	})
}
