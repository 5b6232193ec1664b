package gpu

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

func TestMeasuredRates(t *testing.T) {
	for _, name := range vktest.Selectors() {
		for _, timing := range []vulkan.Timing{vulkan.TimingUsual, vulkan.TimingDevice, vulkan.TimingHost} {
			t.Run(fmt.Sprintf("%s %d", name, timing), func(t *testing.T) { measuredRates(t, vktest.Open(t, name, vulkan.Options{Timing: timing})) })
		}
	}
}

func measuredRates(t *testing.T, d *vulkan.Device) {
	m := &meter{ctx: t.Context(), dev: d, facts: d.Facts(), runs: firstRuns}
	r, err := m.rates()
	require.NoError(t, err)
	t.Logf("%.1f GFLOP/s, depthwise %.1f, %.1f GB/s; a dispatch %v, barrier %v, timestamp %v, submission %v",
		r.FLOPS/1e9, r.Depthwise/1e9, r.Bandwidth/1e9, r.Dispatch, r.Barrier, r.Stamp, r.Submit)
	require.Greater(t, r.FLOPS, 1e8)
	require.Greater(t, r.Bandwidth, 1e7)
	for _, cost := range []time.Duration{r.Dispatch, r.Barrier, r.Stamp, r.Submit} {
		require.Positive(t, cost)
		require.Less(t, cost, time.Second)
	}
	require.Equal(t, d.Submissions(), m.submitted, "of others")
}

// TestCeilings: what the device can do at most is not less than what kernels reach.
func TestCeilings(t *testing.T) {
	for _, name := range vktest.Selectors() {
		t.Run(name, func(t *testing.T) {
			d := vktest.Open(t, name, vulkan.Options{})
			m := &meter{ctx: t.Context(), dev: d, facts: d.Facts(), runs: firstRuns}
			r, err := m.rates()
			require.NoError(t, err)
			c, err := m.ceilings(r)
			require.NoError(t, err)
			t.Logf("%.3g", c)
			require.Greater(t, c.F32, r.FLOPS/2) // a busy machine measures them differently
			require.Greater(t, c.F32, 1e8)
			require.Equal(t, m.facts.Float16, c.F16 > 0)
			require.Equal(t, m.facts.IntegerDot, c.Dot > 0)
			require.Equal(t, hasMatrix(&m.facts, "f16"), c.MatrixF16 > 0)
			require.Equal(t, hasMatrix(&m.facts, "s8"), c.MatrixInt8 > 0)
			for _, rate := range []float64{c.Cache, c.Memory, c.Copy} {
				require.Greater(t, rate, 1e7)
			}
		})
	}
}

// TestCeilingsWithoutMemory: a budget without room for what no cache holds leaves those out.
func TestCeilingsWithoutMemory(t *testing.T) {
	name := vktest.Selectors()[len(vktest.Selectors())-1]
	d := vktest.Open(t, name, vulkan.Options{MemoryBudget: 8 << 20})
	m := &meter{ctx: t.Context(), dev: d, facts: d.Facts(), runs: firstRuns}
	c, err := m.moves(0)
	require.NoError(t, err)
	require.Zero(t, c.Memory)
	require.Zero(t, c.Copy)
	require.Positive(t, c.Cache)
}

// TestForgedRates: a record that somebody else wrote moves the estimates within bounds.
func TestForgedRates(t *testing.T) {
	for _, class := range []plan.Class{plan.ClassCPU, plan.ClassGPU} {
		f := plan.Facts{Class: class}
		usual := f.Rates()
		for name, r := range map[string]plan.Rates{
			"nothing": {}, "below zero": {FLOPS: -1, Depthwise: -1, Bandwidth: -1, Dispatch: -1, Barrier: -1, Submit: -1, Stamp: -1},
			"endless": {
				FLOPS: math.Inf(1), Depthwise: math.NaN(), Bandwidth: math.MaxFloat64,
				Dispatch: math.MaxInt64, Barrier: math.MaxInt64, Submit: math.MaxInt64, Stamp: math.MaxInt64,
			},
		} {
			got := f.Bounded(r)
			for _, pair := range [][2]float64{
				{got.FLOPS, usual.FLOPS}, {got.Depthwise, usual.Depthwise}, {got.Bandwidth, usual.Bandwidth},
				{float64(got.Dispatch), float64(usual.Dispatch)},
			} {
				require.LessOrEqual(t, pair[0], 32*pair[1], name)
				require.GreaterOrEqual(t, 32*pair[0], pair[1], name)
			}
			for _, pair := range [][2]time.Duration{{got.Barrier, usual.Barrier}, {got.Submit, usual.Submit}, {got.Stamp, usual.Stamp}} {
				require.LessOrEqual(t, pair[0], 32*pair[1], name)
				require.GreaterOrEqual(t, pair[0], time.Duration(0), name)
			}
		}
	}
}

