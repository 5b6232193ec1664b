package qos

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPace(t *testing.T) {
	for _, tc := range []struct {
		name                 string
		took, estimated, gap time.Duration
		want                 time.Duration // for 10 segments that are estimated to take 20 ms
	}{
		{"as estimated", 2 * ms, 2 * ms, 0, 20 * ms},
		{"quicker", 1800 * time.Microsecond, 2 * ms, 0, 18 * ms},
		{"quicker than is believed", 1 * ms, 2 * ms, 0, 15 * ms},
		{"slower", 2200 * time.Microsecond, 2 * ms, 0, 22 * ms},
		{"slower than is believed", 20 * ms, 2 * ms, 0, 30 * ms},
		{"with gaps", 2 * ms, 2 * ms, 100 * time.Microsecond, 21 * ms},
		{"with gaps longer than is believed", 2 * ms, 2 * ms, time.Second, 30 * ms},
		{"of nothing", 0, 0, 0, 20 * ms},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var p pace
			require.Equal(t, 20*ms, p.expect(20*ms, 10), "before anything was seen")
			for range 5000 {
				p.add(tc.took, tc.estimated, tc.gap)
			}
			require.InDelta(t, float64(tc.want), float64(p.expect(20*ms, 10)), float64(time.Microsecond))
			require.LessOrEqual(t, p.atBest(20*ms, 10), 20*ms)
			if tc.name == "as estimated" || tc.name == "of nothing" {
				require.Zero(t, p.reserve(20*ms), "what does not vary needs no reserve")
			}
			require.LessOrEqual(t, p.expect(never, 1<<16), never)
			require.LessOrEqual(t, p.reserve(never), never)
		})
	}
}

// TestReserve: of work that varies at random, one in a hundred at most takes longer than expected with the reserve.
func TestReserve(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var p pace
	segment := func() time.Duration { return time.Duration((1 + 2*rnd.Float64()) * float64(ms)) }
	for range 2000 {
		p.add(segment(), 2*ms, 0)
	}
	for _, n := range []int{5, 20, 80} {
		over := 0
		for range 2000 {
			var sum time.Duration
			for range n {
				sum += segment()
			}
			expected := p.expect(time.Duration(n)*2*ms, n)
			if sum > expected+p.reserve(expected) {
				over++
			}
		}
		require.Less(t, over, 20, "of 2,000 of %d segments", n)
		expected := p.expect(time.Duration(n)*2*ms, n)
		require.Less(t, p.reserve(expected), time.Duration(n)*ms*4/5)
	}
}

// TestReserveOfDisturbances: what slows all work down for tenths of a second is more than segments that vary each by
// itself, and few take longer than expected with the reserve for it.
func TestReserveOfDisturbances(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var p pace
	slow, left := 1.0, 0
	segment := func() time.Duration {
		if left--; left < 0 { // another neighbour, for 20 to 120 ms
			slow, left = 1+rnd.Float64(), 10+rnd.IntN(50)
		}
		return time.Duration(1.5 * slow * float64(ms))
	}
	const n, estimate = 150, 2 * ms // of a job, and of a segment
	over, jobs := 0, 400
	for range jobs {
		expected := p.expect(n*estimate, n)
		limit := expected + p.reserve(expected)
		var sum time.Duration
		for range n {
			took := segment()
			p.add(took, estimate, 0)
			sum += took
		}
		if sum > limit {
			over++
		}
	}
	require.LessOrEqual(t, over, jobs/20)
}
