package live

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/canvas"
)

// TestShares: work is shared out among the slices that it lies in, and what is too old is forgotten.
func TestShares(t *testing.T) {
	h := newHistory()
	h.start()
	h.mu.Lock()
	h.add(networkLane, 25*time.Millisecond, 125*time.Millisecond)
	h.add(rivalLane, 110*time.Millisecond, 120*time.Millisecond)
	h.add(rivalLane, 130*time.Millisecond, 135*time.Millisecond)
	h.add(drawLane, -time.Second, 10*time.Millisecond) // since before the start
	h.mu.Unlock()
	s := h.snapshot(h.began.Add(140 * time.Millisecond))
	last := shownSlices - 1
	require.InDeltaSlice(t, []float64{0.5, 1, 0.5}, s.shares[networkLane][last-2:], 1e-9)
	require.InDeltaSlice(t, []float64{0, 0, 0.3}, s.shares[rivalLane][last-2:], 1e-9)
	require.InDeltaSlice(t, []float64{0.2, 0, 0}, s.shares[drawLane][last-2:], 1e-9)
	require.Zero(t, s.shares[networkLane][last-3])

	// A second later all has moved to the left, and after a minute it is gone.
	s = h.snapshot(h.began.Add(1140 * time.Millisecond))
	require.InDeltaSlice(t, []float64{0.5, 1, 0.5, 0}, s.shares[networkLane][last-22:][:4], 1e-9)
	h.mu.Lock()
	h.add(networkLane, 0, 50*time.Millisecond)
	h.mu.Unlock()
	s = h.snapshot(h.began.Add(time.Minute))
	require.Equal(t, [shownSlices]float64{}, s.shares[networkLane])
	h.mu.Lock()
	h.add(networkLane, time.Second, 2*time.Second) // told of too late
	h.mu.Unlock()
	require.Equal(t, [shownSlices]float64{}, h.snapshot(h.began.Add(time.Minute)).shares[networkLane])
}

func TestSummary(t *testing.T) {
	h := newHistory()
	h.frame(met, time.Hour) // of the warm-up
	h.start()
	for i := range 98 {
		h.frame(met, time.Duration(i+1)*time.Millisecond)
	}
	h.frame(late, 200*time.Millisecond)
	h.frame(missed, 100*time.Millisecond)
	h.frame(refused, 0)
	h.drop(3)
	h.wasDrawn()
	h.rivalEnded()
	h.moved.read.Add(7)
	h.preemptions = func() int64 { return 5 }
	h.end()
	h.ended = h.began.Add(10 * time.Second)
	h.rivalEnded() // too late to count
	s := h.summary(&Setup{Path: "x", Kind: Raw, Rival: &Rival{Path: "y"}})
	require.Equal(t, &Summary{
		Model: "x", Kind: Raw, Frames: 101, Met: 98, Missed: 2, Refused: 1, Dropped: 3, Drawn: 1, MetPercent: 100 * 98. / 101, PerSecond: 10.1,
		Latency: Latency{50, 89, 98, 200}, Preemptions: 5, Against: &Background{Model: "y", PerSecond: 0.1}, Moved: Moved{Results: 7},
	}, s)
	require.Len(t, h.snapshot(h.ended).frames, shownFrames)
}

// TestLatencies: the strip has a bar for each frame, the last one at the right.
func TestLatencies(t *testing.T) {
	d := &drawer{session: &session{}, sheet: canvas.NewSheet(1)}
	d.latencies([]frameRecord{{met, 50 * time.Millisecond}, {late, 100 * time.Millisecond}, {refused, 0}}, 80*time.Millisecond)
	want := canvas.NewSheet(1)
	for i := range shownFrames {
		want.Column(i, latencyRow, 2, 0, canvas.Green)
	}
	want.Column(shownFrames-3, latencyRow, 2, 0.5, canvas.Green)
	want.Column(shownFrames-2, latencyRow, 2, 1, canvas.Red)
	want.Column(shownFrames-1, latencyRow, 2, 1, canvas.Amber)
	require.Equal(t, want, d.sheet)
}

func TestTexts(t *testing.T) {
	require.Equal(t, "999 bytes", byteText(999))
	require.Equal(t, "1.5 kB", byteText(1500))
	require.Equal(t, "2.0 MB", byteText(2e6))
	require.Empty(t, latencyText([]frameRecord{{refused, 0}, {missed, time.Second}}))
	require.Equal(t, "3.0 ms, at most 4.0", latencyText([]frameRecord{{late, 4 * time.Millisecond}, {met, 2 * time.Millisecond}, {met, 3 * time.Millisecond}}))
}
