package vk

import (
	"sync"
	"sync/atomic"
	"time"
)

// Call is a Vulkan call that Inject can make fail.
type Call uint8

// Calls that can fail, by the method that makes them.
const (
	CallSubmit   Call = iota // Device.Submit and SyncFD
	CallWait                 // Device.Wait and WaitSpinning, each call of them
	CallIdle                 // Device.WaitIdle
	CallAllocate             // all that allocate or import memory
	CallNewBuffer
	CallNewPipeline
	CallRecord
	CallAcquire
	CallPresent
	numCalls
)

// Fault is what happens to a call. The zero Fault is none.
type Fault struct {
	// Result is returned in place of calling the driver. With ResultSuccess the call is made.
	Result Result
	// Delay is slept before the call.
	Delay time.Duration
	// After is how many calls pass unharmed before the first that is hit.
	After int
	// Times is how many are hit then; 0 for all.
	Times int
}

// Faults are what Inject does to a device.
type Faults struct {
	Calls map[Call]Fault
	// Stuck, if not 0, is the first value that the timelines never seem to reach: Wait sleeps out its
	// time and Reached stays below it, as on a device that hangs. The work itself is done.
	Stuck uint64
}

// injected is Faults with the calls counted.
type injected struct {
	calls [numCalls]Fault
	seen  [numCalls]atomic.Int64
	stuck uint64
}

// live knows the open devices, for Inject without one.
var live = struct {
	mu      sync.Mutex
	devices map[*Device]bool // guarded by mu
	faults  *injected        // guarded by mu; for devices to come
}{devices: map[*Device]bool{}}

// Inject makes calls of d fail, for tests of code that uses devices; nil ends that, and so does the next call of
// Inject. A nil d stands for all devices of the process, including those opened later; the calls of all are then
// counted together. The driver itself sees nothing of it: after an injected device loss everything can still be
// destroyed. While nothing is injected a call pays for one atomic load.
//
// Safe for concurrent use; calls under way may escape.
func Inject(d *Device, f *Faults) {
	var in *injected
	if f != nil {
		in = &injected{stuck: f.Stuck}
		for c, fault := range f.Calls {
			in.calls[c] = fault
		}
	}
	if d != nil {
		d.faults.Store(in)
		return
	}
	live.mu.Lock()
	defer live.mu.Unlock()
	live.faults = in
	for d := range live.devices {
		d.faults.Store(in)
	}
}

func (d *Device) enlist() {
	live.mu.Lock()
	defer live.mu.Unlock()
	live.devices[d] = true
	d.faults.Store(live.faults)
}

func (d *Device) delist() {
	live.mu.Lock()
	defer live.mu.Unlock()
	delete(live.devices, d)
}

// fault is what was injected for this call of c, the Vulkan function of the given name.
func (d *Device) fault(c Call, name string) error {
	f := d.faults.Load()
	if f == nil {
		return nil
	}
	return f.hit(c, name)
}

func (f *injected) hit(c Call, name string) error {
	fault := &f.calls[c]
	if *fault == (Fault{}) {
		return nil
	}
	n := f.seen[c].Add(1)
	if n <= int64(fault.After) || fault.Times > 0 && n > int64(fault.After)+int64(fault.Times) {
		return nil
	}
	time.Sleep(fault.Delay)
	return check(name, fault.Result)
}

// stuck reports whether value must never be seen.
func (d *Device) stuck(value uint64) bool {
	f := d.faults.Load()
	return f != nil && f.stuck != 0 && value >= f.stuck
}

// seen is how much of a timeline's value may be seen.
func (d *Device) seen(value uint64) uint64 {
	if f := d.faults.Load(); f != nil && f.stuck != 0 {
		return min(value, f.stuck-1)
	}
	return value
}
