// Package closing holds every object of the library to what it says of its end: closing twice is nothing, what is begun
// afterwards says closed, and any order of closing is as good as another.
package closing

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/gpu/null"
	"github.com/nngpu/nngpu/memory"
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

// eachBackend runs f on the null backend and on the Vulkan devices that are to be tested. open opens one more; the test
// closes it.
func eachBackend(t *testing.T, f func(t *testing.T, open func() backend.Backend)) {
	t.Run("null", func(t *testing.T) {
		f(t, func() backend.Backend { return &null.Backend{} })
	})
	for _, name := range nntest.Devices() {
		t.Run(name, func(t *testing.T) {
			b, err := gpu.Open(name, gpu.Options{})
			nntest.Opened(t, name, err)
			require.NoError(t, b.Close())
			f(t, func() backend.Backend {
				b, err := gpu.Open(name, gpu.Options{})
				require.NoError(t, err)
				t.Cleanup(func() { require.Empty(t, b.ValidationMessages()) })
				return b
			})
		})
	}
}

func requireClosed(t *testing.T, err error, what string) {
	t.Helper()
	require.ErrorIs(t, err, nn.ErrClosed, what)
	require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err), what)
}

// backendCalls are all methods of a backend that can fail, by name.
func backendCalls(t *testing.T, b backend.Backend) map[string]func() error {
	t.Helper()
	ctx := context.Background()
	pool, err := memory.NewAshmem("test", tensorBytes)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	mapped, err := pool.Bytes()
	require.NoError(t, err)
	calls := map[string]func() error{
		"Supports": func() error { _, err := b.Supports(relu()); return err },
		"Compile": func() error {
			x, err := b.Compile(ctx, relu(), backend.Options{})
			return after(err, x)
		},
		"CompileImage": func() error {
			layout := nn.ImageLayout{Width: 2, Height: 1, Layers: 1, Stride: 2, TexelBytes: 4, Channels: 4}
			o := &nn.Operand{Type: nn.TensorQuant8Asymm, Dims: nn.Dims{1, 1, 2, 4}, Scale: 1}
			x, err := b.CompileImage(ctx, layout, o, backend.Options{})
			return after(err, x)
		},
		"Allocate": func() error {
			m, err := b.Allocate(nn.TensorFloat32, nn.Dims{4}, 0)
			return after(err, m)
		},
		"Import": func() error {
			m, err := b.Import(mapped, false)
			if errors.Is(err, backend.ErrNotImported) {
				return nil // as SwiftShader says
			}
			return after(err, m)
		},
	}
	if e, ok := b.(backend.ExternalMemory); ok {
		calls["AllocateExportable"] = func() error {
			m, err := e.AllocateExportable(nn.TensorFloat32, nn.Dims{4}, 0)
			return after(err, m)
		}
		calls["ImportExternal"] = func() error {
			_, err := e.ImportExternal(backend.External{FD: -1, Kind: backend.OpaqueFD})
			if errors.Is(err, backend.ErrNotImported) {
				return nil
			}
			return err
		}
	}
	if v, ok := b.(*gpu.Backend); ok {
		calls["Describe"] = func() error { _, err := v.Describe(ctx, relu()); return err }
		model, data := stored(t, v)
		calls["Restore"] = func() error {
			x, err := v.Restore(ctx, model, data, backend.Options{})
			return after(err, x)
		}
	}
	return calls
}

// after is err, or closes what a call returned.
func after(err error, made interface{ Close() error }) error {
	if err != nil {
		return err
	}
	return made.Close()
}

func stored(t *testing.T, b *gpu.Backend) ([]byte, backend.Data) {
	t.Helper()
	x, err := b.Compile(context.Background(), relu(), backend.Options{Storable: true})
	require.NoError(t, err)
	model, data, err := x.(backend.Storer).Store()
	require.NoError(t, err)
	require.NoError(t, x.Close())
	return model, strings.NewReader(string(data))
}

// look calls what says something of a backend and cannot fail.
func look(b backend.Backend) backend.Info {
	if v, ok := b.(*gpu.Backend); ok {
		_, _, _, _ = v.SelfTest(), v.Why(), v.SegmentBound(), v.Counters()
		v.Queues()
		v.Memory()
		_, _ = v.ValidationMessages(), v.StoreIdentity()
	}
	return b.Info()
}

// TestBackendAfterClose: every call says closed, and closing again is nothing.
func TestBackendAfterClose(t *testing.T) {
	eachBackend(t, func(t *testing.T, open func() backend.Backend) {
		b := open()
		calls := backendCalls(t, b)
		for name, call := range calls {
			require.NoError(t, call(), name)
		}
		info := look(b)
		for range 2 {
			require.NoError(t, b.Close())
			for name, call := range calls {
				requireClosed(t, call(), name)
			}
			require.Equal(t, info, look(b))
		}
	})
}

