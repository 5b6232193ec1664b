package driver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/null"
	"github.com/nngpu/nngpu/tests/logtest"
)

// storing is a backend that stores what it compiles. It computes models of binaryModel: the operation is the
// model part of the stored form, the constant is the data part.
type storing struct {
	null.Backend
	identity string
	// storeErr, when not nil, is why nothing can be stored; restoreErr why nothing comes back.
	storeErr, restoreErr error

	compiled, restored, open atomic.Int32
}

func (s *storing) Info() backend.Info {
	return backend.Info{Name: "storing", Driver: "test", Type: backend.TypeOther}
}

func (s *storing) Supports(m *nn.Model) ([]error, error) {
	return make([]error, len(m.Main.Operations)), nil
}

func (s *storing) Close() error { return nil }

func (s *storing) StoreIdentity() string { return s.identity }

func (s *storing) Compile(_ context.Context, m *nn.Model, o backend.Options) (backend.Executable, error) {
	s.compiled.Add(1)
	op := m.Main.Operations[0]
	value, err := m.Value(&m.Main.Operands[op.Inputs[1]])
	if err != nil {
		return nil, err
	}
	s.open.Add(1)
	return &storedProgram{s, o, op.Type, append([]byte(nil), value...)}, nil
}

func (s *storing) Restore(_ context.Context, model []byte, data backend.Data, o backend.Options) (backend.Executable, error) {
	if s.restoreErr != nil {
		return nil, s.restoreErr
	}
	var op nn.OperationType
	if _, err := fmt.Sscanf(string(model), "operation %d", &op); err != nil {
		return nil, err
	}
	constant := make([]byte, data.Size())
	if _, err := io.ReadFull(io.NewSectionReader(data, 0, data.Size()), constant); err != nil {
		return nil, err
	}
	s.restored.Add(1)
	s.open.Add(1)
	return &storedProgram{s, o, op, constant}, nil
}

type storedProgram struct {
	b        *storing
	options  backend.Options
	op       nn.OperationType
	constant []byte
}

func (p *storedProgram) Store() (model, data []byte, err error) {
	switch {
	case p.b.storeErr != nil:
		return nil, nil, p.b.storeErr
	case !p.options.Storable:
		return nil, nil, errors.New("not storable")
	}
	return fmt.Appendf(nil, "operation %d", p.op), p.constant, nil
}

func (p *storedProgram) SetEstimates([]time.Duration) {}

func (p *storedProgram) StoreModel() (model []byte, err error) {
	model, _, err = p.Store()
	return model, err
}

// Stats tell the options of the compilation, for tests: there is no other way to see them from outside.
func (p *storedProgram) Stats() backend.Stats {
	return backend.Stats{Segments: 1, Pipelines: int(p.options.Preference), Dispatches: int(p.options.Priority)}
}

func (p *storedProgram) Estimates() []time.Duration { return []time.Duration{time.Millisecond} }

func (p *storedProgram) Later() time.Duration { return 0 }

func (p *storedProgram) Begin(_ context.Context, inputs, outputs []backend.Binding) (backend.Execution, error) {
	return &storedRun{p, inputs, outputs}, nil
}

func (p *storedProgram) Close() error {
	p.b.open.Add(-1)
	return nil
}

type storedRun struct {
	p               *storedProgram
	inputs, outputs []backend.Binding
}

func (r *storedRun) Submit(int, int) (backend.Fence, error) { return done{}, nil }
func (r *storedRun) DeviceTime() time.Duration              { return 0 }
func (r *storedRun) Segments() int                          { return 1 }
func (r *storedRun) SegmentTimes() []time.Duration          { return nil }
func (r *storedRun) Traffic() backend.Traffic               { return backend.Traffic{} }
func (r *storedRun) OutputDims() []nn.Dims                  { return nil }
func (r *storedRun) SyncFile() (*os.File, error)            { return nil, backend.ErrNoSyncFile }
func (r *storedRun) Release()                               {}

func (r *storedRun) Finish() error {
	for i, x := range r.inputs[0].Host {
		c := r.p.constant[i%len(r.p.constant)]
		if r.p.op == nn.OpAdd {
			r.outputs[0].Host[i] = x + c
		} else {
			r.outputs[0].Host[i] = x * c
		}
	}
	return nil
}

type done struct{}

func (done) Wait(context.Context) error { return nil }

// binaryModel is x OP 3 of 8-bit tensors [1, 5].
func binaryModel(op nn.OperationType, constant byte) *nn.Model {
	var b nn.Builder
	dims := nn.Dims{1, 5}
	x := b.Input(nn.TensorQuant8Asymm, dims, 1, 0)
	c := b.Const(nn.TensorQuant8Asymm, dims, 0.5, 0, []byte{constant, constant, constant, constant, constant})
	y := b.Temp(nn.TensorQuant8Asymm, dims, 1, 0)
	b.Op(op, []uint32{x, c, b.Scalar(0)}, []uint32{y})
	b.Output(y)
	return nntest.Build(&b)
}

// runBinary gives the result of a model of binaryModel for 7 at every place.
func runBinary(t *testing.T, pm *driver.PreparedModel) byte {
	t.Helper()
	out := pm.NewOutputs()
	_, err := pm.Run(t.Context(), [][]byte{{7, 7, 7, 7, 7}}, out)
	require.NoError(t, err)
	for _, v := range out[0] {
		require.Equal(t, out[0][0], v)
	}
	return out[0][0]
}

// storingOptions are those of a device for openStoring.
type storingOptions struct {
	driver.CacheOptions
	warn func(logtest.Warning) // nil: warnings go nowhere
}

// uncached has no transparent cache.
var uncached = storingOptions{CacheOptions: driver.CacheOptions{Off: true}}

// cacheOptions are folders of the test's own; warnings are counted.
func cacheOptions(t *testing.T, warned *atomic.Int32) storingOptions {
	t.Helper()
	dir := t.TempDir()
	return storingOptions{
		driver.CacheOptions{Dir: filepath.Join(dir, "cache"), StateDir: filepath.Join(dir, "state")},
		func(w logtest.Warning) {
			warned.Add(1)
			t.Logf("warning: %s: %v", w.Message, w.Err)
		},
	}
}

// openStoring returns a client of a new device, as a new process would have it.
func openStoring(t *testing.T, b backend.Backend, o storingOptions) *driver.Client {
	t.Helper()
	warn := o.warn
	if warn == nil {
		warn = func(logtest.Warning) {}
	}
	d := driver.NewDevice(b, driver.WithCache(o.CacheOptions), driver.WithLogger(logtest.New(warn)))
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	c, err := d.NewClient("test")
	require.NoError(t, err)
	return c
}
