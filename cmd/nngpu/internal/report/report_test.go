package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
)

var epoch = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func at(ms float64) time.Time { return epoch.Add(time.Duration(ms * 1e6)) }

// span is of the host, work of the device.
func span(name string, kind driver.ProfileKind, from, to float64) driver.ProfileSpan {
	return driver.ProfileSpan{Name: name, Kind: kind, From: at(from), To: at(to)}
}

func work(from, to float64) driver.ProfileSpan {
	return driver.ProfileSpan{Name: "device", OnDevice: true, Busy: true, From: at(from), To: at(to)}
}

func step(name string, from, to float64) driver.ProfileSpan {
	return driver.ProfileSpan{Name: name, Kind: driver.ProfileOp, OnDevice: true, From: at(from), To: at(to)}
}

// contest is a background run from 0 to 12 ms that gives way to a foreground run from 3 to 7.
func contest() *Recording {
	back := &driver.Profile{
		Began: at(0), Wall: 12 * time.Millisecond,
		Rows: []driver.ProfileRow{
			{Name: "CONV_2D #0 + RELU #1", Kind: driver.ProfileOp, Time: 8 * time.Millisecond, Kernel: "conv", FLOP: 4e6, Bytes: 1e6},
			{Name: "preempted", Kind: driver.ProfileScheduler, Time: 4 * time.Millisecond},
		},
		Spans: []driver.ProfileSpan{
			work(0, 4), step("CONV_2D #0 + RELU #1", 0, 4), span("preempted", driver.ProfileScheduler, 4, 7),
			work(7, 11), step("CONV_2D #0 + RELU #1", 7, 11), span("finish", driver.ProfileFinish, 11, 12),
		},
	}
	front := &driver.Profile{
		Began: at(3), Wall: 4 * time.Millisecond,
		Rows: []driver.ProfileRow{
			{Name: "ADD #0", Kind: driver.ProfileOp, Time: 3 * time.Millisecond, Kernel: "add", FLOP: 1e5, Bytes: 1e6},
			{Name: "queue", Kind: driver.ProfileScheduler, Time: time.Millisecond},
		},
		Spans: []driver.ProfileSpan{span("queue", driver.ProfileScheduler, 3, 4), work(4, 7), step("ADD #0", 4, 7)},
	}
	return &Recording{
		Title: "a contest", Device: "device", Driver: "driver", Clients: []string{"front", "back"},
		Runs: []Run{{"back", "large", "low", back}, {"front", "small", "high", front}},
		Events: []Event{
			{Name: "prepare", Detail: "cache miss", From: at(-20), To: at(-10)}, {Name: "the cache does not work", Detail: "full", From: at(-5)},
		},
	}
}

func TestWaits(t *testing.T) {
	require.Equal(t, []Wait{
		{Run: 0, Name: "preempted", From: at(4), To: at(7), For: []Share{{1, 3 * time.Millisecond}}},
		{Run: 1, Name: "queue", From: at(3), To: at(4), For: []Share{{0, time.Millisecond}}},
	}, contest().Waits())
	alone := contest()
	alone.Runs = alone.Runs[1:]
	require.Equal(t, []Wait{{Run: 0, Name: "queue", From: at(3), To: at(4)}}, alone.Waits())
}

