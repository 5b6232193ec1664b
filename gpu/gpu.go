// Package gpu is the Vulkan backend: it compiles models for a device and runs them.
//
//	b, err := gpu.Open("", gpu.Options{})
//	dev := driver.NewDevice(b)
package gpu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/shaders"
)

// Options configure a device.
type Options struct {
	// MemoryBudget bounds the device bytes in use at once; 0 for what the device offers.
	MemoryBudget int64
	// Staged copies inputs and outputs to and from the arena even where the device reads host memory as fast:
	// the way of discrete GPUs, which tests take on every device.
	Staged bool
	// AlwaysQuick prefers the quick form even where the optimised one would be ready sooner; for tests.
	AlwaysQuick bool
	// Watchdog is how long a piece of work may run, or 50 times its estimate if that is longer, before the device
	// counts as hung and is given up; 0 for 10 seconds, negative for ever.
	Watchdog time.Duration
	// Timing says whose clock times executions.
	Timing Timing
	// Windows lets Backend.OpenScreen be called.
	Windows bool
}

// Timing says whose clock times executions; values other than the usual one let tests time any device as each kind of
// device is timed.
type Timing = vulkan.Timing

const (
	TimingUsual  = vulkan.TimingUsual  // software devices by the host's clock, all others by their own timestamps if they have any
	TimingDevice = vulkan.TimingDevice // every device by its timestamps, as GPUs are
	TimingHost   = vulkan.TimingHost   // every device as one without timestamps
)

// Backend is one Vulkan device. Safe for concurrent use.
//
// When the device is lost, or hangs, the work on it fails with DEVICE_UNAVAILABLE; the next call opens it again, and
// executables come back with their next execution. Memory does not, see backend.Memory.Lost. A device that is lost
// again within a minute stays lost.
type Backend struct {
	device  *vulkan.Device // as it was first opened; devices has the one that works
	devices deviceChain
	facts   plan.Facts // without what the self-test found wrong
	why     string     // see Why
	test    string     // see SelfTest
	rates   rateStore
	trust   trust
	// alwaysQuick: see Options.
	alwaysQuick bool
	// copyWeights keeps copies of constants even where the host sees those of the device, for tests.
	copyWeights bool
}

var _ backend.Backend = (*Backend)(nil)

// Open opens a device: "" for the best one (discrete, integrated, then software), an index or a part of a
// name as Devices lists them, "swiftshader" or "lavapipe". The caller closes it, usually through
// driver.Device.
//
// A device that is opened for the first time is tested with one small kernel, and what came out is kept in
// $XDG_STATE_HOME/nngpu (~/.local/state/nngpu); NNGPU_SELFTEST=off leaves the test out.
//
// Errors: DEVICE_UNAVAILABLE where there is no such device or it fails the test.
func Open(selector string, o Options) (*Backend, error) {
	b := &Backend{}
	d, err := vulkan.Open(selector, vulkan.Options{MemoryBudget: o.MemoryBudget, Watchdog: o.Watchdog, Timing: o.Timing, Windows: o.Windows, Lost: b.devices.lost})
	if err != nil {
		return nil, &nn.Error{Status: nn.StatusDeviceUnavailable, Where: "Vulkan device", Err: err}
	}
	why := "the best device found"
	if selector != "" {
		why = fmt.Sprintf("chosen by %q", selector)
	}
	facts, test, err := checkDevice(d)
	if err != nil {
		return nil, &nn.Error{Status: nn.StatusDeviceUnavailable, Where: "Vulkan device", Err: errors.Join(err, d.Close())}
	}
	b.device, b.devices.current, b.facts, b.why, b.test = d, d, facts, why, test
	b.alwaysQuick = o.AlwaysQuick
	if o.Staged {
		b.facts.Unified = false
	}
	b.rates.open(d, b.facts)
	b.trust.open(d, b.facts.Class)
	return b, nil
}

// LogTo implements backend.Backend.
func (b *Backend) LogTo(l *slog.Logger) {
	b.devices.log.Store(l)
	l.Debug("the device was opened", "driver", b.Info().Driver, "why", b.why, "self_test", b.test)
	if b.device.Unvalidated() {
		b.devices.warn("the validation layer was asked for and is not installed")
	}
}

// SelfTest is the verdict of the self-test in a line.
func (b *Backend) SelfTest() string { return b.test }

// Why says why this device was opened.
func (b *Backend) Why() string { return b.why }

// Info implements backend.Backend.
func (b *Backend) Info() backend.Info { return b.device.Info() }

