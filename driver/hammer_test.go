package driver_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// TestHammerBuffers: eight goroutines allocate, copy, execute and close the same buffers. Every value in them is six
// equal bytes, so that a torn one shows; nothing may crash, hang, or stay behind.
func TestHammerBuffers(t *testing.T) {
	b := &null.Backend{Compute: add}
	d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
	c, err := d.NewClient("hammer")
	require.NoError(t, err)
	pm := prepareOn(t, c, addModel())
	inputs, outputs := append(roleOf(pm, 0), roleOf(pm, 1)...), roleOf(pm, 0)
	var shared [4]atomic.Pointer[driver.Buffer]
	for i := range shared {
		shared[i].Store(allocate(t, c, nil, inputs, outputs))
	}
	uniform := func(p []byte) bool { return bytes.Count(p, p[:1]) == len(p) }
	allowed := func(err error) bool {
		switch nn.StatusOf(err) {
		case nn.StatusNone, nn.StatusInvalidArgument, nn.StatusGeneralFailure, nn.StatusMissedDeadlineTransient,
			nn.StatusMissedDeadlinePersistent:
			return true
		}
		return false
	}
	pool := newPinned(make([]byte, 6))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(g)))
			pick := func() *driver.Buffer { return shared[rng.IntN(len(shared))].Load() }
			for range 400 {
				ctx, cancel := context.Background(), func() {}
				if rng.IntN(8) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(100))*time.Microsecond)
				}
				var err error
				switch rng.IntN(7) {
				case 0:
					if fresh, aerr := c.Allocate(driver.BufferDesc{}, inputs, outputs); aerr != nil {
						t.Error(aerr)
					} else {
						err = shared[rng.IntN(len(shared))].Swap(fresh).Close()
					}
				case 1:
					err = pick().CopyFrom(ctx, nn.HostMemory(bytes.Repeat([]byte{byte(rng.IntN(256))}, 6)), nil)
				case 2:
					got := make(nn.HostMemory, 6)
					if err = pick().CopyTo(ctx, got); err == nil && !uniform(got) {
						t.Errorf("torn: %v", got)
					}
				case 3:
					err = pick().CopyFrom(ctx, nn.HostMemory("short"), nil)
					if err == nil {
						t.Error("5 bytes for 6")
					}
				case 4:
					r := bufferRequest(pick(), pick(), nil)
					_, err = pm.Execute(ctx, r)
					if out := r.Pools[0].(nn.HostMemory)[16:22]; err == nil && !uniform(out) {
						t.Errorf("torn: %v", out)
					}
				case 5:
					_, err = pm.ExecuteAsync(ctx, bufferRequest(pick(), pick(), pick())).Wait()
				default:
					r := bufferRequest(pick(), nil, pick())
					r.Pools = append(r.Pools, pool)
					r.Inputs[1].Location = nn.Location{PoolIndex: uint32(len(r.Pools) - 1), Length: 6}
					var e *driver.FencedExecution
					if e, err = pm.ExecuteFenced(ctx, r, nil); err == nil {
						err = e.Fence().Wait(context.Background())
					}
				}
				cancel()
				if !allowed(err) && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, c.Close())
	require.Zero(t, b.Used())
	require.Zero(t, c.Memory())
	require.Zero(t, pool.users())
	pool.Close()
	require.NoError(t, d.Close())
	require.Equal(t, count(b.Calls(), "allocate")+count(b.Calls(), "import"), count(b.Calls(), "free memory"))
}

// TestHammerClose: the client goes while others use its buffers.
func TestHammerClose(t *testing.T) {
	for range 30 {
		b := &null.Backend{Compute: add}
		d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
		c, err := d.NewClient("hammer")
		require.NoError(t, err)
		pm := prepareOn(t, c, addModel())
		x := allocate(t, c, nil, roleOf(pm, 0), nil)
		require.NoError(t, x.CopyFrom(t.Context(), make(nn.HostMemory, 6), nil))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				_, err := c.Allocate(driver.BufferDesc{}, roleOf(pm, 1), nil)
				_ = err
				_, _ = pm.Execute(context.Background(), bufferRequest(x, nil, nil))
				_ = x.CopyTo(context.Background(), make(nn.HostMemory, 6))
				_ = x.CopyFrom(context.Background(), make(nn.HostMemory, 6), nil)
			})
		}
		wg.Go(func() { _ = x.Close() })
		wg.Go(func() { _ = c.Close() })
		wg.Go(func() { _ = d.Close() })
		wg.Wait()
		require.NoError(t, d.Close())
		require.Zero(t, b.Used())
		calls := b.Calls()
		require.Equal(t, "close", calls[len(calls)-1])
		require.Equal(t, count(calls, "allocate"), count(calls, "free memory"))
	}
}
