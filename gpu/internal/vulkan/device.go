package vulkan

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

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
	// MemoryBudget bounds the bytes that the device's account gives out; 0 for the heap's own budget.
	MemoryBudget int64
	// Robust switches robustBufferAccess on where the device has it. Kernels check their indexes
	// themselves.
	Robust bool
}

// Device is an opened device. Safe for concurrent use, except Close.
type Device struct {
	inst       *vk.Instance
	dev        *vk.Device
	info       DeviceInfo
	props      *vk.Properties
	validating bool
	poison     bool // NNGPU_POISON: fill memory with NaN before each execution
	stampMask  uint64
	account    account
	pipelines  pipelineTable

	queueMu sync.Mutex
	next    uint64 // guarded by queueMu; the timeline value of the last submission
	last    *fence // guarded by queueMu; of the last submission, nil before the first

	failed atomic.Pointer[error] // sticky: device lost or abandoned
}

// Open opens the device that the selector means: "" for the best, an index of Enumerate, "swiftshader",
// "lavapipe", or a part of a device's name in any case.
//
// Errors: ErrUnknownDevice, vk.ErrNoLoader, vk.ErrIncompatibleDriver, vk.ErrNoLayer.
func Open(selector string, o Options) (d *Device, err error) {
	v := validation(o)
	inst, _, err := openInstance(selector, v)
	if errors.Is(err, vk.ErrNoLayer) && !required("validation") {
		v = 0
		inst, _, err = openInstance(selector, 0)
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
	i, err := choose(list, selector)
	if err != nil {
		return nil, err
	}
	return open(inst, physicals[i], list[i], o, v != 0)
}

func open(inst *vk.Instance, p vk.Physical, info DeviceInfo, o Options, validating bool) (*Device, error) {
	families := p.QueueFamilies()
	family := queueFamily(families)
	var f vk.Features
	if info.Facts.IntegerDot {
		f |= vk.FeatureIntegerDot
	}
	if o.Robust && info.Properties.Robust {
		f |= vk.FeatureRobust
	}
	dev, err := vk.NewDevice(p, info.Properties, family, f)
	if err != nil {
		return nil, fmt.Errorf("device %q: %w", info.Name, err)
	}
	d := &Device{
		inst: inst, dev: dev, info: info, props: info.Properties, validating: validating,
		poison: os.Getenv("NNGPU_POISON") == "1",
	}
	if bits := families[family].TimestampBits; bits > 0 {
		d.stampMask = ^uint64(0) >> (64 - bits)
	}
	d.account.limit = budget(p, info.Properties, o.MemoryBudget)
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
	if d.abandoned() {
		return nil
	}
	d.queueMu.Lock()
	err := d.dev.WaitIdle()
	d.queueMu.Unlock()
	if err != nil && !errors.Is(err, vk.ErrDeviceLost) {
		return d.failure("close", err)
	}
	d.pipelines.close()
	d.dev.Close()
	d.inst.Close()
	return nil
}

// Facts is what the compiler may know of the device.
func (d *Device) Facts() plan.Facts { return d.info.Facts }

// Describe returns all that is known of the device.
func (d *Device) Describe() DeviceInfo { return d.info }

// Info describes the device to the driver.
func (d *Device) Info() backend.Info {
	return backend.Info{Name: d.info.Name, Driver: d.info.Driver, Type: backendType(d.props.Type)}
}

// Validating says whether the validation layer is on.
func (d *Device) Validating() bool { return d.validating }

// ValidationMessages takes the messages of the validation layer since the last call.
func (d *Device) ValidationMessages() []string { return d.inst.Messages() }

// Memory is the number of bytes in use, their maximum so far and the budget.
func (d *Device) Memory() (used, peak, limit int64) {
	used, peak = d.account.read()
	return used, peak, d.account.limit
}

// ErrAbandoned: Abandon was called. It is a vk.ErrDeviceLost.
var ErrAbandoned = fmt.Errorf("abandoned after a hang: %w", vk.ErrDeviceLost)

// Abandon gives a hung device up: waits under way end with ErrAbandoned within a fraction of a second,
// later calls fail, and nothing of the device is freed any more.
func (d *Device) Abandon() { d.fail(ErrAbandoned) }

func (d *Device) abandoned() bool {
	p := d.failed.Load()
	return p != nil && errors.Is(*p, ErrAbandoned)
}

func (d *Device) fail(err error) { d.failed.CompareAndSwap(nil, &err) }

// failure turns err into what crosses the HAL, and notes a device loss. It also reports an earlier loss, so
// that failure(where, nil) asks whether the device still works.
func (d *Device) failure(where string, err error) error {
	if errors.Is(err, vk.ErrDeviceLost) {
		d.fail(err)
	}
	if p := d.failed.Load(); p != nil {
		return &nn.Error{Status: nn.StatusDeviceUnavailable, Where: where, Err: *p}
	}
	var known *nn.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, vk.ErrOutOfMemory):
		return &nn.Error{Status: nn.StatusResourceExhaustedTransient, Where: where, Err: err}
	}
	return fmt.Errorf("%s: %w", where, err)
}

// runOnce records, submits and waits, for the rare work outside of executions.
func (d *Device) runOnce(c *vk.Commands) error {
	pool, err := d.dev.NewCommandPool()
	if err != nil {
		return d.failure("command pool", err)
	}
	cmds, err := d.dev.NewCommandBuffers(pool, 1)
	if err == nil {
		err = d.dev.Record(cmds[0], c)
	}
	if err == nil {
		var f *fence
		if f, _, err = d.submit(cmds); err == nil {
			err = f.Wait(context.Background())
		}
	}
	if !d.abandoned() {
		vk.Destroy(d.dev, pool)
	}
	return d.failure("command", err)
}
