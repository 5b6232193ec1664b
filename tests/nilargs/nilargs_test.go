// Package nilargs holds every function of the library that returns an error to what it says of nil: INVALID_ARGUMENT.
package nilargs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/gpu/null"
	"github.com/nngpu/nngpu/qos"
)

// restoring is a null backend that could take models back from a cache.
type restoring struct{ *null.Backend }

func (restoring) StoreIdentity() string { return "test" }

func (restoring) Restore(context.Context, []byte, backend.Data, backend.Options) (backend.Executable, error) {
	return nil, errors.New("there is nothing to restore")
}

func newEnv(t *testing.T) *env {
	t.Helper()
	dir := t.TempDir()
	options := cache.Options{Dir: filepath.Join(dir, "cache"), StateDir: filepath.Join(dir, "state")}
	e := &env{ctx: t.Context()}
	var err error
	e.store, err = cache.Open(options)
	require.NoError(t, err)
	e.hashes, err = cache.OpenHashMap(options)
	require.NoError(t, err)
	e.file, err = os.Create(filepath.Join(dir, "file"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.file.Close() })

	e.device = driver.NewDevice(restoring{&null.Backend{}}, driver.WithCache(driver.CacheOptions{Off: true, StateDir: options.StateDir}))
	t.Cleanup(func() { require.NoError(t, e.device.Close()) }) // which hangs where something was not given back
	e.client, err = e.device.NewClient("test")
	require.NoError(t, err)
	e.model, err = e.client.PrepareModel(e.ctx, sum())
	require.NoError(t, err)
	named := sum()
	named.Names = nn.Names{Inputs: []string{"x", "y"}, Outputs: []string{"z"}}
	e.named, err = e.client.PrepareModel(e.ctx, named)
	require.NoError(t, err)
	_, err = e.named.RunFloats(e.ctx, floats) // what is not nil is right
	require.NoError(t, err)
	e.buffer, err = e.client.Allocate(driver.BufferDesc{}, []driver.BufferRole{{Model: e.model, Probability: 1}}, nil)
	require.NoError(t, err)
	e.fenced, err = e.model.ExecuteFenced(e.ctx, good(), nil, driver.WithSyncFile())
	require.NoError(t, err)
	e.scheduler = qos.New(qos.Options{})
	e.queue, err = e.scheduler.NewClient("test", 1)
	require.NoError(t, err)
	t.Cleanup(e.queue.Close)
	return e
}

func (e *env) reusable() *driver.ReusableExecution {
	x, err := e.model.NewExecution(good())
	if err != nil {
		panic(err)
	}
	return x
}

func values(n int) (list [][]byte) {
	for range n {
		list = append(list, make([]byte, 16))
	}
	return list
}

var (
	estimate = []time.Duration{time.Millisecond}
	layout   = nn.ImageLayout{Width: 2, Height: 1, Layers: 1, Stride: 2, TexelBytes: 4, Channels: 4}
)

// saver is a cache with the client's files.
type saver interface {
	Save(cache.Token, []byte, []byte, []*os.File, []*os.File) error
	Load(cache.Token, []*os.File, []*os.File) (*cache.Entry, error)
}

func save(s saver, model, data *os.File) error {
	return s.Save(cache.Token{}, nil, nil, []*os.File{model}, []*os.File{data})
}

func load(s saver, model, data *os.File) error {
	return second(s.Load(cache.Token{}, []*os.File{model}, []*os.File{data}))
}

// TestNilIsInvalid calls everything of the table.
func TestNilIsInvalid(t *testing.T) {
	e := newEnv(t)
	for place, calls := range refusals {
		for i, err := range calls(e) {
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%s, call %d: %v", place, i, err)
		}
	}
	for _, name := range nntest.Devices() {
		t.Run(name, func(t *testing.T) {
			b, err := gpu.Open(name, gpu.Options{})
			nntest.Opened(t, name, err)
			e := *e
			e.backends = []*gpu.Backend{b}
			for place, calls := range refusals {
				for i, err := range calls(&e) {
					require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%s, call %d: %v", place, i, err)
				}
			}
			require.Empty(t, b.ValidationMessages())
			require.NoError(t, b.Close())
		})
	}
}

// TestDeviceOfNothing: NewDevice has no error to return, so that the calls on the device do.
func TestDeviceOfNothing(t *testing.T) {
	var none *gpu.Backend // of an Open whose error nobody looked at
	for name, d := range map[string]*driver.Device{
		"no backend":   driver.NewDevice(nil),
		"nil backend":  driver.NewDevice(none),
		"a nil option": driver.NewDevice(&null.Backend{}, driver.WithCache(driver.CacheOptions{Off: true}), nil),
	} {
		t.Run(name, func(t *testing.T) {
			_, _ = d.Info(), d.Scheduling()
			d.NumberOfCacheFilesNeeded()
			_ = d.Metrics()
			_, err := d.NewClient("test")
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%v", err)
			_, _, err = d.SupportedOperations(sum())
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%v", err)
			require.NoError(t, d.Close())
			require.NoError(t, d.Close())
			_, err = d.NewClient("test")
			require.ErrorIs(t, err, driver.ErrClosed)
		})
	}
}