// made is an executable and memory of a backend, and an execution under way.
type made struct {
	exe    backend.Executable
	memory backend.Memory
	run    backend.Execution
}

func makeAll(t *testing.T, b backend.Backend) made {
	t.Helper()
	exe, err := b.Compile(t.Context(), relu(), backend.Options{})
	require.NoError(t, err)
	m, err := b.Allocate(nn.TensorFloat32, nn.Dims{4}, 0)
	require.NoError(t, err)
	run, err := exe.Begin(t.Context(), bindings(), bindings())
	require.NoError(t, err)
	return made{exe, m, run}
}

func bindings() []backend.Binding { return backend.Hosts([][]byte{make([]byte, tensorBytes)}) }

// finish submits and ends the execution.
func (m *made) finish(ctx context.Context) error {
	defer m.run.Release()
	f, err := m.run.Submit(0, m.run.Segments())
	if err != nil {
		return err
	}
	if err := f.Wait(ctx); err != nil {
		return err
	}
	return m.run.Finish()
}

// TestBackendBeforeWhatItMade: what had begun ends well, nothing else begins, and closing in this order is as good.
func TestBackendBeforeWhatItMade(t *testing.T) {
	eachBackend(t, func(t *testing.T, open func() backend.Backend) {
		b := open()
		m := makeAll(t, b)
		require.NoError(t, b.Close())
		look(b)
		_, err := m.exe.Begin(t.Context(), bindings(), bindings())
		requireClosed(t, err, "Begin")
		_, _ = m.exe.Stats(), m.exe.Estimates()
		require.NoError(t, m.finish(t.Context()))
		for range 2 {
			require.NoError(t, m.exe.Close()) // the last on the device, which goes with it
			_, err = m.exe.Begin(t.Context(), bindings(), bindings())
			requireClosed(t, err, "Begin")
			_, _ = m.exe.Stats(), m.exe.Estimates()
		}
		require.NoError(t, b.Close())
		requireClosed(t, m.memory.Write(t.Context(), make([]byte, tensorBytes)), "Write")
		requireClosed(t, m.memory.Read(t.Context(), make([]byte, tensorBytes)), "Read")
		require.NoError(t, m.memory.Close())
		require.NoError(t, m.memory.Close())
		look(b)
	})
}

// TestExecutableAfterClose, and memory, of a backend that is open.
func TestExecutableAfterClose(t *testing.T) {
	eachBackend(t, func(t *testing.T, open func() backend.Backend) {
		b := open()
		m := makeAll(t, b)
		require.NoError(t, m.finish(t.Context()))
		if _, ok := m.exe.(backend.Storer); ok {
			x, err := b.Compile(t.Context(), relu(), backend.Options{Storable: true})
			require.NoError(t, err)
			require.NoError(t, x.Close())
			_, _, err = x.(backend.Storer).Store()
			requireClosed(t, err, "Store")
			_, err = x.(backend.Storer).StoreModel()
			requireClosed(t, err, "StoreModel")
		}
		for range 2 {
			require.NoError(t, m.exe.Close())
			_, err := m.exe.Begin(t.Context(), bindings(), bindings())
			requireClosed(t, err, "Begin")
			require.NoError(t, m.memory.Close())
			requireClosed(t, m.memory.Write(t.Context(), make([]byte, tensorBytes)), "Write")
			requireClosed(t, m.memory.Read(t.Context(), make([]byte, tensorBytes)), "Read")
		}
		other, err := b.Compile(t.Context(), relu(), backend.Options{})
		require.NoError(t, err)
		_, err = other.Begin(t.Context(), bindings(), []backend.Binding{{Memory: m.memory, Length: tensorBytes}})
		require.ErrorIs(t, err, nn.ErrClosed)
		require.NoError(t, other.Close())
		require.NoError(t, b.Close())
	})
}

// TestDeferredClose is what a program writes that opens both.
func TestDeferredClose(t *testing.T) {
	eachBackend(t, func(t *testing.T, open func() backend.Backend) {
		for _, deviceFirst := range []bool{true, false} {
			b := open()
			d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
			c, err := d.NewClient("test")
			require.NoError(t, err)
			pm, err := c.PrepareModel(t.Context(), relu())
			require.NoError(t, err)
			_, err = pm.Run(t.Context(), [][]byte{make([]byte, tensorBytes)}, pm.NewOutputs())
			require.NoError(t, err)
			if deviceFirst {
				require.NoError(t, d.Close())
				require.NoError(t, b.Close())
			} else {
				require.NoError(t, b.Close())
				require.NoError(t, d.Close())
			}
			look(b)
			require.NoError(t, d.Close())
		}
	})
}
