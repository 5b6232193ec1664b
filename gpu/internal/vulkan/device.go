package vulkan

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// Options steer Open.
type Options struct {
	// Validation switches the validation layer on, as NNGPU_VALIDATION does: "1" checks usage and
	// synchronization, "core" only usage. A missing layer is an error only where NNGPU_REQUIRE names
	// "validation".
	Validation bool
	// MemoryBudget bounds the bytes that the device's account gives out. 0 is the heap's own budget: what
	// VK_EXT_memory_budget says when the device is opened and, at each allocation, what other programs have left of it;
	// without the extension nine tenths of the heap.
	MemoryBudget int64
	// Watchdog is how long a submission may run before the device counts as hung and is given up, or 50 times its
	// estimate if that is longer; 0 for 10 seconds, negative for no limit.
	Watchdog time.Duration
	// TwoQueues makes one queue act as two where the driver has no more, for tests.
	TwoQueues bool
	// Windows lets OpenScreen be called.
	Windows bool
	// Timing says whose clock times executions.
	Timing Timing
	// Lost, if not nil, is called once with the reason when the device can no longer be used, from any goroutine and with
	// locks held.
	Lost func(error)
}

// Timing says whose clock times executions.
type Timing uint8

// A timestamp costs lavapipe 40 microseconds, because it drains the pipeline, and on a processor it tells hardly more
// than the host's clock.
const (
	TimingUsual  Timing = iota // software devices by the host's clock, all others by their own timestamps if they have any
	TimingDevice               // every device by its timestamps, as GPUs are, for tests
	TimingHost                 // every device as one without timestamps, for tests
)

// Device is an opened device. Safe for concurrent use, except Close.
type Device struct {
	inst      *vk.Instance
	physical  vk.Physical
	family    int // of the queues
	dev       *vk.Device
	info      DeviceInfo
	props     *vk.Properties
	priority  vk.Priority   // of the queues, beside other processes
	poison    bool          // NNGPU_POISON: fill memory with NaN before each execution
	stampMask uint64        // 0 without timestamps
	hostTimed bool          // executions are timed by the host's clock
	spin      time.Duration // how long waits may do without sleep
	account   account
	counters  counters
	arrays    atomic.Int64               // storage buffers of all arrays
	rates     atomic.Pointer[plan.Rates] // see SetRates; nil where nothing was measured
	wrong     atomic.Bool                // see Contradicted
	ceilings  atomic.Pointer[plan.Ceilings]
	clock     clock
	pipelines pipelineTable
	weights   weightsTable

	queueMu sync.Mutex
	queues  []*queue // immutable: what is urgent goes to the first, the rest to the last, which may be the same

	failed   atomic.Pointer[error] // sticky: device lost or abandoned
	failedAt atomic.Int64          // by now(); set before failed
	hung     atomic.Bool           // abandoned
	drained  sync.Once             // see drain
	quieted  sync.Once             // see quiet
	holders  holders

	// How it was opened, for Reopen.
	selector string
	options  Options
	// unvalidated: see Unvalidated.
	unvalidated bool
}

// Open opens the device that the selector means: "" for the best, an index of Enumerate, "swiftshader",
// "lavapipe", or a part of a device's name in any case.
//
// Errors: ErrUnknownDevice, vk.ErrNoLoader, vk.ErrIncompatibleDriver, vk.ErrNoLayer.
func Open(selector string, o Options) (*Device, error) {
	return openChosen(selector, o, func(list []DeviceInfo) (int, error) { return choose(list, selector) })
}

// openChosen opens the device of the selector's drivers whose index choose returns.
func openChosen(selector string, o Options, choose func([]DeviceInfo) (int, error)) (d *Device, err error) {
	instance := vk.InstanceOptions{Validation: validation(o), Windows: o.Windows}
	inst, err := openInstance(selector, instance)
	unvalidated := errors.Is(err, vk.ErrNoLayer) && !required("validation")
	if unvalidated {
		instance.Validation = 0
		inst, err = openInstance(selector, instance)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			inst.Close()
		}
	}()
	list, physicals, err := describeAll(inst)
	if err != nil {
		return nil, err
	}
	i, err := choose(list)
	if lib, _ := vk.Load(nil); lib.ICD && lib.Without != nil && errors.Is(err, ErrUnknownDevice) {
		err = fmt.Errorf("%w; without one there is SwiftShader only, and no %q", lib.Without, selector)
	}
	if err != nil {
		return nil, err
	}
	if d, err = open(inst, physicals[i], list[i], o); err != nil {
		return nil, err
	}
	d.selector, d.options, d.unvalidated = selector, o, unvalidated
	return d, nil
}

