package live

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/canvas"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
	"github.com/nngpu/nngpu/driver"
)

// lane is who had the device.
type lane int

const (
	networkLane lane = iota
	drawLane         // preparing pictures and drawing them
	rivalLane
	lanes
)

const (
	// shownFrames and shownSlices are how many of the last frames and of the last slices the strip shows.
	shownFrames = canvas.StripColumns
	shownSlices = canvas.StripColumns - laneNames
	// slice is the time of a cell of the strip.
	slice = 50 * time.Millisecond
	// mostKept bounds the latencies that the summary is made from.
	mostKept = 1 << 20
)

// frameRecord is one frame of the strip.
type frameRecord struct {
	how  outcome
	took time.Duration
}

// history is what happened. Safe for concurrent use.
type history struct {
	moved       moved
	preemptions func() int64 // set before the first frame

	mu      sync.Mutex
	began   time.Time        // guarded by mu
	ended   time.Time        // guarded by mu; zero before
	frames  []frameRecord    // guarded by mu: the last ones
	counts  [refused + 1]int // guarded by mu
	dropped int              // guarded by mu
	drawn   int              // guarded by mu
	times   []time.Duration  // guarded by mu: of frames with a result
	rivals  int              // guarded by mu: executions of the second network
	// slices is guarded by mu: how long each lane had the device in slice number first+i since began.
	slices [shownSlices][lanes]time.Duration
	newest int // guarded by mu: number of the last slice that slices has
}

// moved counts bytes.
type moved struct {
	uploaded  atomic.Int64 // pictures and what is written on the canvas, by the host
	copied    atomic.Int64 // by the driver
	converted atomic.Int64 // read by the device in the client's form
	read      atomic.Int64 // results, by the host
	shown     atomic.Int64 // canvases, by the host
}

func newHistory() *history {
	return &history{began: time.Now(), preemptions: func() int64 { return 0 }}
}

// start forgets what was before.
func (h *history) start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range []*atomic.Int64{&h.moved.uploaded, &h.moved.copied, &h.moved.converted, &h.moved.read, &h.moved.shown} {
		n.Store(0)
	}
	h.began, h.frames, h.times, h.counts, h.dropped, h.drawn, h.rivals = time.Now(), nil, nil, [refused + 1]int{}, 0, 0, 0
	h.slices, h.newest = [shownSlices][lanes]time.Duration{}, 0
}

// resume goes on after end.
func (h *history) resume() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = time.Time{}
}

// tally is how many frames there were, and how many of them had a result.
func (h *history) tally() (total, results int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.counts {
		total += n
	}
	return total, h.counts[met] + h.counts[late]
}

func (h *history) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = time.Now()
}

func (h *history) frame(how outcome, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[how]++
	if (how == met || how == late) && len(h.times) < mostKept {
		h.times = append(h.times, took)
	}
	if len(h.frames) == shownFrames {
		h.frames = slices.Delete(h.frames, 0, 1)
	}
	h.frames = append(h.frames, frameRecord{how, took})
}

// last is what the last frame took; 0 before the first.
func (h *history) last() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.frames) == 0 {
		return 0
	}
	return h.frames[len(h.frames)-1].took
}

// drop counts frames that were due while another was computed.
func (h *history) drop(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropped += n
}

func (h *history) rivalEnded() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended.IsZero() {
		h.rivals++
	}
}

func (h *history) wasDrawn() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drawn++
}

// ran notes what an execution of a frame moved, and when the device worked on it.
func (h *history) ran(who lane, r *driver.Result) {
	h.moved.copied.Add(r.Traffic.Copied)
	h.moved.converted.Add(r.Traffic.Converted)
	h.busy(who, r)
}

// busy notes when the device worked on an execution.
func (h *history) busy(who lane, r *driver.Result) {
	p := r.Profile()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range p.Spans {
		if s.Busy {
			h.add(who, s.From.Sub(h.began), s.To.Sub(h.began))
		}
	}
}

// add notes work from one time to another, since the beginning. Precondition: mu is held.
func (h *history) add(who lane, from, to time.Duration) {
	h.advance(to)
	for n := max(int(from/slice), h.newest-shownSlices+1, 0); n <= h.newest; n++ {
		begin := time.Duration(n) * slice
		if part := min(to, begin+slice) - max(from, begin); part > 0 {
			h.slices[n%shownSlices][who] += part
		}
	}
}

// advance makes room for what is at the given time. Precondition: mu is held.
func (h *history) advance(to time.Duration) {
	last := int(to / slice)
	if last-h.newest >= shownSlices {
		h.slices, h.newest = [shownSlices][lanes]time.Duration{}, last
	}
	for h.newest < last {
		h.newest++
		h.slices[h.newest%shownSlices] = [lanes]time.Duration{}
	}
}

