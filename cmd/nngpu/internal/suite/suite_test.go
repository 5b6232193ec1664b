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
		bound     string
		ms        float64
	}{
		{"arithmetic", "f32", ceilings, 1, 1000, "f32", 10},
		{"of 8 bits", "int8", ceilings, 1, 1000, "int8 dot", 2.5},
		{"none of 16 bits", "f16", ceilings, 1, 1000, "f32", 10},
		{"slow ones", "int8", Ceilings{F32: 100, Int8: 50}, 1, 1000, "f32", 10},
		{"16 bits", "f16", Ceilings{F32: 100, F16: 200}, 1, 1000, "f16", 5},
		{"memory", "f32", ceilings, 0.001, 1e8, "memory", 10},
		{"nothing known", "f32", Ceilings{}, 1, 1, "f32", 0},
	} {
		bound, ms := tc.c.bound(tc.typ, tc.gflop, tc.bytes)
		require.Equal(t, tc.bound, bound, tc.name)
		require.InDelta(t, tc.ms, ms, 1e-9, tc.name)
	}
}

// TestMeasure: subjects have turns, every other round backward; one that fails has no more of them.
func TestMeasure(t *testing.T) {
	var order []string
	subject := func(name string, fails error) *Subject {
		s := &Subject{Row: Row{Network: name, Type: "f32"}, GFLOP: 1e-3}
		s.Run = func(context.Context) error {
			order = append(order, name)
			return fails
		}
		return s
	}
	subjects := []*Subject{subject("a", nil), subject("b", errors.New("a|b")), subject("c", nil)}
	steps := 0
	require.NoError(t, Measure(context.Background(), subjects, 0, func() { steps++ }))
	require.Equal(t, []string{"a", "b", "c", "c", "a", "a", "c", "c", "a", "a", "c"}, order)
	require.Equal(t, 3*Rounds, steps)

	r := Result{Device: "device", Rounds: Rounds, Ceilings: Ceilings{F32: 100, Busy: true}}
	for _, s := range subjects {
		r.Rows = append(r.Rows, s.Finish(&r.Ceilings))
	}
	require.Equal(t, Rounds, r.Rows[0].Runs)
	require.InDelta(t, 0.01, r.Rows[0].Ceiling, 1e-9)
	require.Positive(t, r.Rows[0].Percent)
	require.Equal(t, "a|b", r.Rows[1].Error)
	text := r.Markdown()
	require.Contains(t, text, "| b | f32 | failed | | | | | a\\|b | | |")
	require.Contains(t, text, "Others used the machine")
	require.Contains(t, text, "| a | f32 | 0.0")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, Measure(ctx, subjects, time.Hour, func() {}), context.Canceled)
}
