package conformancerun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/internal/conformancedata"
)

// Form is a way to run a model other than as it is written.
type Form string

// Forms. In those from Open on the model leaves open the dimensions of inputs, intermediate results and outputs, and executions
// give those of the inputs.
const (
	Threads      Form = "threads"      // several executions at once
	Constants    Form = "constants"    // constants that may be inputs are inputs
	OutputsOpen  Form = "outputs-open" // only the outputs' dimensions are open
	Open         Form = "open"
	RanksOpen    Form = "ranks-open"   // and the ranks
	Insufficient Form = "insufficient" // the first output lacks a byte of room, then has it
	Buffers      Form = "buffers"      // inputs and outputs lie in buffers of the driver
	Fenced       Form = "fenced"       // which gives the dimensions of outputs as well
)

// Forms lists them.
var Forms = []Form{Threads, Constants, OutputsOpen, Open, RanksOpen, Insufficient, Buffers, Fenced}

// RunForm derives form f of c, prepares it on dev, runs it twice and compares. The verdict is Refused where the device
// does not run c itself either, or c cannot be varied so; with ErrData, where dimensions depend on data and the device
// does not run that.
func RunForm(ctx context.Context, dev *driver.Device, client *driver.Client, c *conformancedata.Case, f Form) Outcome {
	_, reasons, err := dev.SupportedOperations(c.Model)
	if err == nil {
		err = firstRefusal(c, reasons)
	}
	if err != nil {
		return Outcome{Refused, err}
	}
	derived, ok := f.derive(c)
	if !ok {
		return Outcome{Refused, errors.New("the suite does not vary it so")}
	}
	_, reasons, err = dev.SupportedOperations(derived.Model)
	if err != nil {
		return Outcome{Failed, fmt.Errorf("supported operations: %w", err)}
	}
	pm, err := client.PrepareModel(ctx, derived.Model)
	if refusal := firstRefusal(derived, reasons); (refusal == nil) != (err == nil) {
		return Outcome{Failed, errors.Join(fmt.Errorf("support: %v; preparation: %v", refusal, err), closeModel(pm))}
	}
	if f == Constants {
		c = derived
	}
	r := &formRun{pm: pm, c: c, derived: derived, form: f}
	if r.fromData, _ = r.needsData(); r.fromData && errors.Is(err, nn.ErrUnsupported) {
		return Outcome{Refused, fmt.Errorf("%w: %w", ErrData, err)}
	}
	if err != nil {
		return Outcome{Failed, fmt.Errorf("supported with known dimensions, but not prepared: %w", err)}
	}
	for range 2 {
		if err = r.run(ctx, client); err != nil {
			break
		}
	}
	if r.fromData && errors.Is(err, nn.ErrUnsupported) {
		err = errors.Join(fmt.Errorf("%w: %w", ErrData, err), pm.Close())
		return Outcome{Refused, err}
	}
	if err = errors.Join(err, pm.Close()); err != nil {
		return Outcome{Failed, err}
	}
	return Outcome{Passed, nil}
}

// derive is c in form f.
func (f Form) derive(c *conformancedata.Case) (*conformancedata.Case, bool) {
	switch f {
	case Threads:
		return c, !c.ExpectFailure
	case Constants:
		return constantsAsInputs(c)
	case OutputsOpen:
		return c.DynamicOutputs()
	case Insufficient:
		if y := c.Model.Main.Outputs; len(y) > 0 && !c.Model.Main.Operands[y[0]].Type.IsTensor() {
			return nil, false // a scalar has its size
		}
		if len(c.Expected) > 0 && len(c.Expected[0].Data) == 0 && !c.ExpectFailure {
			return nil, false // any room is enough
		}
	}
	return c.Open(f == RanksOpen)
}

// ErrData says that a device does not run operations of which only the data tells the dimensions.
var ErrData = errors.New("dimensions depend on data")

func closeModel(pm *driver.PreparedModel) error {
	if pm == nil {
		return nil
	}
	return pm.Close()
}

// formRun is an execution of a form.
type formRun struct {
	pm         *driver.PreparedModel
	c, derived *conformancedata.Case
	form       Form
	fromData   bool // only the data tells some dimensions
}

// needsData reports whether dimensions of results of operations stay open, in any graph, and whether any are of
// outputs.
func (r *formRun) needsData() (some, outputs bool) {
	dims := make([]nn.Dims, len(r.c.Inputs))
	for i := range dims {
		if r.c.Inputs[i] != nil {
			dims[i] = r.inputDims(i)
		}
	}
	m, err := validate.Resolve(r.derived.Model, dims)
	if err != nil {
		return false, false
	}
	return validate.FromData(m), slices.ContainsFunc(m.Main.Outputs, func(y uint32) bool { return isOpen(&m.Main.Operands[y]) })
}

func isOpen(o *nn.Operand) bool { return !o.Dims.Known() || o.Type.IsTensor() && len(o.Dims) == 0 }

func (r *formRun) run(ctx context.Context, client *driver.Client) error {
	outputs := r.newOutputs()
	switch r.form {
	case Insufficient:
		if err := r.runShort(ctx, outputs); err != nil {
			return err
		}
	case Buffers:
		return r.runInBuffers(ctx, client, outputs)
	case Fenced:
		return r.runFenced(ctx, outputs)
	case Threads:
		return r.runThreads(ctx)
	}
	return r.runOnce(ctx, outputs)
}

func (r *formRun) runOnce(ctx context.Context, outputs [][]byte) error {
	res, err := r.pm.Execute(ctx, r.request(outputs))
	if err != nil {
		return err
	}
	return compare(r.derived, res.Shapes, outputs)
}