// TestChromeTrace parses the trace: tracks with names, everything in its place on one clock, and who waited for whom.
func TestChromeTrace(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, contest().WriteChrome(&b))
	var trace chromeTrace
	dec := json.NewDecoder(&b)
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&trace))
	threads := map[[2]int]string{}
	found := map[string]chromeEvent{}
	starts, ends := map[int]chromeEvent{}, map[int]chromeEvent{}
	for _, e := range trace.Events {
		require.GreaterOrEqual(t, e.At, 0.0)
		switch e.Phase {
		case "M":
			if e.Name == "thread_name" {
				threads[[2]int{e.Process, e.Thread}] = e.Args["name"].(string)
			}
		case "X":
			require.NotNil(t, e.Length)
			found[e.Category+" "+e.Name] = e
		case "i":
			found[e.Category+" "+e.Name] = e
		case "s":
			starts[e.ID] = e
		case "f":
			ends[e.ID] = e
		default:
			t.Fatalf("phase %s", e.Phase)
		}
	}
	track := func(e chromeEvent) string { return threads[[2]int{e.Process, e.Thread}] }
	for what, want := range map[string]struct {
		track    string
		at, long float64
	}{
		"run large":              {"back", 20e3, 12e3},
		"run small":              {"front", 23e3, 4e3},
		"submission back: large": {"submissions", 27e3, 4e3},
		"op ADD #0":              {"steps", 24e3, 3e3},
		"finish finish":          {"back", 31e3, 1e3},
		"wait preempted":         {"back", 24e3, 3e3},
		"wait queue":             {"front", 23e3, 1e3},
		"prepare prepare":        {"prepare", 0, 10e3},
	} {
		e, ok := found[what]
		require.True(t, ok, what)
		require.Equal(t, want.track, track(e), what)
		require.InDelta(t, want.at, e.At, 1e-6, what)
		require.InDelta(t, want.long, *e.Length, 1e-6, what)
	}
	require.Equal(t, "full", found["prepare the cache does not work"].Args["detail"])
	require.Equal(t, "front", found["wait preempted"].Args["waited_for"])
	require.EqualValues(t, 1, found["wait preempted"].Args["waited_for_run"])
	require.Equal(t, "back", found["wait queue"].Args["waited_for"])
	require.Len(t, starts, 2)
	for id, s := range starts {
		require.Equal(t, "submissions", track(s))
		require.GreaterOrEqual(t, ends[id].At, s.At)
		require.Contains(t, []string{"front", "back"}, track(ends[id]))
	}
}

// TestPprof reads back what was written.
func TestPprof(t *testing.T) {
	var b bytes.Buffer
	r := contest()
	r.Runs = append(r.Runs, r.Runs[0])
	require.NoError(t, r.WritePprof(&b))
	p, err := profile.Parse(&b)
	require.NoError(t, err)
	require.NoError(t, p.CheckValid())
	sums := map[string][]int64{}
	for _, s := range p.Sample {
		var stack []string
		for _, l := range s.Location {
			stack = append(stack, l.Line[0].Function.Name)
		}
		sums[strings.Join(stack, " < ")] = s.Value
	}
	require.Equal(t, map[string][]int64{
		"conv < CONV_2D #0 + RELU #1 < back: large": {16e6, 8e6, 2e6},
		"preempted < back: large":                   {8e6, 0, 0},
		"add < ADD #0 < front: small":               {3e6, 1e5, 1e6},
		"queue < front: small":                      {1e6, 0, 0},
	}, sums)
	require.EqualValues(t, 28e6, p.DurationNanos)
}

func fullPage() *Page {
	return &Page{
		Recording: *contest(), Notes: []string{"a note"},
		Tables:   []Table{{Title: "rows", Head: []string{"", "kind", "ms"}, Left: []int{1}, Rows: [][]string{{"ADD #0", "op", "3.0"}}}},
		Ceilings: Ceilings{F32: 1e11, Dot: 2e11, Cache: 1e10, Memory: 5e9},
		Points: []Point{
			{Name: "CONV_2D #0", FLOP: 4e6, Bytes: 1e6, MS: 8, Share: 0.7}, {Name: "ADD #0", FLOP: 1e5, Bytes: 1e6, MS: 3, Share: 0.3},
			{Name: "copy", Bytes: 1e6, MS: 1},
		},
		Memory: Memory{Arena: 4096, Weights: 100, Steps: []MemoryStep{{"CONV_2D #0", 4096, 8}, {"ADD #0", 1024, 3}}},
	}
}