func open(inst *vk.Instance, p vk.Physical, info DeviceInfo, o Options) (*Device, error) {
	families := p.QueueFamilies()
	family := queueFamily(families)
	f := info.Properties.ExternalFeatures()
	if o.Windows && !info.Properties.Swapchain {
		return nil, fmt.Errorf("device %q: %w: it shows no pictures in windows", info.Name, vk.ErrNotSupported)
	}
	for _, x := range []struct {
		has     bool
		feature vk.Features
	}{
		{info.Facts.IntegerDot, vk.FeatureIntegerDot}, {info.Facts.Float16, vk.FeatureFloat16},
		{info.Facts.Int8, vk.FeatureInt8}, {len(info.Facts.Matrices) > 0, vk.FeatureMatrix},
		{info.Properties.Calibrated, vk.FeatureCalibrated}, {info.Properties.Binaries, vk.FeatureBinaries},
		{info.Properties.SyncFD, vk.FeatureSyncFD}, {o.Windows, vk.FeatureSwapchain},
		{info.Facts.MaxBlocks > 0, vk.FeatureArrays}, {robust(info.Properties), vk.FeatureRobust},
	} {
		if x.has {
			f |= x.feature
		}
	}
	dev, priority, err := newDevice(p, info.Properties, family, families[family], f, &o)
	if err != nil {
		return nil, fmt.Errorf("device %q: %w", info.Name, err)
	}
	d := &Device{
		inst: inst, physical: p, family: family, dev: dev, info: info, props: info.Properties, priority: priority,
		poison: os.Getenv("NNGPU_POISON") == "1", spin: spins(info.Properties.Type, runtime.NumCPU()),
	}
	for i := range dev.Queues() {
		q := &queue{dev: d, index: i}
		q.watch.init(o.Watchdog)
		d.queues = append(d.queues, q)
	}
	if bits := stampBits(families[family]); bits > 0 && o.Timing != TimingHost {
		d.stampMask = ^uint64(0) >> (64 - bits)
	} else {
		d.info.Facts.TimestampPeriod = 0
	}
	d.hostTimed = d.stampMask == 0 || o.Timing == TimingUsual && info.Facts.Class == plan.ClassCPU
	d.account.limit = budget(p, info.Properties, o.MemoryBudget)
	if t := deviceMemory(d.props, ^uint32(0)); t >= 0 && o.MemoryBudget == 0 && d.props.HasBudget() {
		d.account.room = func() int64 { return p.Room(d.props.MemoryTypes[t].Heap) }
	}
	if err := d.pipelines.init(d); err != nil {
		dev.Close()
		return nil, fmt.Errorf("device %q: %w", info.Name, err)
	}
	return d, nil
}

// budget is what was asked for, else what the device-local heap can give. The asked-for number may be
// larger: lavapipe's heap says 2 GiB whatever the machine has.
func budget(p vk.Physical, props *vk.Properties, want int64) int64 {
	if want > 0 {
		return want
	}
	if t := deviceMemory(props, ^uint32(0)); t >= 0 {
		return p.Budget(props, props.MemoryTypes[t].Heap)
	}
	return 1 << 62
}

func validation(o Options) vk.Validation {
	switch os.Getenv("NNGPU_VALIDATION") {
	case "core":
		return vk.ValidateCore
	case "", "0":
		if !o.Validation {
			return 0
		}
	}
	return vk.ValidateCore | vk.ValidateSync
}

// required: NNGPU_REQUIRE, a list with commas, has the word.
func required(word string) bool {
	for _, w := range strings.Split(os.Getenv("NNGPU_REQUIRE"), ",") {
		if strings.EqualFold(strings.TrimSpace(w), word) {
			return true
		}
	}
	return false
}