func (r *formRun) newOutputs() [][]byte {
	outputs := make([][]byte, len(r.derived.Expected))
	for i := range outputs {
		outputs[i] = make([]byte, len(r.derived.Expected[i].Data))
	}
	return outputs
}

// runThreads executes from several goroutines at once, more often than a backend keeps frames.
func (r *formRun) runThreads(ctx context.Context) error {
	var g errgroup.Group
	for range 4 {
		g.Go(func() error { return r.runOnce(ctx, r.newOutputs()) })
	}
	return g.Wait()
}

// request gives the dimensions of the inputs.
func (r *formRun) request(outputs [][]byte) *nn.Request {
	q := &nn.Request{}
	arg := func(b []byte, dims nn.Dims) nn.RequestArgument {
		q.Pools = append(q.Pools, nn.HostMemory(b))
		at := nn.Location{PoolIndex: uint32(len(q.Pools) - 1), Length: uint32(len(b))}
		return nn.RequestArgument{Location: at, Dims: dims}
	}
	for i, b := range r.c.Inputs {
		if b == nil {
			q.Inputs = append(q.Inputs, nn.RequestArgument{HasNoValue: true})
			continue
		}
		q.Inputs = append(q.Inputs, arg(b, r.inputDims(i)))
	}
	for _, b := range outputs {
		q.Outputs = append(q.Outputs, arg(b, nil))
	}
	return q
}

// inputDims are those that c states of input i.
func (r *formRun) inputDims(i int) nn.Dims {
	return slices.Clone(r.c.Model.Main.Operands[r.c.Model.Main.Inputs[i]].Dims)
}

// runShort expects to be told how much room the first output needs, and nothing to be written to it. The missing byte
// is padding. Where only the data tells dimensions, other outputs may be written, and be unknown.
func (r *formRun) runShort(ctx context.Context, outputs [][]byte) error {
	_, fromData := r.needsData()
	q := r.request(outputs)
	q.Outputs[0].Location.Length--
	q.Outputs[0].Location.Padding++
	res, err := r.pm.Execute(ctx, q)
	if nn.StatusOf(err) != nn.StatusOutputInsufficientSize || res == nil {
		return fmt.Errorf("too little room gives %w", err)
	}
	for i := range outputs {
		s := res.Shapes[i]
		if s.IsSufficient != (i > 0) || !mayBe(s.Dims, r.derived.Expected[i].Dims, fromData && i > 0) {
			return fmt.Errorf("output %d: %v, sufficient: %v; it needs %v", i, s.Dims, s.IsSufficient, r.derived.Expected[i].Dims)
		}
		if !(fromData && i > 0) && slices.ContainsFunc(outputs[i], func(b byte) bool { return b != 0 }) {
			return fmt.Errorf("output %d was written", i)
		}
	}
	return nil
}

// mayBe reports whether dimensions are those that are wanted, as far as they are known where partly is set.
func mayBe(d, want nn.Dims, partly bool) bool {
	if !partly || len(d) == 0 {
		return partly || d.Equal(want)
	}
	return slices.EqualFunc(d, want, func(a, b uint32) bool { return a == 0 || a == b })
}

func (r *formRun) runInBuffers(ctx context.Context, client *driver.Client, outputs [][]byte) (err error) {
	q := r.request(outputs)
	q.Pools = nil
	use := func(a *nn.RequestArgument, b *driver.Buffer) {
		a.Location, a.Dims = nn.Location{PoolIndex: uint32(len(q.Pools))}, nil
		q.Pools = append(q.Pools, b.Token())
	}
	for i, value := range r.c.Inputs {
		if value == nil {
			continue
		}
		b, err := client.Allocate(driver.BufferDesc{}, []driver.BufferRole{{Model: r.pm, Index: i, Probability: 1}}, nil)
		if err != nil {
			return fmt.Errorf("buffer of input %d: %w", i, err)
		}
		defer b.Close() // nothing of it is wanted any more
		if err := b.CopyFrom(ctx, nn.HostMemory(value), r.inputDims(i)); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		use(&q.Inputs[i], b)
	}
	results := make([]*driver.Buffer, len(outputs))
	for i := range outputs {
		if results[i], err = client.Allocate(driver.BufferDesc{}, nil, []driver.BufferRole{{Model: r.pm, Index: i, Probability: 1}}); err != nil {
			return fmt.Errorf("buffer of output %d: %w", i, err)
		}
		defer results[i].Close() // it was read
		use(&q.Outputs[i], results[i])
	}
	res, err := r.pm.Execute(ctx, q)
	if err != nil {
		return err
	}
	for i := range outputs {
		if err := results[i].CopyTo(ctx, nn.HostMemory(outputs[i])); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return compare(r.derived, res.Shapes, outputs)
}

func (r *formRun) runFenced(ctx context.Context, outputs [][]byte) error {
	q := r.request(outputs)
	for i := range q.Outputs {
		q.Outputs[i].Dims = slices.Clone(r.derived.Expected[i].Dims)
	}
	first := driver.NewFence()
	e, err := r.pm.ExecuteFenced(ctx, q, []*driver.Fence{first})
	if slices.ContainsFunc(r.derived.Expected, func(o conformancedata.Output) bool { return !o.Dims.Known() }) {
		if nn.StatusOf(err) != nn.StatusInvalidArgument { // a fence cannot promise a result without elements
			return fmt.Errorf("a fenced execution with an empty result: %w", cmp.Or(err, errors.New("passed")))
		}
		return nil
	}
	if err != nil {
		return err
	}
	first.Signal(nil)
	if err := e.Fence().Wait(ctx); err != nil {
		return err
	}
	res, err := e.Result()
	if err != nil {
		return err
	}
	return compare(r.derived, res.Shapes, outputs)
}
