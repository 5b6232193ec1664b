package vulkan_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

func TestTimes(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		for _, timing := range []vulkan.Timing{vulkan.TimingUsual, vulkan.TimingDevice} {
			t.Run(fmt.Sprint(selector, timing), func(t *testing.T) {
				const n, segments = 1 << 18, 3
				x := newExecutable(t, vktest.Open(t, selector, vulkan.Options{Timing: timing}), absPlan(n, segments), vulkan.ExecutableOptions{})
				begin := time.Now()
				e, err := x.BeginRun(context.Background(), [][]byte{floats(n, 1)}, [][]byte{nil})
				require.NoError(t, err)
				require.Zero(t, e.DeviceTime())
				f, err := e.Submit(0, segments)
				require.NoError(t, err)
				require.NoError(t, f.Wait(context.Background()))
				wall := time.Since(begin)
				require.NoError(t, e.Finish())
				require.Positive(t, e.DeviceTime())
				require.LessOrEqual(t, e.DeviceTime(), wall)
				if timing == vulkan.TimingDevice {
					require.Len(t, e.SegmentTimes(), segments)
				}
				t.Logf("wall %v, device %v, segments %v", wall, e.DeviceTime(), e.SegmentTimes())
				e.Release()
				require.Zero(t, e.DeviceTime())
			})
		}
	}
}

// TestMemoryIsClear reads an arena that nothing wrote, after other executables had dirty ones; with
// NNGPU_POISON it holds NaN instead.
func TestMemoryIsClear(t *testing.T) {
	for _, poison := range []string{"", "1"} {
		t.Run("poison="+poison, func(t *testing.T) {
			t.Setenv("NNGPU_POISON", poison)
			vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
				const n = 1 << 14
				p := absPlan(n, 1)
				p.Steps, p.Segments = p.Steps[1:], []int{1} // only the copy from the arena
				for range 3 {
					dirty, err := vulkan.NewExecutable(context.Background(), d, absPlan(n, 2), nil, vulkan.ExecutableOptions{})
					require.NoError(t, err)
					in, out := floats(n, 1), make([]byte, 4*n)
					require.NoError(t, runOnce(context.Background(), dirty, in, out))
					require.NoError(t, wantAbs(in, out))
					require.NoError(t, dirty.Close())
					clean := newExecutable(t, d, p, vulkan.ExecutableOptions{})
					require.NoError(t, runOnce(context.Background(), clean, in, out))
					for i := range int64(n) {
						if bits := math.Float32bits(at(out, i)); poison == "" && bits != 0 || poison == "1" && bits != 0xffffffff {
							t.Fatalf("word %d is %#x", i, bits)
						}
					}
				}
			})
		})
	}
}

// TestWeights copies the weights, of awkward sizes, to the output.
func TestWeights(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		for _, n := range []int64{4, 252, 260, 1 << 20} {
			weights := make([]byte, n)
			for i := range n / 4 {
				binary.LittleEndian.PutUint32(weights[4*i:], uint32(i*2654435761))
			}
			p := absPlan(4, 1)
			p.WeightBytes, p.HostBytes = n, align(n)
			p.Inputs, p.Outputs = nil, []plan.IO{{Name: "w", Size: n, DeviceBytes: n}}
			p.Steps, p.Segments = p.Steps[1:], []int{1}
			p.Steps[0].Bindings = []plan.Binding{
				{Buffer: plan.Weights, Size: n}, {Buffer: plan.Host, Size: n, Write: true},
			}
			x, err := vulkan.NewExecutable(context.Background(), d, p, weights, vulkan.ExecutableOptions{})
			require.NoError(t, err)
			e, err := x.BeginRun(context.Background(), nil, [][]byte{make([]byte, n)})
			require.NoError(t, err)
			e.Release()
			out := make([]byte, n)
			e, err = x.BeginRun(context.Background(), nil, [][]byte{out})
			require.NoError(t, err)
			f, err := e.Submit(0, 1)
			require.NoError(t, err)
			require.NoError(t, f.Wait(context.Background()))
			require.NoError(t, e.Finish())
			e.Release()
			require.Equal(t, weights, out)
			require.NoError(t, x.Close())
		}
	})
}
