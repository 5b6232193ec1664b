package driver_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// explosive is a file whose methods panic at the end of the fuse: after so many calls of Size, or when it is
// read or written.
type explosive struct {
	size int64
	fuse int
}

func (e *explosive) Size() int64 {
	if e.fuse--; e.fuse == 0 {
		panic("a client's memory panics")
	}
	return e.size
}
func (e *explosive) Bytes() ([]byte, error)             { return nil, nil }
func (e *explosive) ReadAt([]byte, int64) (int, error)  { panic("a client's memory panics") }
func (e *explosive) WriteAt([]byte, int64) (int, error) { panic("a client's memory panics") }

// TestRecoveredPanics: a server that recovers its handlers goes on after a panic in a call, whatever the call had counted,
// locked or taken until then.
func TestRecoveredPanics(t *testing.T) {
	type env struct {
		d      *driver.Device
		c      *driver.Client
		pm     *driver.PreparedModel
		buffer *driver.Buffer // the second input
	}
	ctx := context.Background()
	wholePool := nn.RequestArgument{Location: nn.Location{Length: 6}}
	second := nn.RequestArgument{Location: nn.Location{PoolIndex: 1}}
	third := nn.RequestArgument{Location: nn.Location{PoolIndex: 2, Length: 6}}
	request := func(e *env, in, out nn.Memory) *nn.Request {
		return &nn.Request{
			Inputs: []nn.RequestArgument{wholePool, second}, Outputs: []nn.RequestArgument{third},
			Pools: []nn.Memory{in, e.buffer.Token(), out},
		}
	}
	six := make(nn.HostMemory, 6)
	for name, call := range map[string]func(e *env, fuse int){
		"supported operations": func(e *env, fuse int) {
			_, _, _ = e.d.SupportedOperations(constantModel(&explosive{24, fuse}))
		},
		"prepare": func(e *env, fuse int) { _, _ = e.c.PrepareModel(ctx, constantModel(&explosive{24, fuse})) },
		"prepare with a nil option": func(e *env, _ int) {
			_, _ = e.c.PrepareModel(ctx, addModel(), nil)
		},
		"prepare without a context": func(e *env, _ int) {
			//lint:ignore SA1012 a nil context is what is tested
			_, _ = e.c.PrepareModel(nil, addModel())
		},
		"execute, input":  func(e *env, fuse int) { _, _ = e.pm.Execute(ctx, request(e, &explosive{6, fuse}, six)) },
		"execute, output": func(e *env, fuse int) { _, _ = e.pm.Execute(ctx, request(e, six, &explosive{6, fuse})) },
		"burst": func(e *env, fuse int) {
			_, _ = e.pm.Burst().Execute(ctx, request(e, &explosive{6, fuse}, six), []int32{0, 1, 2})
		},
		"execute fenced": func(e *env, fuse int) {
			if fuse > 0 && fuse < 3 { // later ones are those of a goroutine that nobody can recover
				_, _ = e.pm.ExecuteFenced(ctx, request(e, &explosive{6, fuse}, six), nil)
			}
		},
		"new execution": func(e *env, fuse int) { _, _ = e.pm.NewExecution(request(e, &explosive{6, fuse}, six)) },
		"copy from":     func(e *env, fuse int) { _ = e.buffer.CopyFrom(ctx, &explosive{6, fuse}, nil) },
		"copy to":       func(e *env, fuse int) { _ = e.buffer.CopyTo(ctx, &explosive{6, fuse}) },
	} {
		t.Run(name, func(t *testing.T) {
			d := driver.NewDevice(&null.Backend{Compute: add}, driver.WithCache(driver.CacheOptions{Off: true}))
			c, err := d.NewClient("test")
			require.NoError(t, err)
			pm := prepareOn(t, c, addModel())
			e := &env{d: d, c: c, pm: pm, buffer: allocate(t, c, nil, roleOf(pm, 1), nil)}
			for fuse := range 10 { // 0 leaves Size alone
				require.NoError(t, within(t, "use the buffer", func(ctx context.Context) error { return e.buffer.CopyFrom(ctx, six, nil) }))
				func() {
					defer func() { _ = recover() }()
					call(e, fuse)
				}()
			}
			require.NoError(t, within(t, "execute", func(ctx context.Context) error {
				require.NoError(t, e.buffer.CopyFrom(ctx, six, nil))
				_, err := pm.Execute(ctx, request(e, six, make(nn.HostMemory, 6)))
				return err
			}))
			require.NoError(t, within(t, "close", func(context.Context) error { return d.Close() }))
		})
	}
}

// within fails the test where f does not return in time.
func within(t *testing.T, what string, f func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	select {
	case err := <-done:
		return err
	case <-time.After(10 * time.Second):
		require.FailNow(t, what+" hangs")
		return nil
	}
}
