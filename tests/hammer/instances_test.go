package hammer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// edgesModel is a 3x3 convolution of one channel with all weights 1 and SAME padding, of an image [1, h, w, 1].
func edgesModel(t *testing.T, h, w uint32) *nn.Model {
	t.Helper()
	var b layers.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{1, h, w, 1}, 0, 0)
	ones := make([]float32, 9)
	for i := range ones {
		ones[i] = 1
	}
	one := b.Scalar(1)
	filter, bias := b.Floats(nn.Dims{1, 3, 3, 1}, ones...), b.Floats(nn.Dims{1}, 0)
	y := b.Apply(nn.OpConv2D, []uint32{x, filter, bias, b.Scalar(nn.PaddingSame), one, one, b.Scalar(nn.ActNone)})
	b.Output(y)
	m, err := b.Build()
	require.NoError(t, err)
	return m
}

// TestManySizes: executions of one template with sizes in random order keep within the number of instances in the client's
// account and in the device's, leave nothing behind, and are right. 1,000 of 50 sizes with NNGPU_SOAK=1, else 150 of 24.
func TestManySizes(t *testing.T) {
	runs, sizes := 150, uint32(24)
	if os.Getenv("NNGPU_SOAK") == "1" && !nntest.Raced {
		runs, sizes = 1000, 50
	}
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		m := edgesModel(t, 5, 7)
		for i := range m.Main.Operands {
			if o := &m.Main.Operands[i]; o.Lifetime == nn.SubgraphInput || o.Lifetime == nn.SubgraphOutput {
				o.Dims = nil
			}
		}
		const kept = 8
		pm, err := client.PrepareModel(t.Context(), m, driver.WithInstances(kept))
		require.NoError(t, err)
		before := d.Metrics().Memory.Used
		random := rand.New(rand.NewPCG(7, 9))
		var largest, used int64
		var heap runtime.MemStats
		var start uint64
		for n := range runs {
			h, w := 1+random.Uint32N(sizes), uint32(113)
			in, out := make([]float32, h*w), make(nn.HostMemory, 4*h*w)
			for i := range in {
				in[i] = 1
			}
			res, err := pm.Execute(t.Context(), &nn.Request{
				Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: 4 * h * w}, Dims: nn.Dims{1, h, w, 1}}},
				Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: 4 * h * w}}},
				Pools:   []nn.Memory{nn.HostMemory(nn.Bytes(in)), out},
			})
			require.NoError(t, err)
			require.Equal(t, nn.Dims{1, h, w, 1}, res.Shapes[0].Dims)
			values, err := nn.Values[float32](out)
			require.NoError(t, err)
			for i, v := range values {
				y, x := uint32(i)/w, uint32(i)%w
				want := float32((min(y+1, h-1) - max(y, 1) + 2) * (min(x+1, w-1) - max(x, 1) + 2))
				require.Equal(t, want, v, "%d of %dx%d", i, h, w)
			}
			s := pm.Stats()
			largest = max(largest, s.ArenaBytes+s.WeightBytes)
			require.LessOrEqual(t, len(pm.Instances()), kept)
			require.LessOrEqual(t, client.Memory(), kept*largest)
			used = max(used, d.Metrics().Memory.Used-before)
			if n == runs/2 {
				runtime.GC()
				runtime.ReadMemStats(&heap)
				start = heap.HeapAlloc
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&heap)
		require.Less(t, heap.HeapAlloc, start+4<<20, "the heap grows")
		t.Logf("%d bytes of the device at most, the largest instance has %d, the heap grew by %d bytes in the second half",
			used, largest, int64(heap.HeapAlloc)-int64(start))
		require.NoError(t, pm.Close())
		require.Zero(t, client.Memory())
		require.LessOrEqual(t, d.Metrics().Memory.Used, before+1<<20, "nothing stays but what the device keeps for others")
	})
}

// TestInstancesShareWeights: what does not depend on sizes is on the device once, until the last instance goes.
func TestInstancesShareWeights(t *testing.T) {
	const units, width = 256, 1024
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		var b nn.Builder
		x, y := b.Input(nn.TensorFloat32, nn.Dims{0, width}, 0, 0), b.Temp(nn.TensorFloat32, nil, 0, 0)
		values := make([]float32, units*width)
		for i := range values {
			values[i] = float32(i%7) - 3
		}
		b.Op(nn.OpFullyConnected, []uint32{
			x, b.Floats(nn.Dims{units, width}, values...), b.Floats(nn.Dims{units}, make([]float32, units)...), b.Scalar(nn.ActNone),
		}, []uint32{y})
		b.Output(y)
		pm, err := client.PrepareModel(t.Context(), nntest.Build(&b), driver.WithInstances(2))
		require.NoError(t, err)
		used := func() int64 { return d.Metrics().Memory.Used }
		execute := func(rows uint32) error {
			in, out := make([]float32, rows*width), make(nn.HostMemory, 4*rows*units)
			for i := range in {
				in[i] = float32(i % 3)
			}
			_, err := pm.Execute(t.Context(), &nn.Request{
				Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: 4 * rows * width}, Dims: nn.Dims{rows, width}}},
				Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: 4 * rows * units}}},
				Pools:   []nn.Memory{nn.HostMemory(nn.Bytes(in)), out},
			})
			got, verr := nn.Values[float32](out)
			for i := 0; i < len(got) && err == nil; i += 17 {
				row, unit := i/units, i%units
				var want float32
				for k := range width {
					want += float32((row*width+k)%3) * values[unit*width+k]
				}
				if got[i] != want {
					err = fmt.Errorf("[%d, %d] of %d rows is %v instead of %v", row, unit, rows, got[i], want)
				}
			}
			return errors.Join(err, verr)
		}
		run := func(rows uint32) {
			t.Helper()
			require.NoError(t, execute(rows))
		}
		before := used()
		run(16)
		first := used() - before
		require.Greater(t, first, int64(4*units*width), "the weights of one")
		run(24)
		require.Less(t, used()-before, first+2*units*width, "one more instance is less than half of the weights")
		run(32) // the first one goes, which had them first
		run(24)
		run(16)
		require.Less(t, used()-before, first+2*units*width)
		var all sync.WaitGroup
		for k := range uint32(4) {
			all.Go(func() {
				for n := range uint32(6) {
					if err := execute(8 * (1 + (5*n+k)%6)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		require.NoError(t, pm.Close())
		require.LessOrEqual(t, used(), before+1<<20)
	})
}
