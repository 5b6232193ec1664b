package gpu

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/keep"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

// longLived is a plan that outlives its device: after a loss the next execution makes it anew, from the plan and the
// constants that were kept. Safe for concurrent use.
type longLived struct {
	devices *deviceChain
	plan    *plan.Plan // immutable
	o       vulkan.ExecutableOptions
	kept    keep.Weights
	stats   backend.Stats
	seed    []time.Duration // what the cost model expects of each segment

	at   atomic.Pointer[vulkan.Executable] // changes while lock is held
	lock chan struct{}                     // held by who puts something into it: makes the executable, or closes

	closed atomic.Bool // set while lock is held

	leaving sync.WaitGroup // executables of lost devices that wait for their last execution
}

// newLongLived makes an executable of p, whose constants are at the beginning of data; o and the errors as of
// vulkan.NewExecutableFrom.
func (b *Backend) newLongLived(ctx context.Context, p *plan.Plan, data backend.Data, o vulkan.ExecutableOptions) (*longLived, error) {
	d, err := b.devices.use()
	if err != nil {
		return nil, err
	}
	defer d.Release()
	x := &longLived{devices: &b.devices, plan: p, o: o, lock: make(chan struct{}, 1)}
	if data, err = x.kept.Take(data, p.WeightBytes, d.MapsWeights() && !b.copyWeights); err != nil {
		return nil, err
	}
	v, err := vulkan.NewExecutableFrom(ctx, d, p, data, o)
	if err == nil {
		if err = x.kept.Made(v); err != nil {
			err = errors.Join(err, v.Close())
		}
	}
	if err != nil {
		x.kept.Close()
		return nil, err
	}
	x.at.Store(v)
	x.o.Pause, x.o.First, x.o.GoOn = nil, nil, nil // whoever needs it made anew waits for it
	x.seed = v.Estimates()
	x.stats = v.Stats()
	x.stats.KeptBytes = x.kept.Bytes()
	return x, nil
}

// Plan is what x runs. It must not be changed.
func (x *longLived) Plan() *plan.Plan { return x.plan }

// Stats implements backend.Executable.
func (x *longLived) Stats() backend.Stats { return x.stats }

// Estimates implements backend.Executable.
func (x *longLived) Estimates() []time.Duration { return x.seed }

// Later implements backend.Executable.
func (x *longLived) Later() time.Duration { return 0 }

// Begin implements backend.Executable. After a loss of the device it takes as long as preparing the model did, or
// longer than ctx lasts.
func (x *longLived) Begin(ctx context.Context, inputs, outputs []backend.Binding) (backend.Execution, error) {
	return x.beginIn(ctx, 0, inputs, outputs)
}

// beginIn is Begin in arena n; see vulkan.Executable.BeginIn.
func (x *longLived) beginIn(ctx context.Context, n int, inputs, outputs []backend.Binding) (backend.Execution, error) {
	v, err := x.alive(ctx)
	if err != nil {
		return nil, err
	}
	e, err := v.BeginIn(ctx, n, inputs, outputs)
	if err != nil {
		if _, lost := v.Device().Lost(); lost != nil { // whatever became of v since
			return nil, lost
		}
		return nil, err
	}
	return e, nil
}

// Weights reads the packed constants back.
func (x *longLived) Weights() ([]byte, error) {
	v, err := x.alive(context.Background())
	if err != nil {
		return nil, err
	}
	return v.Weights()
}

// open is an error once x or the backend was closed.
func (x *longLived) open() error {
	if x.closed.Load() {
		return &nn.Error{Status: nn.StatusGeneralFailure, Where: "executable", Err: nn.ErrClosed}
	}
	return x.devices.open()
}

// alive returns x on a device that works, as far as is known.
func (x *longLived) alive(ctx context.Context) (*vulkan.Executable, error) {
	if err := x.open(); err != nil {
		return nil, err
	}
	v := x.at.Load()
	if _, lost := v.Device().Lost(); lost == nil {
		return v, nil
	}
	select {
	case x.lock <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-x.lock }()
	v = x.at.Load()
	if _, lost := v.Device().Lost(); lost == nil || x.closed.Load() {
		return v, nil
	}
	return x.rebuild(ctx, v)
}

// rebuild makes x anew; old is where it was. Precondition: lock is held.
func (x *longLived) rebuild(ctx context.Context, old *vulkan.Executable) (*vulkan.Executable, error) {
	d, err := x.devices.use()
	if err != nil {
		return nil, err
	}
	defer d.Release()
	v, err := vulkan.NewExecutableFrom(ctx, d, x.plan, x.kept.From(old), x.o)
	if err != nil {
		return nil, err
	}
	if !x.kept.Same(v) {
		err := nn.Errorf(nn.StatusDeviceUnavailable, "model", "its constants were lost with the device")
		return nil, errors.Join(err, v.Close())
	}
	x.at.Store(v)
	x.leaving.Go(func() { _ = old.Close() }) // waits for its executions
	return v, nil
}

// Close implements backend.Executable.
func (x *longLived) Close() error {
	x.lock <- struct{}{}
	defer func() { <-x.lock }()
	if x.closed.Swap(true) {
		return nil
	}
	err := x.at.Load().Close()
	x.leaving.Wait()
	x.kept.Close()
	return err
}