// ratesOnRecord writes r, with the rest of a record, as what is known of d.
func ratesOnRecord(t *testing.T, d *vulkan.Device, r rateRecord) (path string) {
	info := d.Describe()
	path, r.Key = recordPath(&info, "rates")
	writeRecord(path, &r)
	_, got, ok := readRateRecord(&info)
	require.True(t, ok)
	require.Equal(t, r.At.Unix(), got.At.Unix())
	return path
}

// TestRatesAreKept: the second use of a device measures nothing where the record is believed, and measures again where
// the machine was busy, where executions contradicted it, and where the record is damaged.
func TestRatesAreKept(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		t.Setenv("XDG_STATE_HOME", t.TempDir())
		open := func() (rateRecord, bool) {
			before := d.Submissions()
			var k rateStore
			k.open(d, d.Facts())
			require.Equal(t, k.record.Rates, d.Facts().Measured)
			return k.record, d.Submissions() > before
		}
		first, measured := open()
		require.True(t, measured)
		require.NotZero(t, first.Rates)
		quiet := first
		quiet.Load, quiet.Ceilings.F32, quiet.Drift = 0, 1e9, -1
		path := ratesOnRecord(t, d, quiet)
		again, measured := open()
		require.False(t, measured)
		require.Equal(t, quiet.Rates, again.Rates)
		require.Equal(t, 1e9, again.Ceilings.F32)
		require.Zero(t, again.Drift, "which nobody measured")

		for name, change := range map[string]func(*rateRecord){
			"busy":           func(r *rateRecord) { r.Load, r.At = 1, time.Now().Add(-time.Hour) },
			"doubted":        func(r *rateRecord) { r.Doubted, r.At = true, time.Now().Add(-time.Hour) },
			"nothing":        func(r *rateRecord) { r.Rates = plan.Rates{} },
			"from to-morrow": func(r *rateRecord) { r.At = time.Now().Add(24 * time.Hour) },
		} {
			r := quiet
			r.Rates.FLOPS /= 8 // spoilt
			change(&r)
			info := d.Describe()
			_, r.Key = recordPath(&info, "rates")
			writeRecord(path, &r)
			_, measured := open()
			require.True(t, measured, name)
		}
		for name, change := range map[string]func(*rateRecord){
			"busy a moment ago":    func(r *rateRecord) { r.Load, r.At = 1, time.Now() },
			"doubted a moment ago": func(r *rateRecord) { r.Doubted, r.At = true, time.Now() },
			"doubted in vain":      func(r *rateRecord) { r.Doubted, r.Doubts, r.At = true, 10, time.Now().Add(-time.Hour) },
		} {
			r := quiet
			change(&r)
			ratesOnRecord(t, d, r)
			_, measured := open()
			require.False(t, measured, name)
		}
	})
}

