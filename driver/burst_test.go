package driver_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

func TestB1OneSlotForEachPool(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	burst := pm.Burst()
	for _, slots := range [][]int32{nil, {}, {0, 1}} {
		_, err := burst.Execute(t.Context(), addRequest(), slots)
		requireStatus(t, nn.StatusInvalidArgument, err)
	}
	_, err := burst.Execute(t.Context(), nil, nil)
	requireStatus(t, nn.StatusInvalidArgument, err)
	_, err = burst.Execute(t.Context(), addRequest(), []int32{0})
	require.NoError(t, err)
}

func TestB2SlotNumbers(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	burst := pm.Burst()
	for _, s := range []int32{-2, -1 << 31} {
		_, err := burst.Execute(t.Context(), addRequest(), []int32{s})
		requireStatus(t, nn.StatusInvalidArgument, err)
	}
	for _, s := range []int32{driver.NoSlot, 0, 1<<31 - 1} {
		r := addRequest()
		_, err := burst.Execute(t.Context(), r, []int32{s})
		require.NoError(t, err)
		require.Equal(t, addResult, []byte(r.Pools[0].(nn.HostMemory)[16:22]))
	}
}

func TestB3ReleaseMemory(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	burst := pm.Burst()
	requireStatus(t, nn.StatusInvalidArgument, burst.ReleaseMemory(-2))
	_, err := burst.Execute(t.Context(), addRequest(), []int32{3})
	require.NoError(t, err)
	for _, s := range []int32{3, 3, 4, driver.NoSlot} {
		require.NoError(t, burst.ReleaseMemory(s))
	}
	_, err = burst.Execute(t.Context(), addRequest(), []int32{3})
	require.NoError(t, err)
}

func TestB9OneExecutionAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &null.Backend{Gate: make(chan struct{}), Compute: add}
		d, _, pm := start(t, b)
		burst := pm.Burst()
		first := make(chan error)
		go func() {
			_, err := burst.Execute(context.Background(), addRequest(), []int32{0})
			first <- err
		}()
		synctest.Wait()
		_, err := burst.Execute(context.Background(), addRequest(), []int32{0})
		requireStatus(t, nn.StatusGeneralFailure, err)
		require.NoError(t, burst.ReleaseMemory(0))
		close(b.Gate)
		require.NoError(t, <-first)
		_, err = burst.Execute(context.Background(), addRequest(), []int32{0})
		require.NoError(t, err)
		require.NoError(t, d.Close())
	})
}

// TestB10AnyOrderOfClosing: a memory before its burst, and the other way round.
func TestB10AnyOrderOfClosing(t *testing.T) {
	b := &null.Backend{Compute: add}
	d, _, pm := start(t, b)
	burst := pm.Burst()
	var pools []*pinnedPool
	for i := range 3 {
		r := addRequest()
		data := []byte(r.Pools[0].(nn.HostMemory))
		p := newPinned(data)
		pools = append(pools, p)
		r.Pools[0] = p
		for range 10 {
			clear(data[16:])
			_, err := burst.Execute(t.Context(), r, []int32{7}) // always the same slot
			require.NoError(t, err)
			require.Equal(t, addResult, data[16:22])
		}
		require.Equal(t, i+1, count(b.Calls(), "import"), "once")
	}
	pools[2].Close()
	require.Equal(t, 1, count(b.Calls(), "free memory"), "a burst keeps no memory open")
	r := addRequest()
	r.Pools[0] = pools[2]
	_, err := burst.Execute(t.Context(), r, []int32{7})
	requireStatus(t, nn.StatusInvalidArgument, err)
	require.NoError(t, pm.Close())
	pools[0].Close()
	require.Equal(t, 2, count(b.Calls(), "free memory"))
	_, err = burst.Execute(t.Context(), addRequest(), []int32{7})
	require.ErrorIs(t, err, driver.ErrClosed)
	require.NoError(t, d.Close())
	require.Equal(t, 3, count(b.Calls(), "free memory"))
}

// TestHammerBurst: executions that meet another say so, and the others are right.
func TestHammerBurst(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	burst := pm.Burst()
	p := newPinned(make([]byte, 24))
	var wg sync.WaitGroup
	done := make(chan bool, 8*200)
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				r := addRequest()
				r.Pools = append(r.Pools, p)
				r.Inputs[1].Location = nn.Location{PoolIndex: 1, Offset: 8, Length: 6}
				_, err := burst.Execute(context.Background(), r, []int32{driver.NoSlot, int32(i % 2)})
				if err == nil {
					require.Equal(t, []byte{1, 2, 3, 4, 5, 6}, []byte(r.Pools[0].(nn.HostMemory)[16:22]))
					done <- true
				} else {
					requireStatus(t, nn.StatusGeneralFailure, err)
				}
				_ = burst.ReleaseMemory(int32(i % 3))
			}
		})
	}
	wg.Wait()
	require.NotEmpty(t, done)
}

// wrapped is a client's memory around another, which may be one that cannot be compared.
type wrapped struct{ nn.Memory }

// wrappedPinned is the same of memory that a device may use in place.
type wrappedPinned struct{ nn.Pinned }

type strangePinned struct {
	*pinnedPool
	note []int
}

// TestMemoryThatCannotBeCompared: memories are told apart by comparing them, where that is possible.
func TestMemoryThatCannotBeCompared(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	burst := pm.Burst()
	for name, pool := range map[string]nn.Memory{
		"host":   wrapped{make(nn.HostMemory, 24)},
		"file":   struct{ nn.File }{newFile(make([]byte, 24))},
		"pinned": wrappedPinned{strangePinned{newPinned(make([]byte, 24)), nil}},
	} {
		for range 2 {
			r := addRequest()
			r.Pools = []nn.Memory{pool, pool}
			r.Outputs[0].Location.PoolIndex = 1
			_, err := burst.Execute(t.Context(), r, []int32{0, 1})
			require.NoError(t, err, name)
		}
	}
}
