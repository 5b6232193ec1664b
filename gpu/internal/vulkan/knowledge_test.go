package vulkan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAttribute(t *testing.T) {
	for _, tc := range []struct {
		name    string
		total   float64
		beliefs []belief
		want    []float64
	}{
		{"as known", 300, []belief{{100, 1, true}, {200, 1, true}}, []float64{100, 200}},
		{"the rest to what was never timed", 1000, []belief{{100, 1, true}, {30, 30, false}, {10, 10, false}}, []float64{100, 675, 225}},
		{"more, to the doubtful", 400, []belief{{100, 0, true}, {200, 1000, true}}, []float64{100, 300}},
		{"less, from the doubtful", 200, []belief{{100, 0, true}, {200, 1000, true}}, []float64{100, 100}},
		{"less than the known ones take", 60, []belief{{100, 0, true}, {50, 50, false}}, []float64{55, 5}},
		{"nothing known", 100, []belief{{1, 1, false}, {3, 3, false}}, []float64{25, 75}},
		{"nothing at all", 100, []belief{{}, {}}, []float64{50, 50}},
		{"no time", 0, []belief{{100, 1, true}, {200, 1, true}}, []float64{0, 0}},
		{"no step", 100, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := attribute(tc.total, tc.beliefs)
			require.Len(t, got, len(tc.want))
			var sum float64
			for i, b := range got {
				require.InDelta(t, tc.want[i], b.took, 10, "step %d", i)
				require.GreaterOrEqual(t, b.took, 0.0)
				require.GreaterOrEqual(t, b.doubt, 0.0)
				sum += b.took
			}
			if len(got) > 0 {
				require.InDelta(t, tc.total, sum, 1e-6)
			}
		})
	}
}

// TestKnowledge: the median of what timestamps told, with less doubt the more there are, whatever a few of them say.
func TestKnowledge(t *testing.T) {
	k := &knowledge{samples: make([][]float64, 2)}
	require.False(t, k.of(0, 0).known)
	k.add(0, 1000)
	one := k.of(0, 0)
	require.Equal(t, belief{1000, one.doubt, true}, one)
	require.GreaterOrEqual(t, one.doubt, 250.0)
	for range 20 {
		k.add(0, 1010)
		k.add(0, 990)
		k.add(0, time.Second) // somebody else had the processor
		k.add(0, 1000)
	}
	many := k.of(0, 0)
	require.InDelta(t, 1005, many.took, 6)
	require.Len(t, k.samples[0], mostSamples)
	require.False(t, k.of(1, 0).known)
	require.InDelta(t, 5, k.of(0, 40).doubt-many.doubt, 1e-6, "of the timestamps")
}

func TestLayOut(t *testing.T) {
	share := func(list ...float64) (out []belief) {
		for _, took := range list {
			out = append(out, belief{took: took})
		}
		return out
	}
	for _, tc := range []struct {
		name    string
		busy    span
		shares  []belief
		anchors map[int]time.Duration
		want    []time.Duration
	}{
		{"in a row", span{100, 200}, share(50, 30, 20), nil, []time.Duration{100, 150, 180}},
		{"with room", span{100, 300}, share(50, 30, 20), nil, []time.Duration{100, 200, 260}},
		{"to an anchor", span{100, 200}, share(50, 30, 20), map[int]time.Duration{1: 120}, []time.Duration{100, 120, 168}},
		{"anchors out of order", span{100, 200}, share(50, 30, 20), map[int]time.Duration{1: 150, 2: 90}, []time.Duration{100, 150, 150}},
		{"an anchor outside", span{100, 200}, share(50, 50), map[int]time.Duration{1: 900}, []time.Duration{100, 200}},
		{"no time", span{100, 100}, share(0, 0), nil, []time.Duration{100, 100}},
		{"nothing", span{100, 200}, nil, nil, []time.Duration{}},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, layOut(tc.busy, tc.shares, tc.anchors)) })
	}
}

// TestClock: times of the device come within what submissions allow, whatever they are counted from.
func TestClock(t *testing.T) {
	const offset, ms = 1000 * time.Hour, time.Millisecond
	var c clock
	c.bound(10*ms-offset, 12*ms-offset, 5*ms, 13*ms)
	require.InDelta(t, 10*ms, c.host(10*ms-offset), float64(5*ms))
	c.bound(20*ms-offset, 30*ms-offset, 19*ms, 40*ms)
	require.InDelta(t, 20*ms, c.host(20*ms-offset), float64(ms))
	c.bound(50*ms-offset, 50*ms-offset, 50*ms, 50*ms) // calibrated
	require.InDelta(t, 50*ms, c.host(50*ms-offset), float64(10*time.Microsecond))
	c.bound(time.Hour, time.Hour+ms, 60*ms, 62*ms) // the device's clock was set
	require.InDelta(t, 60*ms, c.host(time.Hour), float64(ms))
}

// TestStampRoom: timestamps, the reading of them and the writing of their commands stay within 3 % of an execution.
func TestStampRoom(t *testing.T) {
	const us = time.Microsecond
	for _, tc := range []struct {
		whole, stamp, record time.Duration
		points, want         int
	}{
		{100 * us, 1, 0, 4, 0},       // not even the reading, however cheap they seem
		{150 * us, 1, 0, 4, 1},       // which is none
		{200 * us, 1, 0, 4, 4},       // all, with some room left
		{200 * us, us, 0, 4, 2},      // some, written anew for nothing
		{200 * us, us, 3 * us, 4, 0}, // and for something
		{10 * time.Millisecond, us, 0, 150, 296},
		{10 * time.Millisecond, 40 * us, us, 150, 7}, // lavapipe
		{0, 0, 0, 1, 0},
	} {
		require.Equal(t, tc.want, stampRoom(tc.whole, tc.stamp, tc.record, tc.points), tc)
	}
}
