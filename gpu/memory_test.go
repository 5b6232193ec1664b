package gpu

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// reluModel is y = relu(x) of n floats.
func reluModel(n uint32) *nn.Model {
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{n}, 0, 0)
	y := b.Temp(nn.TensorFloat32, nn.Dims{n}, 0, 0)
	b.Op(nn.OpRelu, []uint32{x}, []uint32{y})
	b.Output(y)
	return nntest.Build(&b)
}

// matrixModel is y = w x of one row of k floats, with k times n constant weights.
func matrixModel(k, n uint32) *nn.Model {
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{1, k}, 0, 0)
	w := b.Const(nn.TensorFloat32, nn.Dims{n, k}, 0, 0, make([]byte, 4*n*k))
	bias := b.Const(nn.TensorFloat32, nn.Dims{n}, 0, 0, make([]byte, 4*n))
	y := b.Temp(nn.TensorFloat32, nn.Dims{1, n}, 0, 0)
	b.Op(nn.OpFullyConnected, []uint32{x, w, bias, b.Scalar(0)}, []uint32{y})
	b.Output(y)
	return nntest.Build(&b)
}

// runRelu prepares and runs reluModel(len(x)) and closes it again.
func runRelu(c *driver.Client, x []float32) ([]float32, error) {
	ctx := context.Background()
	m, err := c.PrepareModel(ctx, reluModel(uint32(len(x))))
	if err != nil {
		return nil, err
	}
	var in []byte
	for _, v := range x {
		in = binary.LittleEndian.AppendUint32(in, math.Float32bits(v))
	}
	out := m.NewOutputs()
	if _, err := m.Run(ctx, [][]byte{in}, out); err != nil {
		return nil, err
	}
	y := make([]float32, len(x))
	for i := range y {
		y[i] = math.Float32frombits(binary.LittleEndian.Uint32(out[0][4*i:]))
	}
	return y, m.Close()
}

func TestModelBeyondBudget(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			vktest.Open(t, selector, vulkan.Options{}) // or skip
			const budget = 1 << 18
			b, err := Open(selector, Options{MemoryBudget: budget})
			require.NoError(t, err)
			dev := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
			defer dev.Close()
			client, err := dev.NewClient("test")
			require.NoError(t, err)
			for range 3 {
				for name, m := range map[string]*nn.Model{
					"tensors": reluModel(budget / 4), "tensors that fit one by one": reluModel(budget / 8), "weights": matrixModel(257, 263),
				} {
					_, err := client.PrepareModel(t.Context(), m)
					require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(err), "%s: %v", name, err)
					used, peak, limit := b.device.Memory()
					require.Zero(t, used, name)
					require.LessOrEqual(t, peak, limit)
					require.Equal(t, int64(budget), limit)
				}
				// The caller's budget is tighter than the device's.
				_, err := b.Compile(t.Context(), matrixModel(64, 64), backend.Options{MemoryBudget: 1 << 12})
				require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(err), err)
				// What fits still runs.
				y, err := runRelu(client, []float32{-1, 0, 2.5, -0.5, 7})
				require.NoError(t, err)
				require.Equal(t, []float32{0, 0, 2.5, 0, 7}, y)
			}
			used, _, _ := b.device.Memory()
			require.Zero(t, used)
		})
	}
}

// TestWeightsBeyondBudget: weights are refused while they are packed, many that are made of overlapping constants too.
func TestWeightsBeyondBudget(t *testing.T) {
	const count, units = 64, 64
	var mb nn.Builder
	x := mb.Input(nn.TensorFloat32, nn.Dims{1, units}, 0, 0)
	bias := mb.Floats(nn.Dims{units}, make([]float32, units)...)
	pool := make(nn.HostMemory, 4*(units*units+count))
	for i := range count + units*units {
		binary.LittleEndian.PutUint32(pool[4*i:], uint32(i*i))
	}
	mb.Pool(pool)
	for i := range count {
		w := mb.Reference(nn.TensorFloat32, nn.Dims{units, units}, 0, 0, nn.Location{Offset: uint32(4 * i), Length: 4 * units * units})
		y := mb.Temp(nn.TensorFloat32, nn.Dims{1, units}, 0, 0)
		mb.Op(nn.OpFullyConnected, []uint32{x, w, bias, mb.Scalar(0)}, []uint32{y})
		mb.Output(y)
	}
	m := nntest.Build(&mb)
	require.NoError(t, validate.Model(m))
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			vktest.Open(t, selector, vulkan.Options{}) // or skip
			b := openBackend(t, selector, Options{MemoryBudget: 4 << 20})
			refused := func(status nn.Status, o backend.Options) {
				t.Helper()
				_, err := b.Compile(t.Context(), m, o)
				require.Equal(t, status, nn.StatusOf(err), "%v", err)
				require.ErrorContains(t, err, "FULLY_CONNECTED") // by the compiler
			}
			for _, quick := range []bool{false, true} {
				refused(nn.StatusResourceExhaustedPersistent, backend.Options{MemoryBudget: 1 << 17, Quick: quick})
				exe, err := b.Compile(t.Context(), m, backend.Options{Quick: quick})
				require.NoError(t, err)
				require.NoError(t, exe.Close())
				other, err := b.Allocate(nn.TensorFloat32, nn.Dims{7 << 17}, 0) // all but half a MiB
				require.NoError(t, err)
				refused(nn.StatusResourceExhaustedTransient, backend.Options{Quick: quick})
				require.NoError(t, other.Close())
			}
			used, _, _ := b.device.Memory()
			require.Zero(t, used)
		})
	}
}

func openFiles(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

// TestRoundsLeaveNothing opens, prepares, runs and closes many times: neither device memory nor file
// descriptors may be left.
func TestRoundsLeaveNothing(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			vktest.Open(t, selector, vulkan.Options{}) // or skip
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			t.Setenv("NNGPU_VALIDATION", "0") // the layers take most of the time
			const rounds, settled = 200, 10
			var files int
			for round := range rounds {
				b, err := Open(selector, Options{})
				require.NoError(t, err)
				dev := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
				client, err := dev.NewClient("test")
				require.NoError(t, err)
				y, err := runRelu(client, []float32{-1, 0, 2.5, -0.5, float32(round)})
				require.NoError(t, err)
				require.Equal(t, []float32{0, 0, 2.5, 0, float32(round)}, y)
				used, peak, _ := b.device.Memory()
				require.Zero(t, used)
				require.NotZero(t, peak)
				require.NoError(t, dev.Close())
				if round == settled { // libraries and caches are open now
					files = openFiles(t)
				}
			}
			require.LessOrEqual(t, openFiles(t), files)
		})
	}
}