// Supports implements backend.Backend.
func (b *Backend) Supports(m *nn.Model) ([]error, error) {
	if err := checkModel(m); err != nil {
		return nil, err
	}
	d, err := b.devices.use()
	if err != nil {
		return nil, err
	}
	defer d.Release()
	return compile.Supports(&b.facts, m)
}

// checkModel refuses a model that is nil, or whose pools are. All else validate.Model has refused.
func checkModel(m *nn.Model) error {
	if err := nn.NotNil("model", m); err != nil {
		return err
	}
	for i, p := range m.Pools {
		if err := nn.NotNil(fmt.Sprintf("pool %d", i), p); err != nil {
			return err
		}
	}
	return nil
}

// Compile implements backend.Backend. What has more weights than there is memory for is refused while they are packed.
//
// Errors: INVALID_ARGUMENT without a context or a model; RESOURCE_EXHAUSTED_*; DEVICE_UNAVAILABLE; where ctx ends,
// context.Canceled as GENERAL_FAILURE or context.DeadlineExceeded as MISSED_DEADLINE_TRANSIENT.
func (b *Backend) Compile(ctx context.Context, m *nn.Model, o backend.Options) (backend.Executable, error) {
	if err := cmp.Or(nn.NotNil("context", ctx), checkModel(m)); err != nil {
		return nil, err
	}
	if d, err := b.devices.use(); err == nil {
		b.rates.mend(ctx, d, b.facts)
		d.Release()
	}
	if compile.NeedsTree(m) {
		return b.compileTree(ctx, m, o)
	}
	form := b.compileForm
	if o.Quick && !b.alwaysQuick {
		form = b.compileSoon
	}
	x, err := form(ctx, m, o)
	if err != nil {
		return nil, err
	}
	return newExecutable(x, b, o), nil
}

// compileForm compiles the form that o.Quick asks for, even if the other would be ready sooner.
func (b *Backend) compileForm(ctx context.Context, m *nn.Model, o backend.Options) (*longLived, error) {
	plan := b.planForm
	if o.Tuning > 0 && !o.Quick {
		plan = b.planTuned
	}
	f, err := plan(ctx, m, o)
	if err != nil {
		return nil, err
	}
	return b.makeForm(ctx, f, executableOptions(o))
}

// form is a model compiled, but not made on the device.
type form struct {
	plan    *plan.Plan
	weights *pack.Weights
	quick   bool // an optimised one will take its place
}

// planForm compiles the form that o.Quick says.
func (b *Backend) planForm(ctx context.Context, m *nn.Model, o backend.Options) (*form, error) {
	facts := b.current()
	facts.Quick = o.Quick
	p, weights, floor, err := b.plan(ctx, &facts, m, o)
	if err != nil {
		return nil, err
	}
	return &form{p, weights, o.Quick || floor}, nil
}

// makeForm makes f on the device.
func (b *Backend) makeForm(ctx context.Context, f *form, o vulkan.ExecutableOptions) (*longLived, error) {
	x, err := b.newLongLived(ctx, f.plan, f.weights, o)
	if err != nil {
		return nil, err
	}
	x.stats.Quick = f.quick
	return x, nil
}

// plan compiles m within what the device can give at this moment. Kernels of which it is not known whether they compute
// rightly here are compared first where o is for the background; else floor says that others were chosen in their place.
func (b *Backend) plan(ctx context.Context, f *plan.Facts, m *nn.Model, o backend.Options) (p *plan.Plan, weights *pack.Weights, floor bool, err error) {
	d, err := b.devices.use()
	if err != nil {
		return nil, nil, false, err
	}
	defer d.Release()
	return b.trustworthy(ctx, d, f, o, func() (*plan.Plan, *pack.Weights, error) {
		return compile.Model(ctx, f, m, func(n int64) error { return d.FitsWeights(n, o.MemoryBudget) })
	})
}

