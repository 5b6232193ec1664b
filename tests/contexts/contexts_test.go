// Package contexts holds every call that takes a context to how it ends with it.
package contexts

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
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
)

const tensorBytes = 16

// relu is y = relu(x) of four floats.
func relu() *nn.Model {
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{4}, 0, 0)
	y := b.Temp(nn.TensorFloat32, nn.Dims{4}, 0, 0)
	b.Op(nn.OpRelu, []uint32{x}, []uint32{y})
	b.Output(y)
	return nntest.Build(&b)
}

func request() *nn.Request {
	arg := func(i uint32) []nn.RequestArgument {
		return []nn.RequestArgument{{Location: nn.Location{PoolIndex: i, Length: tensorBytes}}}
	}
	return &nn.Request{Inputs: arg(0), Outputs: arg(1), Pools: []nn.Memory{make(nn.HostMemory, tensorBytes), make(nn.HostMemory, tensorBytes)}}
}

// calls are those that take a context, of a device on b and of b itself.
func calls(t *testing.T, b backend.Backend) map[string]func(ctx context.Context) error {
	t.Helper()
	dir := t.TempDir()
	d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true, StateDir: filepath.Join(dir, "state")}))
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	c, err := d.NewClient("test")
	require.NoError(t, err)
	var files []*os.File
	for _, name := range []string{"model", "data"} {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		files = append(files, f)
	}
	token := cache.Token(sha256.Sum256(nil))
	pm, err := c.PrepareModel(t.Context(), relu(), driver.WithCacheFiles(token, files[:1], files[1:]))
	require.NoError(t, err)
	buffer, err := c.Allocate(driver.BufferDesc{}, nil, []driver.BufferRole{{Model: pm, Probability: 1}})
	require.NoError(t, err)
	value := make(nn.HostMemory, tensorBytes)
	reusable, err := pm.NewExecution(request())
	require.NoError(t, err)
	list := map[string]func(ctx context.Context) error{
		"PrepareModel": func(ctx context.Context) error { _, err := c.PrepareModel(ctx, relu()); return err },
		"PrepareModel, delayed": func(ctx context.Context) error {
			_, err := c.PrepareModel(ctx, relu(), driver.WithDelayedCompilation())
			return err
		},
		"PrepareModelFromCache": func(ctx context.Context) error {
			_, err := c.PrepareModelFromCache(ctx, token, files[:1], files[1:])
			return err
		},
		"Execute":      func(ctx context.Context) error { _, err := pm.Execute(ctx, request()); return err },
		"ExecuteAsync": func(ctx context.Context) error { _, err := pm.ExecuteAsync(ctx, request()).Wait(); return err },
		"ExecuteFenced": func(ctx context.Context) error {
			_, err := pm.ExecuteFenced(ctx, request(), nil)
			return err
		},
		"Run": func(ctx context.Context) error {
			_, err := pm.Run(ctx, [][]byte{value}, pm.NewOutputs())
			return err
		},
		"Burst.Execute": func(ctx context.Context) error {
			_, err := pm.Burst().Execute(ctx, request(), []int32{0, 1})
			return err
		},
		"ReusableExecution.Run":       func(ctx context.Context) error { _, err := reusable.Run(ctx); return err },
		"ReusableExecution.RunFenced": func(ctx context.Context) error { _, err := reusable.RunFenced(ctx, nil); return err },
		"CopyFrom":                    func(ctx context.Context) error { return buffer.CopyFrom(ctx, value, nil) },
		"CopyTo":                      func(ctx context.Context) error { return buffer.CopyTo(ctx, value) },
		"View":                        func(ctx context.Context) error { return buffer.View(ctx, func(backend.Memory) error { return nil }) },
		"Fence.Wait":                  func(ctx context.Context) error { return driver.NewFence().Wait(ctx) },
		"SyncFile": func(ctx context.Context) error {
			wait := driver.NewFence()
			defer wait.Signal(nil)
			e, err := pm.ExecuteFenced(t.Context(), request(), []*driver.Fence{wait}, driver.WithSyncFile())
			require.NoError(t, err)
			_, err = e.SyncFile(ctx)
			return err
		},
		"backend.Compile": func(ctx context.Context) error { _, err := b.Compile(ctx, relu(), backend.Options{}); return err },
	}
	if v, ok := b.(*gpu.Backend); ok {
		addBackend(t, v, list)
	}
	return list
}

