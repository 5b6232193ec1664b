package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/numbers"
	"github.com/nngpu/nngpu/memory"
)

// Values of --io: where inputs and outputs lie.
const (
	ioHost   = "host"   // in the caller's own memory
	ioPool   = "pool"   // in shared memory that nobody can shrink
	ioDevice = "device" // in buffers of the driver
)

func checkIO(kind string) error {
	switch kind {
	case ioHost, ioPool, ioDevice:
		return nil
	}
	return usageError("--io is host, pool or device, not %q", kind)
}

// boundRun executes a prepared model again and again over the same memories. Not safe for concurrent use.
type boundRun struct {
	model   *driver.PreparedModel
	request nn.Request
	closers []func() error
}

func (r *boundRun) run(ctx context.Context) (*driver.Result, error) {
	return r.runWith(ctx, driver.WithTiming())
}

func (r *boundRun) runWith(ctx context.Context, o ...driver.ExecuteOption) (*driver.Result, error) {
	return r.model.Execute(ctx, &r.request, o...)
}

// close frees the memories. Precondition: no execution is going on.
func (r *boundRun) close() error {
	var errs []error
	for _, f := range r.closers {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// bindRun places inputs, and room for the outputs, as kind says. Preconditions: kind is known, and every input has a
// value. The caller closes what it returns.
func bindRun(ctx context.Context, s *session, inputs [][]byte, kind string) (_ *boundRun, err error) {
	r := &boundRun{model: s.model}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	place := map[string]func(context.Context, *session, int, []byte, bool) (nn.Memory, error){
		ioHost: r.inHost, ioPool: r.inPool, ioDevice: r.onDevice,
	}[kind]
	for _, side := range []struct {
		data   [][]byte
		args   *[]nn.RequestArgument
		output bool
	}{{inputs, &r.request.Inputs, false}, {s.model.NewOutputs(), &r.request.Outputs, true}} {
		for i, b := range side.data {
			m, err := place(ctx, s, i, b, side.output)
			if err != nil {
				return nil, fmt.Errorf("--io %s: %w", kind, err)
			}
			at := nn.Location{PoolIndex: uint32(len(r.request.Pools))}
			if kind != ioDevice {
				at.Length = uint32(len(b))
			}
			r.request.Pools = append(r.request.Pools, m)
			*side.args = append(*side.args, nn.RequestArgument{Location: at})
		}
	}
	return r, nil
}

func (r *boundRun) inHost(_ context.Context, _ *session, _ int, data []byte, _ bool) (nn.Memory, error) {
	return nn.HostMemory(data), nil
}

func (r *boundRun) inPool(_ context.Context, _ *session, _ int, data []byte, _ bool) (nn.Memory, error) {
	p, err := memory.NewAshmem("nngpu bench", int64(len(data)))
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, p.Close)
	mapped, err := p.Bytes()
	if err != nil {
		return nil, err
	}
	copy(mapped, data)
	return p, nil
}

func (r *boundRun) onDevice(ctx context.Context, s *session, i int, data []byte, output bool) (nn.Memory, error) {
	roles := []driver.BufferRole{{Model: s.model, Index: i, Probability: 1}}
	if output {
		b, err := s.client.Allocate(driver.BufferDesc{}, nil, roles)
		if err != nil {
			return nil, err
		}
		r.closers = append(r.closers, b.Close)
		return b.Token(), nil
	}
	b, err := s.client.Allocate(driver.BufferDesc{}, roles, nil)
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, b.Close)
	return b.Token(), b.CopyFrom(ctx, nn.HostMemory(data), nil)
}

// runDetails is what executions tell beside the time that they took. The zero value is for no executions. Safe for
// concurrent use.
type runDetails struct {
	mu                sync.Mutex
	runs              int64           // guarded by mu
	copied, converted int64           // guarded by mu; bytes
	first, last       time.Duration   // guarded by mu; predicted
	device            []time.Duration // guarded by mu; where it is known
}

// add counts an execution.
func (d *runDetails) add(r *driver.Result) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.runs == 0 {
		d.first = r.Predicted
	}
	d.last = r.Predicted
	d.runs++
	d.copied += r.Traffic.Copied
	d.converted += r.Traffic.Converted
	if r.OnDevice > 0 {
		d.device = append(d.device, r.OnDevice)
	}
}

// perRun is the mean, in bytes.
func (d *runDetails) perRun() (copied, converted int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.runs == 0 {
		return 0, 0
	}
	return d.copied / d.runs, d.converted / d.runs
}

// onDevice is the median in milliseconds; 0 where it is not known.
func (d *runDetails) onDevice() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return median(d.device)
}

// randomInputs fills each input with numbers of a fixed seed.
func randomInputs(m *nn.Model) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	inputs := make([][]byte, len(m.Main.Inputs))
	for i := range inputs {
		o := operand(m, m.Main.Inputs, i)
		inputs[i] = numbers.Random(rng, o.Type, byteSize(o))
	}
	return inputs
}