// Close frees the device. Preconditions: its executables are closed, and no other call is under way. An
// abandoned device is left alone, because destroying it may never return.
func (d *Device) Close() error {
	if d.failed.Load() != nil {
		d.drain()
	} else {
		d.queueMu.Lock()
		err := d.dev.WaitIdle()
		d.queueMu.Unlock()
		if err != nil && !errors.Is(err, vk.ErrDeviceLost) {
			return d.failure("close", err)
		}
	}
	if d.abandoned() {
		return nil
	}
	d.pipelines.close()
	d.dev.Close()
	d.inst.Close()
	return nil
}

// Facts is what the compiler may know of the device.
func (d *Device) Facts() plan.Facts {
	f := d.info.Facts
	if r := d.rates.Load(); r != nil {
		f.Measured = *r
	}
	return f
}

// Describe returns all that is known of the device, except the rates.
func (d *Device) Describe() DeviceInfo { return d.info }

// Info describes the device to the driver.
func (d *Device) Info() backend.Info {
	return backend.Info{Name: d.info.Name, Driver: d.info.Driver, Type: backendType(d.props.Type)}
}

// ValidationMessages takes the messages of the validation layer since the last call.
func (d *Device) ValidationMessages() []string { return d.inst.Messages() }

// Unvalidated says that the validation layer was asked for and is not installed.
func (d *Device) Unvalidated() bool { return d.unvalidated }

// Memory is the number of bytes in use, their maximum so far and the budget.
func (d *Device) Memory() (used, peak, limit int64) {
	used, peak = d.account.read()
	return used, peak, d.account.limit
}

// ErrAbandoned: Abandon was called. It is a vk.ErrDeviceLost.
var ErrAbandoned = fmt.Errorf("abandoned after a hang: %w", vk.ErrDeviceLost)

// Abandon gives a hung device up: waits under way end with ErrAbandoned within a fraction of a second,
// later calls fail, and nothing of the device is freed any more.
func (d *Device) Abandon() { d.giveUp(ErrAbandoned) }

// Inject makes calls of the device fail as vk.Inject does, for tests; nil ends that.
func (d *Device) Inject(f *vk.Faults) { vk.Inject(d.dev, f) }

func (d *Device) abandoned() bool { return d.hung.Load() }

func (d *Device) fail(err error) {
	d.failedAt.CompareAndSwap(0, int64(now()))
	if d.failed.CompareAndSwap(nil, &err) && d.options.Lost != nil {
		d.options.Lost(err)
	}
}

// failure turns err into what may cross the HAL, and notes a device loss. It also reports an earlier loss, so that
// failure(where, nil) asks whether the device still works.
func (d *Device) failure(where string, err error) error {
	if errors.Is(err, vk.ErrDeviceLost) {
		d.fail(err)
	}
	if p := d.failed.Load(); p != nil {
		return &nn.Error{Status: nn.StatusDeviceUnavailable, Where: where, Err: *p}
	}
	if err == nil { // and nothing is allocated
		return nil
	}
	var known *nn.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, vk.ErrOutOfMemory):
		return &nn.Error{Status: nn.StatusResourceExhaustedTransient, Where: where, Err: err}
	}
	return fmt.Errorf("%s: %w", where, err)
}

// runOnce records, submits and waits, for the rare work outside of executions.
func (d *Device) runOnce(c *vk.Commands) error { return d.runFor(c, 0) }

// runFor is runOnce for work that is estimated to take that long.
func (d *Device) runFor(c *vk.Commands, estimate time.Duration) error {
	return d.runBy(estimate, func(cmd vk.CommandBuffer) error { return d.dev.Record(cmd, c) })
}

// runBy is runFor for what record records.
func (d *Device) runBy(estimate time.Duration, record func(vk.CommandBuffer) error) error {
	pool, err := d.dev.NewCommandPool()
	if err != nil {
		return d.failure("command pool", err)
	}
	cmds, err := d.dev.NewCommandBuffers(pool, 1)
	if err == nil {
		err = record(cmds[0])
	}
	if err == nil {
		var f fence
		if f, err = d.submit(d.normal(), cmds, estimate); err == nil {
			err = f.settle()
		}
	}
	if !d.abandoned() {
		vk.Destroy(d.dev, pool)
	}
	return d.failure("command", err)
}