// snapshot is what the strip shows.
type snapshot struct {
	frames      []frameRecord
	counts      [refused + 1]int
	dropped     int
	total       int
	rate        float64 // frames a second
	preemptions int64
	rivals      float64                       // executions a second
	shares      [lanes][shownSlices]float64   // of the device, the oldest first
	perFrame    struct{ in, results float64 } // bytes
}

func (h *history) snapshot(now time.Time) *snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.advance(now.Sub(h.began))
	s := &snapshot{frames: slices.Clone(h.frames), counts: h.counts, dropped: h.dropped, preemptions: h.preemptions()}
	for _, n := range h.counts {
		s.total += n
	}
	seconds := now.Sub(h.began).Seconds()
	s.rate, s.rivals = float64(s.total)/seconds, float64(h.rivals)/seconds
	for i := range shownSlices {
		// The last slice is not over, and work in the one before may not be reported yet.
		for who := range lanes {
			if n := h.newest - shownSlices + 1 + i; n >= 0 {
				s.shares[who][i] = min(1, h.slices[n%shownSlices][who].Seconds()/slice.Seconds())
			}
		}
	}
	if s.total > 0 {
		m := &h.moved
		s.perFrame.in = float64(m.uploaded.Load()+m.copied.Load()+m.converted.Load()) / float64(s.total)
		s.perFrame.results = float64(m.read.Load()) / float64(s.total)
	}
	return s
}

// Summary is the JSON of `nngpu live`; its field names are an interface.
type Summary struct {
	Device     string  `json:"device"`
	Driver     string  `json:"driver"`
	Model      string  `json:"model"`
	Kind       Kind    `json:"kind"`
	Width      int     `json:"width"` // of the source's pictures
	Height     int     `json:"height"`
	Frames     int     `json:"frames"`
	Met        int     `json:"met"`
	Missed     int     `json:"missed"`
	Refused    int     `json:"refused"`
	Dropped    int     `json:"dropped"`
	Drawn      int     `json:"drawn"`
	MetPercent float64 `json:"met_percent"`
	PerSecond  float64 `json:"frames_per_second"`
	Deadline   float64 `json:"deadline_ms"`
	Latency    Latency `json:"latency_ms"`
	Preempt    bool    `json:"preemption"`
	// Preemptions is how often an execution gave way to another.
	Preemptions int64       `json:"preemptions"`
	Against     *Background `json:"against,omitempty"`
	Moved       Moved       `json:"moved_bytes"`
}

// Latency is of the frames that ended with a result; 0 where none did.
type Latency struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Background is what the second network did.
type Background struct {
	Model     string  `json:"model"`
	Priority  string  `json:"priority"`
	PerSecond float64 `json:"per_second"`
}

// Moved counts bytes of all frames.
type Moved struct {
	Uploaded  int64 `json:"uploaded"`
	Copied    int64 `json:"copied"`
	Converted int64 `json:"converted"`
	Results   int64 `json:"results"`
	Shown     int64 `json:"shown"`
}

// summary is what happened until now. What commands change is left to the caller.
func (h *history) summary(s *Setup) *Summary {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := &Summary{
		Model: s.Path, Kind: s.Kind, Met: h.counts[met], Missed: h.counts[late] + h.counts[missed], Refused: h.counts[refused],
		Dropped: h.dropped, Drawn: h.drawn, Preemptions: h.preemptions(),
		Moved: Moved{h.moved.uploaded.Load(), h.moved.copied.Load(), h.moved.converted.Load(), h.moved.read.Load(), h.moved.shown.Load()},
	}
	sum.Frames = sum.Met + sum.Missed + sum.Refused
	if sum.Frames > 0 {
		sum.MetPercent = 100 * float64(sum.Met) / float64(sum.Frames)
	}
	seconds := h.ended.Sub(h.began).Seconds()
	if seconds > 0 {
		sum.PerSecond = float64(sum.Frames) / seconds
	}
	slices.Sort(h.times)
	if len(h.times) > 0 {
		q := func(v float64) float64 { return stats.Milliseconds(stats.Quantile(h.times, v)) }
		sum.Latency = Latency{q(0.5), q(0.9), q(0.99), q(1)}
	}
	if s.Rival != nil {
		sum.Against = &Background{Model: s.Rival.Path}
		if seconds > 0 {
			sum.Against.PerSecond = float64(h.rivals) / seconds
		}
	}
	return sum
}
