package gpu

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// TestGivenUp: an executable is given up after its first pipelines, or after these were warmed up, with nothing left
// behind but them.
func TestGivenUp(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		for after := range 2 {
			b := openBackend(t, selector, Options{})
			d, m, facts := b.devices.now(), network(t, lostNetwork), b.current()
			p, weights, err := compile.Model(t.Context(), &facts, m, nil)
			require.NoError(t, err)
			list := p.Pipelines()
			slices.SortFunc(list, func(x, y plan.Pipeline) int { return len(x.Kernel.SPIRV()) - len(y.Kernel.SPIRV()) })
			first := list[:2]
			calls := 0
			_, err = vulkan.NewExecutableFrom(t.Context(), d, p, weights, vulkan.ExecutableOptions{
				First: first,
				GoOn: func(perUnit time.Duration, left float64) bool {
					require.Positive(t, perUnit)
					require.Positive(t, left)
					require.Zero(t, d.Unmade(first))
					if calls == 0 {
						require.InEpsilon(t, left, d.Unmade(list), 1e-9, "they come first")
					}
					calls++
					return calls <= after
				},
			})
			require.ErrorIs(t, err, vulkan.ErrGivenUp)
			require.Equal(t, after+1, calls)
			require.Equal(t, after == 0, d.Unmade(list) > 0)
			used, _, _ := d.Memory()
			require.Zero(t, used)

			x, err := b.Compile(t.Context(), m, backend.Options{})
			require.NoError(t, err)
			require.Zero(t, d.Unmade(list))
			compute(t, x, m, bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2))))
			require.NoError(t, x.Close())
		}
	}
}

// TestPause: it is asked before each pipeline that the device does not have, and ends the compilation.
func TestPause(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		b := openBackend(t, selector, Options{})
		m := network(t, lostNetwork)
		stop := errors.New("stop")
		for _, limit := range []int32{0, 1, 3} {
			var calls atomic.Int32
			_, err := b.Compile(t.Context(), m, backend.Options{Pause: func(context.Context) error {
				if calls.Add(1) > limit {
					return stop
				}
				return nil
			}})
			require.ErrorIs(t, err, stop)
			require.Equal(t, limit+1, calls.Load())
		}
		var calls atomic.Int32
		count := backend.Options{Pause: func(context.Context) error { calls.Add(1); return nil }}
		x, err := b.Compile(t.Context(), m, count)
		require.NoError(t, err)
		require.GreaterOrEqual(t, int(calls.Load()), x.Stats().Pipelines)
		require.NoError(t, x.Close())
		calls.Store(0)
		x, err = b.Compile(t.Context(), m, count)
		require.NoError(t, err)
		require.Zero(t, calls.Load(), "the device has them all")
		require.NoError(t, x.Close())
	}
}