// trustworthy calls compile, which goes by f, until all kernels of the plan are trusted.
func (b *Backend) trustworthy(ctx context.Context, d *vulkan.Device, f *plan.Facts, o backend.Options, compile func() (*plan.Plan, *pack.Weights, error)) (p *plan.Plan, weights *pack.Weights, floor bool, err error) {
	for {
		if p, weights, err = compile(); err != nil {
			return nil, nil, false, err
		}
		list := b.trust.untrusted(p)
		avoided := slices.IndexFunc(list, f.Avoid.Has)
		switch {
		case len(list) == 0:
			return p, weights, floor, nil
		case avoided >= 0: // it would be so for ever
			return nil, nil, false, fmt.Errorf("kernel %s is chosen although it is not to be used", list[avoided])
		case o.Pause == nil:
			f.Avoid, floor = b.trust.avoided(), true
			continue
		}
		for _, k := range list {
			if err := b.compare(ctx, d, k, o.Pause); err != nil {
				return nil, nil, false, fmt.Errorf("kernel %s is not compared: %w", k, err)
			}
		}
		f.Avoid = b.trust.known()
	}
}

// executableOptions are those of o that matter on the device.
func executableOptions(o backend.Options) vulkan.ExecutableOptions {
	return vulkan.ExecutableOptions{MemoryBudget: o.MemoryBudget, Urgent: o.Priority == nn.PriorityHigh, Pause: o.Pause}
}

// Close implements backend.Backend. Objects of the device that are still open keep it until they are closed as well,
// but no work begins on it any more; memory goes with the device. Later calls fail with GENERAL_FAILURE and
// nn.ErrClosed.
func (b *Backend) Close() error {
	b.rates.close(b.devices.now())
	return b.devices.close()
}

// Queues implements backend.Backend. The priority is "high" where driver and kernel permit that, "default" where nothing
// else can be asked for.
func (b *Backend) Queues() (n int, priority string) {
	n, p := b.devices.now().Queues()
	return n, p.String()
}

// ValidationMessages returns what the validation layers reported since the last call, the last 1,000 messages at most; a
// logger is told as well. They are on when the
// environment variable NNGPU_VALIDATION is 1.
func (b *Backend) ValidationMessages() []string { return b.devices.validationMessages() }

// Device describes a device that Open can be asked for.
type Device struct {
	Index      int    `json:"index"`
	Name       string `json:"name"`
	Driver     string `json:"driver"`
	APIVersion string `json:"api_version"`
	Type       string `json:"type"`
	// Facts are those that Open would give to the compiler: where the self-test is on record, without what it
	// found wrong.
	Facts plan.Facts `json:"facts"`
	// External says which memory from outside the device uses in place.
	External External `json:"external"`
	// Matrices are the products of matrices that the device computes as one.
	Matrices []Matrix `json:"matrices,omitempty"`
	// Measured is what is on record of its speed; nil where nothing is.
	Measured *Measurement `json:"measured,omitempty"`
	// SelfTest is the recorded verdict of the self-test in a line.
	SelfTest string `json:"self_test,omitempty"`
	// Unusable says why Open refuses the device; empty for a usable one.
	Unusable string `json:"unusable,omitempty"`
}

// Matrix is a product of matrices that a device computes as one, A [M, K] times B [K, N] added to C: the sizes, the types
// of the elements such as "f16" and "s32", whose invocations share the matrices, and whether sums of integers saturate.
type Matrix struct {
	M          uint32 `json:"m"`
	N          uint32 `json:"n"`
	K          uint32 `json:"k"`
	A          string `json:"a"`
	B          string `json:"b"`
	C          string `json:"c"`
	Result     string `json:"result"`
	Scope      string `json:"scope"`
	Saturating bool   `json:"saturating"`
}

// Variants says which kernels the compiler chooses on the device.
func (d *Device) Variants() string { return compile.Variants(&d.Facts) }

// Devices lists the Vulkan devices of this machine.
func Devices() ([]Device, error) {
	list, err := vulkan.Enumerate()
	if err != nil {
		return nil, &nn.Error{Status: nn.StatusDeviceUnavailable, Where: "Vulkan", Err: err}
	}
	out := make([]Device, len(list))
	for i, d := range list {
		out[i] = Device{Index: d.Index, Name: d.Name, Driver: d.Driver, APIVersion: d.API, Type: d.Properties.Type.String()}
		if d.Unusable != nil {
			out[i].Unusable = d.Unusable.Error()
			continue
		}
		out[i].Facts, out[i].SelfTest = recordedVerdict(&d)
		if _, r, ok := readRateRecord(&d); ok && !selfTestOff() {
			m := r.measurement()
			out[i].Measured = &m
		}
		out[i].External = externalOf(d.External)
		for _, m := range d.Matrices {
			out[i].Matrices = append(out[i].Matrices, Matrix(m))
		}
	}
	return out, nil
}

// ShaderSet identifies the kernels that this program carries: a SHA-256 in hexadecimal digits.
func ShaderSet() string { return shaders.SetID }
