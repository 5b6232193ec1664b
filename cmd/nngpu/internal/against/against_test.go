package against

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seen makes the observations of n executions that take from ms to ms*spread.
func seen(n int, ms, spread float64) *observations {
	o := &observations{preemptions: 3, background: 1.5}
	for i := range n {
		o.times = append(o.times, time.Duration(ms*(1+(spread-1)*float64(i)/float64(n))*1e6))
	}
	return o
}

func example3() *Result {
	r := &Result{
		Alone: seen(1000, 1, 2).figures(), Loaded: seen(900, 2, 4).figures(), NoPreempt: seen(90, 100, 5).figures(), SegmentBound: 4,
	}
	r.Loaded.Missed, r.NoPreempt.Refused = 7, 11
	return r
}

func TestFigures(t *testing.T) {
	o := &observations{missed: 1, refused: 2, preemptions: 3, background: 4}
	for i := range 101 {
		o.times = append(o.times, time.Duration(i)*time.Millisecond)
	}
	c := o.figures()
	require.Equal(t, []float64{50, 90, 99, 100}, []float64{c.P50, c.P90, c.P99, c.Max})
	require.Equal(t, 101, c.Runs)
	text, err := json.Marshal(c)
	require.NoError(t, err)
	require.JSONEq(t, `{"runs": 101, "p50": 50, "p90": 90, "p99": 99, "max": 100, "missed": 1, "refused": 2, "preemptions": 3,
		"background_per_second": 4}`, string(text))
	none := (&observations{refused: 5}).figures()
	require.Zero(t, none.Max)
	require.Equal(t, 5, none.Refused)
}

func TestAgainstTable(t *testing.T) {
	r := example3()
	require.Equal(t, r.Table(time.Second), r.Table(0), "some were refused for other reasons")
	text := r.Table(time.Second)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	require.Len(t, lines, 5)
	for _, line := range lines[1:4] {
		require.Len(t, line, len(lines[0]), "columns end together:\n%s", text)
	}
	require.Equal(t, []string{"loaded", "900", "5.000", "7.393", "7.933", "7.993", "7", "0", "3", "1.50"}, strings.Fields(lines[2]))
	require.Contains(t, lines[4], "segments of at most 4 ms")
	require.Contains(t, lines[4], "times as long")
	r.Loaded.P99 = r.Alone.P99 - 0.001
	require.Contains(t, r.Table(0), "Under load p99 is no later than alone; without preemption")
	require.NotContains(t, r.verdict(), "segments")

	quiet := *r
	quiet.Loaded.Missed, quiet.NoPreempt.Refused = 0, 0
	require.NotContains(t, quiet.Table(0), "refused")

	r.NoPreempt = (&observations{missed: 3}).figures()
	require.Contains(t, r.Table(time.Second), "without preemption no execution ended in time")
	r.Loaded = (&observations{refused: 3}).figures()
	require.Contains(t, r.Table(time.Second), "choose a later deadline")
}

func TestAgainstPlot(t *testing.T) {
	var b bytes.Buffer
	r := example3()
	r.Model = "first <high> & second"
	require.NoError(t, r.Plot(&b, 200))
	text := wellFormed(t, b.Bytes())
	for _, word := range []string{
		"first <high> & second", "alone", "loaded", "no preemption", "deadline, 200 ms", "p99 alone + 3 segments",
		"share of executions (%)", "latency at most (ms)", "50", "99", "99.9", "10", "100",
	} {
		require.Contains(t, text, word)
	}
	require.Less(t, b.Len(), 100_000)
}

// TestAgainstPlotOfLittle has cases without a curve, and curves of one execution.
func TestAgainstPlotOfLittle(t *testing.T) {
	none, one := (&observations{}).figures(), seen(1, 5, 1).figures()
	instant := (&observations{times: make([]time.Duration, 3)}).figures()
	for _, r := range []*Result{
		{Alone: one, Loaded: one, NoPreempt: one, SegmentBound: 2},
		{Alone: one, Loaded: none, NoPreempt: none, SegmentBound: 2},
		{Alone: none, Loaded: one, NoPreempt: instant, SegmentBound: 2},
		{Alone: seen(100_000, 1e-4, 1e7).figures(), Loaded: one, NoPreempt: one, SegmentBound: 2},
	} {
		var b bytes.Buffer
		require.NoError(t, r.Plot(&b, 0))
		wellFormed(t, b.Bytes())
	}
	require.ErrorIs(t, (&Result{Alone: none, Loaded: none, NoPreempt: instant}).Plot(io.Discard, 1), ErrNothing)
}

// wellFormed returns the texts of an SVG picture, one a line.
func wellFormed(t *testing.T, svg []byte) string {
	t.Helper()
	dec := xml.NewDecoder(bytes.NewReader(svg))
	var texts []string
	root := ""
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch v := token.(type) {
		case xml.StartElement:
			if root == "" {
				root = v.Name.Local
			}
			for _, a := range v.Attr {
				require.NotContains(t, a.Value, "NaN")
				require.NotContains(t, a.Value, "Inf")
			}
		case xml.CharData:
			texts = append(texts, strings.TrimSpace(string(v)))
		}
	}
	require.Equal(t, "svg", root)
	return strings.Join(texts, "\n")
}
