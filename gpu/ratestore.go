package gpu

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

// Measurement is what microbenchmarks found out about a device. Rates are in units a second, 0 where they are not
// known or the device cannot do it.
type Measurement struct {
	// What the device can do at most: multiplications and additions of floats of 32 and 16 bits and, by packed dot
	// products, of 8-bit integers; those of 16-bit floats and 8-bit integers in cooperative matrices; bytes that kernels read
	// and write within a cache and beyond all, and copy commands beyond all.
	FMA32, FMA16, Dot8        float64
	MatrixF16, MatrixInt8     float64
	Cache, Memory, CopyMemory float64
	// What kernels reach: matrix products and depthwise convolutions (operations), sums of tensors (bytes).
	Matrix, Depthwise, Elementwise float64
	// What is paid beside the work: by an empty submission until its end is seen, by a dispatch, a barrier between two,
	// and a timestamp.
	Submit, Dispatch, Barrier, Timestamp time.Duration
	// Load is the share of the machine's processor time, 0 to 1, that went to other processes while the rates of kernels
	// and the costs were measured, at the time At, and CeilingLoad while the ceilings were.
	Load, CeilingLoad float64
	// Drift is by how much the fastest of the rounds that measured the ceilings multiplied faster than the slowest: 0.1 for
	// a tenth. It is above unsteady if the speed changes for reasons that cannot be seen, as on a virtual machine's host.
	Drift float64
	At    time.Time
}

// Busy reports whether others were in the way of the measurement.
func (m *Measurement) Busy() bool { return max(m.Load, m.CeilingLoad) > busyLoad }

// Unsteady reports whether the machine's speed changed during the measurement, so that another may differ as much.
func (m *Measurement) Unsteady() bool { return m.Drift > unsteady }

const (
	// busyLoad is the share of the processors that others may use before a measurement is not believed for ever.
	busyLoad = 0.15
	// unsteady is how much two measurements may differ, as Measurement.Drift.
	unsteady = 0.1
	// measureAgain is how long a measurement stands that was made on a busy machine or that executions contradict; with
	// each one that does not help the latter wait twice as long.
	measureAgain = time.Minute
	mostDoubts   = 12 // which is three days
	// newRates is by what factor rates must differ from those before to be other ones.
	newRates = 1.25
)

// rateRecord is a measurement as it is kept between runs. Anybody may have written the file: rates are believed within
// bounds, and ceilings decide nothing but what profiles show.
type rateRecord struct {
	Key         string        `json:"key"`    // see recordKey
	Device      string        `json:"device"` // for people
	Driver      string        `json:"driver"`
	Rates       plan.Rates    `json:"rates"`
	Ceilings    plan.Ceilings `json:"ceilings"` // zero until somebody asks for them
	Load        float64       `json:"load"`     // as in Measurement
	CeilingLoad float64       `json:"ceiling_load"`
	Drift       float64       `json:"drift"`
	At          time.Time     `json:"at"`
	// Doubted: executions took far less or more than the rates say. Doubts counts the measurements since that only
	// confirmed the one before.
	Doubted bool `json:"doubted,omitempty"`
	Doubts  int  `json:"doubts,omitempty"`
}

// due reports whether it is time to measure again.
func (r *rateRecord) due(now time.Time) bool {
	if r.At.After(now) { // the clock was set, or somebody else wrote this
		return true
	}
	wait := measureAgain << min(max(r.Doubts, 0), mostDoubts)
	return r.Load > busyLoad && now.Sub(r.At) >= measureAgain || r.Doubted && now.Sub(r.At) >= wait
}

// rateStore has what is known of a device's speed. Safe for concurrent use.
type rateStore struct {
	path      string
	measuring sync.Mutex // held by who measures; comes before mu

	mu     sync.Mutex
	record rateRecord // guarded by mu
	tried  time.Time  // guarded by mu; when mend last began to measure
}

