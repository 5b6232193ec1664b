package hammer

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/memory"
)

// TestOpenRunClose: rounds of client, model, buffers, pool and burst leave nothing behind: no device memory, no
// descriptor, no goroutine, and no resident memory that goes on growing. 10,000 rounds with NNGPU_SOAK=1.
func TestOpenRunClose(t *testing.T) {
	rounds := 3000
	if os.Getenv("NNGPU_SOAK") == "1" {
		rounds = 10_000
	}
	t.Setenv("NNGPU_VALIDATION", "0") // the layer keeps 20 KB of each round
	m := nextModel()
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		round := func() {
			c, err := d.NewClient("round")
			require.NoError(t, err)
			defer func() {
				require.NoError(t, c.Close())
				require.Zero(t, c.Memory())
			}()
			p, err := c.PrepareModel(t.Context(), m)
			require.NoError(t, err)
			role := []driver.BufferRole{{Model: p, Probability: 1}}
			b, err := c.Allocate(driver.BufferDesc{}, nil, role)
			require.NoError(t, err)
			pool, err := memory.NewAshmem("input", 4*elements)
			require.NoError(t, err)
			defer pool.Close()
			data, err := pool.Bytes()
			require.NoError(t, err)
			copy(data, uniform(3))
			r := &nn.Request{
				Inputs: []nn.RequestArgument{inHost()}, Outputs: []nn.RequestArgument{inBuffer(1)},
				Pools: []nn.Memory{pool, b.Token()},
			}
			burst := p.Burst()
			for range 2 {
				_, err = burst.Execute(t.Context(), r, []int32{0, 1})
				require.NoError(t, err)
			}
			out := uniform(0)
			require.NoError(t, b.CopyTo(t.Context(), out))
			v, err := value(out)
			require.NoError(t, err)
			require.Equal(t, float32(4), v)
		}
		for range 50 { // caches and pools of the implementations fill
			round()
		}
		runtime.GC()
		goroutines, files, resident := runtime.NumGoroutine(), descriptors(t), residentBytes(t)
		for range rounds {
			round()
		}
		runtime.GC()
		t.Logf("%d rounds: resident memory %+.1f MB", rounds, float64(residentBytes(t)-resident)/1e6)
		require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
		require.LessOrEqual(t, descriptors(t), files)
		// The implementations keep some per allocation; a leak of ours would be at least a page a round.
		require.Less(t, residentBytes(t)-resident, int64(32<<20+rounds*4096))
	})
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

func residentBytes(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	n, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	require.NoError(t, err)
	return n * int64(os.Getpagesize())
}
