package hammer

import (
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/tests/internal/devices"
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
