package driver_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// TestX2RequestsThatChange: a client must leave a request alone while it runs. One that does not gets what the request
// said at the call, and no slot or argument leads anywhere else.
func TestX2RequestsThatChange(t *testing.T) {
	changes := map[string]func(*nn.Request){
		"offset":       func(r *nn.Request) { r.Outputs[0].Location.Offset = 1 << 31 },
		"length":       func(r *nn.Request) { r.Inputs[1].Location.Length = 1 << 31 },
		"pool":         func(r *nn.Request) { r.Outputs[0].Location.PoolIndex = 99 },
		"omitted":      func(r *nn.Request) { r.Inputs[1].HasNoValue = true },
		"no inputs":    func(r *nn.Request) { r.Inputs = nil },
		"more inputs":  func(r *nn.Request) { r.Inputs = append(r.Inputs, r.Inputs[1], r.Inputs[1]) },
		"no outputs":   func(r *nn.Request) { r.Outputs = nil },
		"more outputs": func(r *nn.Request) { r.Outputs = append(r.Outputs, r.Outputs[0]) },
		"no pools":     func(r *nn.Request) { r.Pools = nil },
		"nil pools":    func(r *nn.Request) { clear(r.Pools) },
		"dimensions":   func(r *nn.Request) { r.Outputs[0].Dims[1] = 1 << 30 },
		"rank":         func(r *nn.Request) { r.Inputs[1].Dims = nn.Dims{1} },
	}
	for name, change := range changes {
		for _, form := range []string{"sync", "async", "burst"} {
			t.Run(name+", "+form, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := &null.Backend{Gate: make(chan struct{}), Compute: add}
					d, c, pm := start(t, b)
					buffer := allocate(t, c, nil, roleOf(pm, 0), roleOf(pm, 0))
					first, second := make(chan error, 1), make(chan error, 1)
					go func() {
						_, err := pm.Execute(context.Background(), bufferRequest(nil, nil, buffer))
						first <- err
					}()
					synctest.Wait()
					r := bufferRequest(buffer, nil, nil)
					r.Inputs[1].Dims, r.Outputs[0].Dims = nn.Dims{2, 3}, nn.Dims{2, 3}
					pool := r.Pools[0].(nn.HostMemory)
					run := forms(t, pm)[form]
					go func() { second <- run(r) }()
					synctest.Wait() // for the turn of the buffer
					change(r)
					close(b.Gate)
					require.NoError(t, <-first)
					require.NoError(t, <-second)
					for i := range 6 {
						require.Equal(t, addResult[i]+pool[8+i], pool[16+i])
					}
					require.NoError(t, d.Close())
				})
			})
		}
	}
}

// TestX7WaitFencesThatChange: the list is the client's, and is looked at once.
func TestX7WaitFencesThatChange(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	waits := []*driver.Fence{driver.NewFence(), driver.NewFence()}
	first, second := waits[0], waits[1]
	e, err := pm.ExecuteFenced(t.Context(), addRequest(), waits)
	require.NoError(t, err)
	clear(waits)
	first.Signal(nil)
	second.Signal(nil)
	require.NoError(t, wait(t, e.Fence()))
}