// addBackend adds what Vulkan backends have besides.
func addBackend(t *testing.T, b *gpu.Backend, list map[string]func(ctx context.Context) error) {
	t.Helper()
	x, err := b.Compile(t.Context(), relu(), backend.Options{Storable: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	model, data, err := x.(backend.Storer).Store()
	require.NoError(t, err)
	m, err := b.Allocate(nn.TensorFloat32, nn.Dims{4}, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	list["backend.Restore"] = func(ctx context.Context) error {
		_, err := b.Restore(ctx, model, strings.NewReader(string(data)), backend.Options{})
		return err
	}
	list["backend.Describe"] = func(ctx context.Context) error { _, err := b.Describe(ctx, relu()); return err }
	list["backend.Measure"] = func(ctx context.Context) error { _, err := b.Measure(ctx); return err }
	g, err := b.Gauge(t.Context(), gpu.CeilingF32)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	list["backend.Gauge"] = func(ctx context.Context) error { _, err := b.Gauge(ctx, gpu.CeilingF32); return err }
	list["gauge.Rate"] = func(ctx context.Context) error { _, err := g.Rate(ctx); return err }
	list["backend.CompileImage"] = func(ctx context.Context) error {
		layout := nn.ImageLayout{Width: 2, Height: 1, Layers: 1, Stride: 2, TexelBytes: 4, Channels: 4}
		_, err := b.CompileImage(ctx, layout, &nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 1, 2, 4}}, backend.Options{})
		return err
	}
	list["memory.Write"] = func(ctx context.Context) error { return m.Write(ctx, make([]byte, tensorBytes)) }
	list["memory.Read"] = func(ctx context.Context) error { return m.Read(ctx, make([]byte, tensorBytes)) }
}

// TestContextsThatHaveEnded are refused by every call, in a way that tells them from other failures.
func TestContextsThatHaveEnded(t *testing.T) {
	test := func(t *testing.T, b backend.Backend) {
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		for name, call := range calls(t, b) {
			err := call(cancelled)
			require.ErrorIs(t, err, context.Canceled, name)
			require.NotErrorIs(t, err, context.DeadlineExceeded, name)
			require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err), "%s: %v", name, err)

			err = call(late)
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.NotErrorIs(t, err, context.Canceled, name)
			require.Contains(t, []nn.Status{nn.StatusMissedDeadlinePersistent, nn.StatusMissedDeadlineTransient}, nn.StatusOf(err), "%s: %v", name, err)
		}
	}
	t.Run("null", func(t *testing.T) { test(t, restoring{&null.Backend{}}) })
	for _, name := range nntest.Devices() {
		t.Run(name, func(t *testing.T) {
			b, err := gpu.Open(name, gpu.Options{})
			nntest.Opened(t, name, err)
			test(t, b)
		})
	}
}

// restoring is a null backend that could take models back from a cache.
type restoring struct{ *null.Backend }

func (restoring) StoreIdentity() string { return "test" }

func (restoring) Restore(ctx context.Context, _ []byte, _ backend.Data, _ backend.Options) (backend.Executable, error) {
	return nil, ctx.Err()
}

// TestContextsThatEndMeanwhile: what waits for the device, for a fence or for a buffer's turn ends with its context.
func TestContextsThatEndMeanwhile(t *testing.T) {
	b := &null.Backend{Gate: make(chan struct{})}
	d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
	c, err := d.NewClient("test")
	require.NoError(t, err)
	pm, err := c.PrepareModel(t.Context(), relu())
	require.NoError(t, err)
	buffer, err := c.Allocate(driver.BufferDesc{}, nil, []driver.BufferRole{{Model: pm, Probability: 1}})
	require.NoError(t, err)
	value := make(nn.HostMemory, tensorBytes)
	writes := request()
	writes.Pools[1], writes.Outputs[0].Location.Length = buffer.Token(), 0
	running := pm.ExecuteAsync(t.Context(), writes) // it has the buffer, and the device, until the gate opens
	for len(b.Calls()) == 0 || b.Calls()[len(b.Calls())-1] != "submit" {
		time.Sleep(time.Millisecond)
	}
	for name, call := range map[string]func(ctx context.Context) error{
		"execute behind another": func(ctx context.Context) error { _, err := pm.Execute(ctx, request()); return err },
		"execute with a buffer":  func(ctx context.Context) error { _, err := pm.Execute(ctx, writes); return err },
		"copy":                   func(ctx context.Context) error { return buffer.CopyFrom(ctx, value, nil) },
		"copy back":              func(ctx context.Context) error { return buffer.CopyTo(ctx, value) },
		"view":                   func(ctx context.Context) error { return buffer.View(ctx, func(backend.Memory) error { return nil }) },
		"fence": func(ctx context.Context) error {
			e, err := pm.ExecuteFenced(ctx, request(), []*driver.Fence{driver.NewFence()})
			require.NoError(t, err)
			return e.Fence().Wait(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			err := call(ctx)
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err), "%v", err)

			ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			err = call(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err), "%v", err)
		})
	}
	close(b.Gate)
	_, err = running.Wait()
	require.NoError(t, err)
	require.NoError(t, d.Close())
}