// TestPage: the page has its parts, is well-formed, and asks nobody for anything.
func TestPage(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, fullPage().WritePage(&b))
	text := b.String()
	for _, part := range []string{
		"<h2>rows</h2>", "<h2>Timeline</h2>", "<h2>The longest waits</h2>", "<h2>Roofline</h2>", "<h2>Memory over time</h2>",
		"int8 dot 200 G/s", "4.1 kB",
	} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, text, "ZgotmplZ", "the template refused a value")
	require.NotContains(t, text, "NaN")
	require.NotContains(t, text, "Inf")
	checkPage(t, text)

	b.Reset()
	require.NoError(t, (&Page{}).WritePage(&b), "of nothing")
	checkPage(t, b.String())
	for _, part := range []string{"Timeline", "Roofline", "Memory"} {
		require.NotContains(t, b.String(), "<h2>"+part)
	}
}

// checkPage walks over the elements: none that runs or loads anything. It returns the text.
func checkPage(t *testing.T, page string) string {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(page))
	dec.Strict, dec.AutoClose, dec.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var words strings.Builder
	open := 0
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			require.Zero(t, open, "elements that do not end")
			return words.String()
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.CharData:
			words.Write(e)
		case xml.StartElement:
			open++
			require.NotContains(t, []string{"script", "link", "img", "iframe", "object", "embed", "use", "image", "a", "base", "form"}, e.Name.Local)
			for _, a := range e.Attr {
				require.NotContains(t, []string{"src", "href", "action"}, a.Name.Local)
				require.False(t, strings.HasPrefix(a.Name.Local, "on"), a.Name.Local)
				require.NotContains(t, a.Value, "://")
			}
		case xml.EndElement:
			open--
		}
	}
}

// TestHostileTexts: whatever names say is text.
func TestHostileTexts(t *testing.T) {
	const evil = `"><script>alert(1)</script><img src=//evil onerror=x>'` + "`{{.}}"
	p := fullPage()
	p.Title, p.Device, p.Driver, p.Notes = evil, evil, evil, []string{evil}
	p.Tables[0].Rows = [][]string{{evil, evil, evil}}
	p.Points[0].Name, p.Memory.Steps[0].Name = evil, evil
	for i := range p.Runs {
		p.Runs[i].Model = evil
		for k := range p.Runs[i].Profile.Spans {
			if s := &p.Runs[i].Profile.Spans[k]; s.OnDevice && !s.Busy {
				s.Name = evil
			}
		}
	}
	var b bytes.Buffer
	require.NoError(t, p.WritePage(&b))
	require.Contains(t, checkPage(t, b.String()), evil, "as text")
	b.Reset()
	require.NoError(t, p.WriteChrome(&b))
	require.True(t, json.Valid(b.Bytes()))
	b.Reset()
	require.NoError(t, p.WritePprof(&b))
	_, err := profile.Parse(&b)
	require.NoError(t, err)
}

func TestTimelineWindow(t *testing.T) {
	p := &Page{Recording: *contest()}
	from, to, about := p.window()
	require.Equal(t, at(1), from)
	require.Equal(t, at(10), to)
	require.Contains(t, about, "back (run 0, preempted) waits 3.000 ms for front (run 1)")
	line := p.Timeline()
	var names []string
	for _, l := range line.Lanes {
		names = append(names, l.Name)
		for _, bar := range l.Bars {
			require.GreaterOrEqual(t, bar.X, float64(laneLeft))
			require.LessOrEqual(t, bar.X+bar.W, float64(chartRight)+0.5)
		}
	}
	require.Equal(t, []string{"host: front", "host: back", "device: work", "device: steps"}, names)
	p.Runs = p.Runs[:1]
	p.Clients = nil
	from, to, _ = p.window()
	require.Equal(t, []time.Time{at(0), at(12)}, []time.Time{from, to})
	require.Nil(t, (&Page{}).Timeline())
}
