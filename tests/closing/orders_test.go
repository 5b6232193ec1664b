package closing

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/memory"
)

// world is one of everything that can be closed, from the backend down to a pool.
type world struct {
	objects map[string]interface{ Close() error }
	backend backend.Backend
	device  *driver.Device
	client  *driver.Client
	model   *driver.PreparedModel
	buffer  *driver.Buffer
	pool    *memory.Mapped

	reusable *driver.ReusableExecution
	burst    *driver.Burst
}

// owners says with which of the others an object is closed. The backend is closed behind the back of a device: what does
// not need it goes on working.
var owners = map[string][]string{"client": {"device"}, "model": {"device", "client"}, "buffer": {"device", "client"}}

func newWorld(t *testing.T, b backend.Backend) *world {
	t.Helper()
	w := &world{backend: b, device: driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))}
	var err error
	w.client, err = w.device.NewClient("test")
	require.NoError(t, err)
	w.model, err = w.client.PrepareModel(t.Context(), relu())
	require.NoError(t, err)
	w.buffer, err = w.client.Allocate(driver.BufferDesc{}, nil, []driver.BufferRole{{Model: w.model, Probability: 1}})
	require.NoError(t, err)
	w.pool, err = memory.NewAshmem("test", tensorBytes)
	require.NoError(t, err)
	w.reusable, err = w.model.NewExecution(w.request())
	require.NoError(t, err)
	w.burst = w.model.Burst()
	w.objects = map[string]interface{ Close() error }{
		"backend": b, "device": w.device, "client": w.client, "model": w.model, "buffer": w.buffer, "pool": w.pool,
	}
	return w
}

// request reads the pool and writes the buffer.
func (w *world) request() *nn.Request {
	return &nn.Request{
		Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: tensorBytes}}},
		Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1}}},
		Pools:   []nn.Memory{w.pool, w.buffer.Token()},
	}
}

// use has one call of the library, by the name of the object that it is a method of, and those that it needs besides.
type use struct {
	of    string
	needs []string
	call  func(ctx context.Context) error
}

func (w *world) uses() map[string]use {
	value := make(nn.HostMemory, tensorBytes)
	role := []driver.BufferRole{{Model: w.model, Probability: 1}}
	return map[string]use{
		"NewClient": {"device", nil, func(context.Context) error {
			c, err := w.device.NewClient("another")
			return after(err, c)
		}},
		"SupportedOperations": {"device", nil, func(context.Context) error {
			_, _, err := w.device.SupportedOperations(relu())
			return err
		}},
		"PrepareModel": {"client", nil, func(ctx context.Context) error {
			m, err := w.client.PrepareModel(ctx, relu())
			return after(err, m)
		}},
		"Allocate": {"client", []string{"model"}, func(context.Context) error {
			b, err := w.client.Allocate(driver.BufferDesc{}, nil, role)
			return after(err, b)
		}},
		"Execute": {"model", []string{"buffer", "pool"}, func(ctx context.Context) error {
			_, err := w.model.Execute(ctx, w.request())
			return err
		}},
		"ExecuteAsync": {"model", []string{"buffer", "pool"}, func(ctx context.Context) error {
			_, err := w.model.ExecuteAsync(ctx, w.request()).Wait()
			return err
		}},
		"ExecuteFenced": {"model", []string{"buffer", "pool"}, func(ctx context.Context) error {
			e, err := w.model.ExecuteFenced(ctx, w.request(), nil)
			if err != nil {
				return err
			}
			return e.Fence().Wait(ctx)
		}},
		"NewExecution": {"model", []string{"buffer"}, func(context.Context) error {
			_, err := w.model.NewExecution(w.request())
			return err
		}},
		"ReusableExecution.Run": {"model", []string{"buffer", "pool"}, func(ctx context.Context) error {
			_, err := w.reusable.Run(ctx)
			return err
		}},
		"Burst.Execute": {"model", []string{"buffer", "pool"}, func(ctx context.Context) error {
			_, err := w.burst.Execute(ctx, w.request(), []int32{0, driver.NoSlot})
			return err
		}},
		"CopyFrom":    {"buffer", []string{"pool"}, func(ctx context.Context) error { return w.buffer.CopyFrom(ctx, w.pool, nil) }},
		"CopyTo":      {"buffer", []string{"pool"}, func(ctx context.Context) error { return w.buffer.CopyTo(ctx, w.pool) }},
		"pool.Bytes":  {"pool", nil, func(context.Context) error { _, err := w.pool.Bytes(); return err }},
		"pool.Handle": {"pool", nil, func(context.Context) error { h, err := w.pool.Handle(); return after(err, &h) }},
		"Run": {"model", nil, func(ctx context.Context) error {
			_, err := w.model.Run(ctx, [][]byte{value}, w.model.NewOutputs())
			return err
		}},
	}
}

