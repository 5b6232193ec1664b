package driver_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// phased is storing with quick and optimised forms, which Stats tell apart, and with estimates.
type phased struct {
	storing
	// hold, when not nil, holds optimised compilations until it is closed or their context ends.
	hold chan struct{}
	// fail, when not nil, says how a compilation fails.
	fail func(o backend.Options) error
	// finish, when not nil, holds executions of the quick form until it is closed.
	finish chan struct{}
	// loading is what Restore takes.
	loading time.Duration
	// quickTime and optimisedTime are the estimates of an executable; 0 for 1.
	quickTime, optimisedTime time.Duration
	// quickBytes and optimisedBytes are the weights of an executable.
	quickBytes, optimisedBytes int64

	quick, optimised   atomic.Int32  // compilations
	at, most           atomic.Int32  // optimised compilations at once
	beginnings         atomic.Int32  // of executions
	began, quickClosed chan struct{} // sends for each, never blocks
}

func newPhased() *phased {
	return &phased{began: make(chan struct{}, 100), quickClosed: make(chan struct{}, 100)}
}

// Numbers of pipelines by form.
const (
	quickPipelines     = 1
	optimisedPipelines = 2
)

func (b *phased) Compile(ctx context.Context, m *nn.Model, o backend.Options) (backend.Executable, error) {
	if o.Quick {
		b.quick.Add(1)
	} else {
		b.optimised.Add(1)
		b.most.Store(max(b.most.Load(), b.at.Add(1)))
		defer b.at.Add(-1)
		b.began <- struct{}{}
		if b.hold != nil {
			select {
			case <-b.hold:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	if b.fail != nil {
		if err := b.fail(o); err != nil {
			return nil, err
		}
	}
	exe, err := b.storing.Compile(ctx, m, o)
	if err != nil {
		return nil, err
	}
	estimate := b.optimisedTime
	if o.Quick {
		estimate = b.quickTime
	}
	return &phasedProgram{storedProgram: exe.(*storedProgram), b: b, quick: o.Quick, estimate: cmp.Or(estimate, 1)}, nil
}

func (b *phased) Restore(_ context.Context, model []byte, data backend.Data, o backend.Options) (backend.Executable, error) {
	time.Sleep(b.loading)
	p := &phasedProgram{storedProgram: &storedProgram{b: &b.storing, options: o}, b: b}
	if _, err := fmt.Sscanf(string(model), "%d %t %d", &p.op, &p.quick, &p.estimate); err != nil {
		return nil, err
	}
	p.constant = make([]byte, data.Size())
	if _, err := io.ReadFull(io.NewSectionReader(data, 0, data.Size()), p.constant); err != nil {
		return nil, err
	}
	b.restored.Add(1)
	b.open.Add(1)
	return p, nil
}

type phasedProgram struct {
	*storedProgram
	b       *phased
	quick   bool
	running sync.WaitGroup

	mu       sync.Mutex
	estimate time.Duration // guarded by mu
}

func (p *phasedProgram) Store() (model, data []byte, err error) {
	if _, data, err = p.storedProgram.Store(); err != nil {
		return nil, nil, err
	}
	model, err = p.StoreModel()
	return model, data, err
}

func (p *phasedProgram) StoreModel() ([]byte, error) {
	return fmt.Appendf(nil, "%d %t %d", p.op, p.quick, p.Estimates()[0]), nil
}

func (p *phasedProgram) SetEstimates(list []time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(list) == 1 {
		p.estimate = list[0]
	}
}

func (p *phasedProgram) Estimates() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []time.Duration{p.estimate}
}

func (p *phasedProgram) Stats() backend.Stats {
	if p.quick {
		return backend.Stats{Segments: 1, Pipelines: quickPipelines, WeightBytes: p.b.quickBytes, Quick: true}
	}
	return backend.Stats{Segments: 1, Pipelines: optimisedPipelines, WeightBytes: p.b.optimisedBytes}
}

func (p *phasedProgram) Begin(ctx context.Context, inputs, outputs []backend.Binding) (backend.Execution, error) {
	p.running.Add(1)
	p.b.beginnings.Add(1)
	x, err := p.storedProgram.Begin(ctx, inputs, outputs)
	return &phasedRun{Execution: x, p: p}, err
}

func (p *phasedProgram) Close() error {
	p.running.Wait()
	err := p.storedProgram.Close()
	if p.quick {
		p.b.quickClosed <- struct{}{}
	}
	return err
}

type phasedRun struct {
	backend.Execution
	p    *phasedProgram
	once sync.Once
}

func (r *phasedRun) Finish() error {
	if r.p.quick && r.p.b.finish != nil {
		<-r.p.b.finish
	}
	return r.Execution.Finish()
}

func (r *phasedRun) Release() { r.once.Do(r.p.running.Done) }

// await waits for a signal of phased.
func await(t *testing.T, c chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatal("nothing happened for a minute")
	}
}

// prepareTen prepares 5 plus 3 and closes the model with the test at the latest.
func prepareTen(t *testing.T, c *driver.Client, opts ...driver.Option) *driver.PreparedModel {
	t.Helper()
	pm, err := c.PrepareModel(t.Context(), binaryModel(nn.OpAdd, 3), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pm.Close()) })
	return pm
}

// requireTen runs a model of prepareTen.
func requireTen(t *testing.T, pm *driver.PreparedModel) {
	t.Helper()
	require.Equal(t, byte(10), runBinary(t, pm))
}

// handlesOf counts the open handles of a file in this process.
func handlesOf(t *testing.T, path string) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	for _, e := range list {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && to == path {
			n++
		}
	}
	return n
}
