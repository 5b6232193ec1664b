package vk

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// faultCalls makes each call that can fail, once.
func faultCalls(d *Device) map[Call]func() error {
	return map[Call]func() error{
		CallSubmit: func() error { return d.Submit(0, nil, 1<<40) },
		CallWait:   func() error { _, err := d.Wait(0, 1<<40, 0); return err },
		CallIdle:   d.WaitIdle,
		CallAllocate: func() error {
			m, err := d.Allocate(256, 0)
			d.Free(m)
			return err
		},
		CallNewBuffer: func() error {
			b, err := d.NewBuffer(256, UsageStorage)
			d.DestroyBuffer(b)
			return err
		},
		CallNewPipeline: func() error { _, err := d.NewPipeline(nil, 0, Workgroup{}, 0); return err },
		CallRecord:      func() error { return d.Record(0, &Commands{}) },
		CallAcquire:     func() error { _, _, err := d.Acquire(0, 0, 0); return err },
		CallPresent:     func() error { _, err := d.Present(0, 0, 0); return err },
	}
}

// TestInject lets every call fail in every way; the driver sees none of them.
func TestInject(t *testing.T) {
	_, d, _ := openCPU(t)
	calls := faultCalls(d)
	require.Len(t, calls, int(numCalls))
	for c, do := range calls {
		for result, is := range map[Result]error{
			ResultDeviceLost: ErrDeviceLost, ResultOutOfDeviceMemory: ErrOutOfMemory, ResultOutOfHostMemory: ErrOutOfMemory,
			ResultOutOfDate: ErrOutOfDate, ResultSurfaceLost: ErrSurfaceLost,
		} {
			Inject(d, &Faults{Calls: map[Call]Fault{c: {Result: result}}})
			for range 3 {
				require.ErrorIs(t, do(), is)
			}
		}
		Inject(d, &Faults{Calls: map[Call]Fault{c: {Result: ResultUnknown}}})
		var e *Error
		require.ErrorAs(t, do(), &e)
		require.Equal(t, ResultUnknown, e.Result)
	}
	Inject(d, nil)
	require.NoError(t, calls[CallAllocate]())
	require.NoError(t, calls[CallNewBuffer]())
}

func TestInjectCounts(t *testing.T) {
	_, d, _ := openCPU(t)
	do := faultCalls(d)[CallAllocate]
	for _, tc := range []struct{ after, times int }{{0, 0}, {0, 1}, {3, 0}, {3, 2}, {1, 1}} {
		Inject(d, &Faults{Calls: map[Call]Fault{CallAllocate: {Result: ResultDeviceLost, After: tc.after, Times: tc.times}}})
		for i := range 8 {
			hit := i >= tc.after && (tc.times == 0 || i < tc.after+tc.times)
			require.Equal(t, hit, errors.Is(do(), ErrDeviceLost), "%v, call %d", tc, i)
		}
	}
	const delay = 5 * time.Millisecond
	Inject(d, &Faults{Calls: map[Call]Fault{CallAllocate: {Delay: delay}}})
	begin := time.Now()
	require.NoError(t, do())
	require.GreaterOrEqual(t, time.Since(begin), delay)
}

// TestInjectStuck makes a device look hung: what is below the stuck value is still seen.
func TestInjectStuck(t *testing.T) {
	_, d, _ := openCPU(t)
	Inject(d, &Faults{Stuck: 2})
	for value := uint64(1); value <= 3; value++ {
		require.NoError(t, d.Submit(0, nil, value))
	}
	ok, err := d.Wait(0, 1, 10*time.Second)
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, d.WaitIdle()) // the work is done
	ok, err = d.Wait(0, 2, time.Millisecond)
	require.NoError(t, err)
	require.False(t, ok)
	v, err := d.Reached(0)
	require.NoError(t, err)
	require.Equal(t, uint64(1), v)
	Inject(d, nil)
	ok, err = d.Wait(0, 3, 10*time.Second)
	require.NoError(t, err)
	require.True(t, ok)
	v, err = d.Reached(0)
	require.NoError(t, err)
	require.Equal(t, uint64(3), v)
}

// TestInjectAll reaches devices that are open and those that come.
func TestInjectAll(t *testing.T) {
	_, before, _ := openCPU(t)
	f := &Faults{Calls: map[Call]Fault{CallNewBuffer: {Result: ResultDeviceLost, Times: 2}}}
	Inject(nil, f)
	defer Inject(nil, nil)
	_, after, _ := openCPU(t)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			d := before
			if i%2 == 0 {
				d = after
			}
			errs[i] = faultCalls(d)[CallNewBuffer]()
		})
	}
	wg.Wait()
	lost := 0
	for _, err := range errs {
		if errors.Is(err, ErrDeviceLost) {
			lost++
		}
	}
	require.Equal(t, 2, lost, "counted together")
	Inject(nil, nil)
	require.NoError(t, faultCalls(before)[CallNewBuffer]())
}

func BenchmarkFault(b *testing.B) {
	d := &Device{}
	for b.Loop() {
		if d.fault(CallSubmit, "") != nil {
			b.Fatal()
		}
	}
}
