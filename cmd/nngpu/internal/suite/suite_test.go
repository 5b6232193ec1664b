package suite

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var ceilings = Ceilings{F32: 100, F16: 0, Int8: 400, Memory: 10}

func TestBound(t *testing.T) {
	for _, tc := range []struct {
		name, typ string
		c         Ceilings
		gflop     float64
		bytes     int64
		bound     Bound
		ms        float64
	}{
		{"arithmetic", "f32", ceilings, 1, 1000, ByF32, 10},
		{"of 8 bits", "int8", ceilings, 1, 1000, ByInt8, 2.5},
		{"none of 16 bits", "f16", ceilings, 1, 1000, ByF32, 10},
		{"slow ones", "int8", Ceilings{F32: 100, Int8: 50}, 1, 1000, ByF32, 10},
		{"16 bits", "f16", Ceilings{F32: 100, F16: 200}, 1, 1000, ByF16, 5},
		{"matrices of 16 bits", "f16", Ceilings{F32: 100, F16: 200, MatrixF16: 1000, MatrixInt8: 2000}, 1, 1000, ByMatrixF16, 1},
		{"matrices of 8 bits", "int8", Ceilings{F32: 100, Int8: 400, MatrixInt8: 2000}, 1, 1000, ByMatrixInt8, 0.5},
		{"no matrices of 32 bits", "f32", Ceilings{F32: 100, MatrixF16: 1000, MatrixInt8: 2000}, 1, 1000, ByF32, 10},
		{"memory", "f32", ceilings, 0.001, 1e8, ByMemory, 10},
		{"nothing known", "f32", Ceilings{}, 1, 1, ByF32, 0},
	} {
		bound, ms := tc.c.bound(&Subject{Type: tc.typ, GFLOP: tc.gflop, Bytes: tc.bytes})
		require.Equal(t, tc.bound, bound, tc.name)
		require.InDelta(t, tc.ms, ms, 1e-9, tc.name)
	}
}

// steady is a gauge that reads a list of rates again and again.
func steady(rates ...float64) Gauge {
	i := 0
	return func(context.Context) (float64, error) {
		i++
		return rates[(i-1)%len(rates)], nil
	}
}

// TestMeasure: all subjects have bursts in all rounds, one that fails no more of them, and rows tell the fastest.
func TestMeasure(t *testing.T) {
	turns := map[string]int{}
	subject := func(name string, fails error) *Subject {
		return &Subject{Network: name, Type: "f32", GFLOP: 1e-3, Run: func(context.Context) error {
			turns[name]++
			time.Sleep(50 * time.Microsecond)
			return fails
		}}
	}
	subjects := []*Subject{subject("a", nil), subject("b", errors.New("a|b")), subject("c", nil)}
	steps := 0
	r := &Result{Device: "device"}
	p := &Plan{
		Gauges:   map[Bound]Gauge{ByF32: steady(100, 60, 60), ByInt8: steady(1000)},
		Duration: 50 * time.Millisecond, Until: time.Now().Add(time.Second), Step: func() { steps++ },
	}
	require.NoError(t, Measure(context.Background(), subjects, p, r))
	require.Equal(t, 3*Rounds, steps)
	require.GreaterOrEqual(t, r.Rounds, Rounds)
	require.Equal(t, Ceilings{F32: 100, Int8: 1000, Busy: true}, r.Ceilings)
	require.Equal(t, 1, turns["b"])
	a := r.Rows[0]
	require.GreaterOrEqual(t, a.Bursts, 5)
	require.Less(t, a.Runs, turns["a"], "the first of a burst does not count")
	require.NotNil(t, a.Spread)
	require.GreaterOrEqual(t, a.Min, 0.05)
	require.LessOrEqual(t, a.Min, a.Median)
	require.InDelta(t, 0.01, a.Ceiling, 1e-9)
	require.InDelta(t, 100*0.01/a.Min, a.Percent, 1e-9)
	require.InDelta(t, 1e-3/(a.Min/1e3), a.GFLOPS, 1e-9)
	require.Equal(t, "a|b", r.Rows[1].Error)
	text := r.Markdown()
	require.Contains(t, text, "| b | f32 | failed | | | | | | a\\|b | | |")
	require.Contains(t, text, "others use the machine")
	require.Contains(t, text, "| a | f32 | ")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, Measure(ctx, subjects, p, &Result{}), context.Canceled)
}

// TestTimes: no burst begins when the time is up, slow subjects have fewer of them, and unsure ones more.
func TestTimes(t *testing.T) {
	r := &Result{}
	late := &Subject{Network: "late", Run: func(context.Context) error { return nil }}
	p := &Plan{Duration: time.Millisecond, Until: time.Now(), Step: func() {}}
	require.NoError(t, Measure(context.Background(), []*Subject{late}, p, r))
	require.Equal(t, OutOfTime, r.Rows[0].Error)

	const ms = time.Millisecond
	p = &Plan{Duration: 25 * ms, Until: time.Now().Add(time.Hour)}
	slow := &Subject{used: 10 * ms}
	require.True(t, (&Subject{}).due(0, p))
	require.False(t, slow.due(9, p))
	require.True(t, slow.due(10, p))
	require.True(t, slow.due(Rounds, p), "nothing is known of it")
	slow.bursts = [][]time.Duration{{1000, 1500}, {1100}, {1300}, {1015}}
	spread, ok := slow.spread()
	require.True(t, ok)
	require.InDelta(t, 0.015, spread, 1e-9)
	require.False(t, slow.due(Rounds, p))
	slow.bursts = slow.bursts[:3]
	require.True(t, slow.due(Rounds, p))
	slow.used = 100 * ms
	require.False(t, slow.due(Rounds, p))
	slow.used = 10 * ms
	p.Until = time.Now()
	require.False(t, slow.due(Rounds, p))
}

// TestBurst: an execution that takes all of the time counts, though it is the first.
func TestBurst(t *testing.T) {
	s := &Subject{Run: func(context.Context) error {
		time.Sleep(time.Millisecond)
		return nil
	}}
	s.burst(context.Background(), 100*time.Microsecond)
	require.Len(t, s.bursts, 1)
	require.Len(t, s.bursts[0], 1)
	require.GreaterOrEqual(t, s.used, time.Millisecond)
}