// readRateRecord returns the record of a device; false where there is none that can be used.
func readRateRecord(info *vulkan.DeviceInfo) (path string, r rateRecord, ok bool) {
	path, key := recordPath(info, "rates")
	if !readRecord(path, &r) || r.Key != key || r.Rates == (plan.Rates{}) {
		return path, rateRecord{Key: key, Device: info.Name, Driver: info.Driver}, false
	}
	r.Rates = info.Facts.Bounded(r.Rates)
	r.Device, r.Driver = info.Name, info.Driver
	for _, x := range []*float64{&r.Ceilings.F32, &r.Ceilings.F16, &r.Ceilings.Dot, &r.Ceilings.MatrixF16, &r.Ceilings.MatrixInt8, &r.Ceilings.Cache, &r.Ceilings.Memory, &r.Ceilings.Copy} {
		if !(*x >= 0 && *x <= mostRate) {
			*x = 0
		}
	}
	for _, x := range []*float64{&r.Load, &r.CeilingLoad} {
		if !(*x >= 0 && *x <= 1) {
			*x = 1
		}
	}
	if !(r.Drift >= 0 && r.Drift <= mostRate) {
		r.Drift = 0
	}
	return path, r, true
}

// mostRate bounds a ceiling on record: a million times the fastest device.
const mostRate = 1e21

// open takes what is on record of d, and measures where nothing is or what is there is not believed.
func (k *rateStore) open(d *vulkan.Device, facts plan.Facts) {
	if selfTestOff() {
		return
	}
	info := d.Describe()
	var ok bool
	k.path, k.record, ok = readRateRecord(&info)
	if ok {
		d.SetRates(k.record.Rates)
		d.SetCeilings(k.record.Ceilings)
	}
	if !ok || k.record.due(time.Now()) {
		_ = k.measure(context.Background(), d, facts, false) // without rates those of the class stand in
	}
}

// measure measures d and keeps what came out: the ceilings too where full is set, which nothing interrupts. Rates that were
// measured before on a machine that was less busy stay.
//
// Errors: those of the device; errInUse where others submit work meanwhile, unless full is set.
func (k *rateStore) measure(ctx context.Context, d *vulkan.Device, facts plan.Facts, full bool) error {
	k.measuring.Lock()
	defer k.measuring.Unlock()
	ctx, cancel := context.WithTimeout(ctx, testLimit)
	defer cancel()
	m, rounds := &meter{ctx: ctx, dev: d, facts: facts, runs: firstRuns}, 1
	if full {
		m.runs, rounds = meterRuns, meterRounds
	}
	before, submitted := readProcessors(), d.Submissions()
	m.alone, m.before = !full, submitted
	var list []plan.Rates
	for range rounds {
		r, err := m.rates()
		if err != nil {
			return fmt.Errorf("measure: %w", err)
		}
		list = append(list, r)
	}
	rates := middleRates(list)
	load := before.othersSince()
	if d.Submissions() != submitted+m.submitted {
		load = 1 // others of this process, on the device itself
	}
	var ceilings plan.Ceilings
	var ceilingLoad, drift float64
	if full {
		before = readProcessors()
		slowest := math.Inf(1)
		for range rounds {
			c, err := m.ceilings(rates)
			if err != nil {
				return fmt.Errorf("measure: %w", err)
			}
			ceilings, slowest = bestCeilings(ceilings, c), min(slowest, c.F32)
		}
		ceilingLoad, drift = before.othersSince(), ceilings.F32/slowest-1
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.record.take(facts.Bounded(rates), load, time.Now())
	if full {
		k.record.Ceilings, k.record.CeilingLoad, k.record.Drift = ceilings, ceilingLoad, drift
	}
	d.SetRates(k.record.Rates)
	d.SetCeilings(k.record.Ceilings)
	writeRecord(k.path, &k.record)
	return nil
}

// take replaces the rates of r by new ones, unless those before are better: from a machine that was less busy, and not
// doubted. A doubt that changes nothing was in vain.
func (r *rateRecord) take(rates plan.Rates, load float64, now time.Time) {
	r.At = now
	switch {
	case r.Doubted && alike(&r.Rates, &rates):
		r.Doubts, r.Load = min(r.Doubts+1, mostDoubts), min(r.Load, load)
	case r.Rates == (plan.Rates{}) || r.Doubted || load <= busyLoad || load < r.Load:
		r.Rates, r.Load, r.Doubts = rates, load, 0
	}
	r.Doubted = false
}

// alike: no rate of kernels differs by more than newRates.
func alike(a, b *plan.Rates) bool {
	for _, pair := range [][2]float64{{a.FLOPS, b.FLOPS}, {a.Depthwise, b.Depthwise}, {a.Bandwidth, b.Bandwidth}} {
		if math.Abs(math.Log(pair[0]/pair[1])) > math.Log(newRates) {
			return false
		}
	}
	return true
}

// mend measures again if executions contradict the rates and the device is idle.
func (k *rateStore) mend(ctx context.Context, d *vulkan.Device, facts plan.Facts) {
	if selfTestOff() || !d.Contradicted() || !d.Idle() || !k.doubt() {
		return
	}
	_ = k.measure(ctx, d, facts, false) // without it what is known stands
}

// doubt notes that executions contradict the rates, and reports whether it is time to measure again.
func (k *rateStore) doubt() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.record.Doubted = true
	now := time.Now()
	if !k.record.due(now) || now.Sub(k.tried) < measureAgain {
		return false
	}
	k.tried = now
	return true
}