// look calls what cannot fail.
func (w *world) look() {
	look(w.backend)
	_, _ = w.device.Info(), w.device.Scheduling()
	w.device.NumberOfCacheFilesNeeded()
	_, _ = w.client.Identity(), w.client.Memory()
	_, _, _ = w.model.Stats(), w.model.Cached(), w.model.NewOutputs()
	_ = w.burst.ReleaseMemory(0)
	_, _, _ = w.buffer.Token(), w.buffer.Dims(), w.pool.Size()
}

// check makes every call: it works, or says closed where the object or one that it belongs to is, or is refused where
// what it was given is.
func (w *world) check(t *testing.T, ctx context.Context, closed []string) {
	t.Helper()
	w.look()
	gone := func(name string) bool {
		return slices.ContainsFunc(append(owners[name], name), func(o string) bool { return slices.Contains(closed, o) })
	}
	for name, u := range w.uses() {
		err := u.call(ctx)
		switch {
		case gone(u.of):
			require.ErrorIs(t, err, driver.ErrClosed, "%s after %v", name, closed)
		case name == "CopyTo" && err != nil && strings.Contains(err.Error(), "not initialised"):
		case slices.ContainsFunc(u.needs, gone):
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%s after %v: %v", name, closed, err)
		case err != nil && gone("backend"):
			requireClosed(t, err, name)
		case gone("backend"):
			require.NotContains(t, []string{"SupportedOperations", "PrepareModel", "Allocate", "Execute", "Run"}, name)
		default:
			require.NoError(t, err, "%s after %v", name, closed)
		}
	}
}

// TestOrdersOfClosing closes one of everything in many orders, twice each, and makes every call after each.
func TestOrdersOfClosing(t *testing.T) {
	eachBackend(t, func(t *testing.T, open func() backend.Backend) {
		names := []string{"backend", "device", "client", "model", "buffer", "pool"}
		rng := rand.New(rand.NewPCG(9, 2))
		orders := 12
		if strings.HasSuffix(t.Name(), "/null") {
			orders = 300
		}
		for range orders {
			rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			b := open()
			w := newWorld(t, b)
			w.check(t, t.Context(), nil)
			for i, name := range names {
				for range 2 {
					require.NoError(t, w.objects[name].Close(), "%s of %v", name, names)
				}
				w.check(t, t.Context(), names[:i+1])
			}
			if v, ok := b.(*gpu.Backend); ok {
				used, _, _ := v.Memory()
				require.Zero(t, used, "%v", names)
			}
		}
	})
}

// TestRacingClose closes everything in some order, twice at the same time, while every call is made by others.
func TestRacingClose(t *testing.T) {
	eachBackend(t, func(t *testing.T, open func() backend.Backend) {
		names := []string{"backend", "device", "client", "model", "buffer", "pool"}
		rng := rand.New(rand.NewPCG(9, 3))
		rounds := 4
		if strings.HasSuffix(t.Name(), "/null") {
			rounds = 40
		}
		for range rounds {
			rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			w := newWorld(t, open())
			var callers, closers sync.WaitGroup
			stop := make(chan struct{})
			for name, u := range w.uses() {
				callers.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						err := u.call(context.Background())
						if err != nil && !errors.Is(err, driver.ErrClosed) && nn.StatusOf(err) != nn.StatusInvalidArgument &&
							!strings.Contains(err.Error(), "not initialised") && !strings.Contains(err.Error(), "going on") {
							t.Errorf("%s: %v", name, err)
							return
						}
					}
				})
			}
			callers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						w.look()
					}
				}
			})
			for _, name := range names {
				for range 2 {
					closers.Go(func() {
						if err := w.objects[name].Close(); err != nil {
							t.Errorf("close %s: %v", name, err)
						}
					})
				}
			}
			closers.Wait()
			close(stop)
			callers.Wait()
			w.check(t, t.Context(), names)
		}
	})
}
