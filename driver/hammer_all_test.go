package driver_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// TestHammerEverything: all forms of execution, kinds of pools and ways to prepare, while the device is lost, waits are
// given up, and whatever is in use is closed, the client last. Nothing may crash, hang, or stay behind.
func TestHammerEverything(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	for round := range 10 {
		b := &null.Backend{Segments: 3, SegmentTime: time.Microsecond, Weights: 100, Compute: func(in, out [][]byte) error {
			copy(out[0], in[0])
			return nil
		}}
		d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
		c, err := d.NewClient("hammer", driver.WithClientBudget(int64(500+round*200)))
		require.NoError(t, err)
		var wg sync.WaitGroup
		for g := range 6 {
			wg.Go(func() {
				h := &hammered{rng: rand.New(rand.NewPCG(uint64(round), uint64(g))), b: b, c: c}
				for range 30 {
					h.strike()
				}
				h.pending.Wait()
			})
		}
		if round%2 == 0 {
			wg.Go(func() {
				time.Sleep(time.Millisecond)
				_ = c.Close()
			})
		}
		wg.Wait()
		require.NoError(t, c.Close())
		require.Zero(t, c.Memory())
		require.Zero(t, b.Used())
		require.NoError(t, d.Close())
		calls := b.Calls()
		require.Equal(t, "close", calls[len(calls)-1])
		require.Equal(t, count(calls, "allocate")+count(calls, "import"), count(calls, "free memory"))
	}
	for end := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > goroutines; time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(end), "%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
	}
}

// hammered is one of those who strike.
type hammered struct {
	rng     *rand.Rand
	b       *null.Backend
	c       *driver.Client
	pending sync.WaitGroup
}

// strike prepares a model, runs it in several ways, and closes it in the midst of that. Errors are what they are.
func (h *hammered) strike() {
	ctx, cancel := context.WithCancel(context.Background())
	defer h.pending.Wait()
	defer cancel()
	options := [][]driver.Option{nil, {driver.WithDelayedCompilation()}, {driver.WithStagedCompilation(1)},
		{driver.WithDelayedCompilation(), driver.WithStagedCompilation(0)}}[h.rng.IntN(4)]
	pm, err := h.c.PrepareModel(ctx, imageModel(nn.TensorQuant8Asymm, 2), options...)
	if err != nil {
		return
	}
	buffer, err := h.c.Allocate(driver.BufferDesc{}, roleOf(pm, 0), nil)
	if err != nil {
		buffer = nil
	}
	burst, start := pm.Burst(), driver.NewFence()
	for range 6 {
		p := newPinned(make([]byte, 40))
		r := imageRequest(picture{pictureLayout, p})
		if buffer != nil && h.rng.IntN(2) == 0 {
			_ = buffer.CopyFrom(ctx, make(nn.HostMemory, 12), nil)
			r.Pools[0] = buffer.Token()
		}
		switch h.rng.IntN(8) {
		case 0:
			h.b.Lose()
		case 1:
			_, _ = pm.Execute(ctx, r, driver.WithDeadline(time.Now().Add(time.Duration(h.rng.IntN(200))*time.Microsecond)))
		case 2:
			_, _ = burst.Execute(ctx, r, []int32{int32(h.rng.IntN(3)), driver.NoSlot})
		case 3, 4:
			if e, err := pm.ExecuteFenced(ctx, r, []*driver.Fence{start, start}); err == nil {
				h.pending.Go(func() { <-e.Fence().Done() })
			}
		case 5:
			if x, err := pm.NewExecution(r); err == nil {
				h.pending.Go(func() { _, _ = x.Run(ctx) })
				_, _ = x.Run(ctx)
			}
		default:
			e := pm.ExecuteAsync(ctx, r)
			h.pending.Go(func() { _, _ = e.Wait() })
		}
		p.Close()
	}
	if buffer != nil {
		h.pending.Go(func() { _ = buffer.Close() })
	}
	switch h.rng.IntN(3) {
	case 0:
		start.Signal(nil)
	case 1:
		start.Signal(context.Canceled)
	}
	if h.rng.IntN(2) == 0 {
		h.pending.Go(func() { _ = pm.Close() })
	}
}