// close keeps a doubt for the next use of the device.
func (k *rateStore) close(d *vulkan.Device) {
	if selfTestOff() || !d.Contradicted() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.record.Rates != (plan.Rates{}) {
		k.record.Doubted = true
		writeRecord(k.path, &k.record)
	}
}

// measurement is r for users.
func (r *rateRecord) measurement() Measurement {
	c, t := &r.Ceilings, &r.Rates
	return Measurement{
		FMA32: c.F32, FMA16: c.F16, Dot8: c.Dot, MatrixF16: c.MatrixF16, MatrixInt8: c.MatrixInt8, Cache: c.Cache, Memory: c.Memory, CopyMemory: c.Copy,
		Matrix: t.FLOPS, Depthwise: t.Depthwise, Elementwise: t.Bandwidth,
		Submit: t.Submit, Dispatch: t.Dispatch, Barrier: t.Barrier, Timestamp: t.Stamp,
		Load: r.Load, CeilingLoad: r.CeilingLoad, Drift: r.Drift, At: r.At,
	}
}

// Measure finds out what the device can do, in some seconds, and keeps it for later runs beside the record of the
// self-test. Executions at the same time spoil it.
//
// Errors: INVALID_ARGUMENT without a context; DEVICE_UNAVAILABLE; RESOURCE_EXHAUSTED_* where the memory budget has no room.
func (b *Backend) Measure(ctx context.Context) (Measurement, error) {
	if err := nn.NotNil("context", ctx); err != nil {
		return Measurement{}, err
	}
	d, err := b.devices.use()
	if err != nil {
		return Measurement{}, err
	}
	defer d.Release()
	if err := b.rates.measure(ctx, d, b.facts, true); err != nil {
		return Measurement{}, err
	}
	m, _ := b.Measured()
	return m, nil
}

// Measured is what is known of the device's speed; false where nothing is.
func (b *Backend) Measured() (Measurement, bool) {
	b.rates.mu.Lock()
	defer b.rates.mu.Unlock()
	return b.rates.record.measurement(), b.rates.record.Rates != (plan.Rates{})
}

// current is the facts of the device with the rates, and the kernels that compute wrongly, as they are now known.
func (b *Backend) current() plan.Facts {
	f := b.facts
	f.Avoid = b.trust.known()
	b.rates.mu.Lock()
	defer b.rates.mu.Unlock()
	f.Measured = b.rates.record.Rates
	return f
}

// processorTime is what the machine's processors have done since they were started.
type processorTime struct {
	total, busy float64 // of all processors together, in ticks
	self        time.Duration
	known       bool
}

// tick is the unit of /proc/stat that Linux shows to programs (USER_HZ), on every architecture.
const tick = 10 * time.Millisecond

func readProcessors() (p processorTime) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return p
	}
	// From proc(5): user, nice, system, idle, iowait, irq, softirq, steal; what follows is in the first two already.
	var t [8]float64
	line, _, _ := strings.Cut(string(text), "\n")
	if _, err := fmt.Sscanf(line, "cpu %f %f %f %f %f %f %f %f", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]); err != nil {
		return p
	}
	for _, x := range t {
		p.total += x
	}
	p.busy = p.total - t[3] - t[4]
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return p
	}
	p.self = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	p.known = true
	return p
}

// othersSince is the share of the machine's processor time, 0 to 1, that went to other processes since p was read;
// 0 where it is not known.
func (p processorTime) othersSince() float64 {
	now := readProcessors()
	if !p.known || !now.known || now.total <= p.total {
		return 0
	}
	others := now.busy - p.busy - float64(now.self-p.self)/float64(tick)
	return min(max(others/(now.total-p.total), 0), 1)
}