// TestRatesMend: rates from a busy machine are replaced by those of a less busy one, and by no others.
func TestRatesMend(t *testing.T) {
	slow := plan.Rates{FLOPS: 1e9, Depthwise: 1e8, Bandwidth: 1e9, Dispatch: time.Millisecond}
	fast := plan.Rates{FLOPS: 8e9, Depthwise: 1e9, Bandwidth: 3e9, Dispatch: 30 * time.Microsecond}
	now := time.Now()
	for _, tc := range []struct {
		name   string
		was    rateRecord
		load   float64
		want   plan.Rates
		doubts int
	}{
		{"the first", rateRecord{}, 1, fast, 0},
		{"on an idle machine", rateRecord{Rates: slow, Load: 0.9}, 0, fast, 0},
		{"on a less busy machine", rateRecord{Rates: slow, Load: 0.9}, 0.5, fast, 0},
		{"on a busier machine", rateRecord{Rates: slow, Load: 0.5}, 0.9, slow, 0},
		{"asked for on an idle machine", rateRecord{Rates: slow}, 0.1, fast, 0},
		{"doubted, and rightly", rateRecord{Rates: slow, Doubted: true, Doubts: 3}, 0, fast, 0},
		{"doubted in vain", rateRecord{Rates: fast, Doubted: true, Doubts: 3}, 0, fast, 4},
		{"doubted in vain, on a busy machine", rateRecord{Rates: fast, Doubted: true, Doubts: 3}, 0.9, fast, 4},
		{"doubted, on a busy machine", rateRecord{Rates: slow, Doubted: true, Doubts: 3}, 0.9, fast, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := tc.was
			r.take(fast, tc.load, now)
			require.Equal(t, tc.want, r.Rates)
			require.Equal(t, tc.doubts, r.Doubts)
			require.Equal(t, now, r.At)
		})
	}
}

// TestExecutionsContradictRates: who finds executions far off what the rates say has them measured again, by the next
// compilation once enough time has passed.
func TestExecutionsContradictRates(t *testing.T) {
	for _, name := range vktest.Selectors() {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			d := vktest.Open(t, name, vulkan.Options{})
			b, err := Open(name, Options{})
			require.NoError(t, err)
			defer func() { require.NoError(t, b.Close()) }()
			right := b.current().Measured
			wrong := right
			wrong.FLOPS, wrong.Depthwise, wrong.Bandwidth = right.FLOPS/30, right.Depthwise/30, right.Bandwidth/30
			wrong.Dispatch, wrong.Submit = 30*right.Dispatch, 30*right.Submit
			b.rates.record.Rates = b.facts.Bounded(wrong)
			b.rates.record.Load, b.rates.record.At = 0, time.Now().Add(-time.Hour)
			b.device.SetRates(b.rates.record.Rates)
			was := b.rates.record.Rates

			run := func() {
				m, err := rateModel()
				require.NoError(t, err)
				x, err := b.Compile(t.Context(), m, backend.Options{})
				require.NoError(t, err)
				defer func() { require.NoError(t, x.Close()) }()
				for range 20 {
					times := executeWhole(t, x, []int{4 * rateSide * rateSide * rateChannels, 16}, []int{4 * rateSide * rateSide * rateChannels, 16})
					require.Positive(t, times)
				}
			}
			contradict := func() { // several times where others slow down all executions of a model
				for try := 0; try < 20 && !b.device.Contradicted(); try++ {
					run()
				}
				require.True(t, b.device.Contradicted())
			}
			require.False(t, b.device.Contradicted())
			contradict()
			run()
			require.Less(t, time.Since(b.rates.record.At), time.Hour/2, "measured again")
			require.Greater(t, b.current().Measured.FLOPS, was.FLOPS)

			// What a process does not mend the next one does.
			b.device.SetRates(was)
			b.rates.record.Rates = was
			contradict()
			b.rates.close(b.device)
			info := d.Describe()
			_, r, ok := readRateRecord(&info)
			require.True(t, ok)
			require.True(t, r.Doubted)
		})
	}
}

// TestMeasuringGivesWay: a measurement that nobody asked for ends when others use the device, and leaves the rates.
func TestMeasuringGivesWay(t *testing.T) {
	for _, name := range vktest.Selectors() {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			b, err := Open(name, Options{})
			require.NoError(t, err)
			defer func() { require.NoError(t, b.Close()) }()
			was := b.rates.record
			m, err := rateModel()
			require.NoError(t, err)
			x, err := b.Compile(t.Context(), m, backend.Options{})
			require.NoError(t, err)
			defer func() { require.NoError(t, x.Close()) }()
			sizes := []int{4 * rateSide * rateSide * rateChannels, 16}
			var stop atomic.Bool
			done := make(chan struct{})
			go func() {
				defer close(done)
				for !stop.Load() {
					executeWhole(t, x, sizes, sizes)
				}
			}()
			err = b.rates.measure(t.Context(), b.device, b.facts, false)
			stop.Store(true)
			<-done
			require.ErrorIs(t, err, errInUse)
			require.Equal(t, was, b.rates.record)
			require.NoError(t, b.rates.measure(t.Context(), b.device, b.facts, false))
			require.NotEqual(t, was.At, b.rates.record.At)
		})
	}
}

// executeWhole executes x once on zeroes and returns the time on the device. Sizes are bytes.
func executeWhole(t *testing.T, x backend.Executable, inputs, outputs []int) time.Duration {
	buffers := func(sizes []int) (out [][]byte) {
		for _, n := range sizes {
			out = append(out, make([]byte, n))
		}
		return out
	}
	e, err := x.Begin(t.Context(), backend.Hosts(buffers(inputs)), backend.Hosts(buffers(outputs)))
	require.NoError(t, err)
	defer e.Release()
	f, err := e.Submit(0, e.Segments())
	require.NoError(t, err)
	require.NoError(t, f.Wait(t.Context()))
	require.NoError(t, e.Finish())
	return e.DeviceTime()
}

func TestLoadOfTheMachine(t *testing.T) {
	p := readProcessors()
	require.True(t, p.known)
	for begin := time.Now(); time.Since(begin) < 300*time.Millisecond; { // own work does not count
	}
	load := p.othersSince()
	t.Logf("others use %.0f %%", 100*load)
	require.GreaterOrEqual(t, load, 0.0)
	require.LessOrEqual(t, load, 1.0)
	require.Zero(t, processorTime{}.othersSince())
}

// TestMiddleRates: of several rounds each rate and each cost is the middle one, and ceilings are the highest.
func TestOverheadTakesHalfAtMost(t *testing.T) {
	for _, tc := range []struct{ took, overhead, want time.Duration }{
		{1000, 10, 990}, {1000, 500, 500}, {1000, 999, 500}, {1000, 40_000_000, 500}, {1, 5, 1}, {0, 5, 1},
	} {
		require.Equal(t, tc.want, without(tc.took, tc.overhead), tc)
	}
}

func TestMiddleRates(t *testing.T) {
	rate := func(x float64, cost time.Duration) plan.Rates {
		return plan.Rates{FLOPS: x, Depthwise: x, Bandwidth: x, Dispatch: cost, Barrier: cost, Submit: cost, Stamp: cost}
	}
	require.Equal(t, rate(7, 20), middleRates([]plan.Rates{rate(5, 20), rate(9, 1), rate(7, 400)}))
	require.Equal(t, rate(5, 20), middleRates([]plan.Rates{rate(5, 20)}))
	require.Equal(t, plan.Ceilings{F32: 4, F16: 2, Dot: 3, MatrixF16: 8, MatrixInt8: 7, Cache: 9, Memory: 5, Copy: 6},
		bestCeilings(plan.Ceilings{F32: 4, F16: 1, Dot: 3, MatrixF16: 8, MatrixInt8: 1, Cache: 4, Memory: 5, Copy: 1},
			plan.Ceilings{F32: 1, F16: 2, Dot: 3, MatrixInt8: 7, Cache: 9, Copy: 6}))
}

// TestRepeated: what is repeated to be measured finds nothing in a cache that the time before left there, and waits for
// it where it should.
func TestRepeated(t *testing.T) {
	one := plan.Step{Bindings: []plan.Binding{{Size: 100}, {Size: 4096, Write: true}}}
	p := repeated(&one, 3, true)
	require.Equal(t, []int{3}, p.Segments)
	end := int64(0)
	for i, s := range p.Steps {
		require.Equal(t, i > 0, s.Barrier)
		for _, b := range s.Bindings {
			require.Equal(t, plan.Arena, b.Buffer)
			require.GreaterOrEqual(t, b.Offset, end)
			end = b.Offset + b.Size
		}
	}
	require.LessOrEqual(t, end, p.ArenaBytes)
	require.Zero(t, one.Bindings[1].Offset)
	require.False(t, repeated(&one, 2, false).Steps[1].Barrier)
}
