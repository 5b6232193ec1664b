package vulkan

import (
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
)

// point is a timestamp before or after a step.
type point struct {
	step  int
	after bool
}

// sampling is a recording's commands once more, with timestamps between the steps of a window.
type sampling struct {
	of       *recording
	from, to int     // the steps of the window
	points   []point // the timestamps by query, in the order in which they are taken
	queries  vk.QueryPool
	cpool    vk.CommandPool
	cmds     []vk.CommandBuffer // by segment; those of the recording where nothing is stamped
}

// windowPoints are the timestamps that tell what each step of [from, to) takes. Between segments others may have the
// device, so each segment begins anew.
func (r *recording) windowPoints(from, to int) []point {
	var list []point
	fresh := true
	segment, end := 0, 0
	for k := range r.slot.x.plan.Steps {
		if k == end {
			end, fresh = r.slot.x.plan.Segments[segment], true
			segment++
		}
		if k < from || k >= to || !r.runs(&r.slot.x.plan.Steps[k]) {
			continue
		}
		if fresh {
			list = append(list, point{k, false})
			fresh = false
		}
		list = append(list, point{k, true})
	}
	return list
}

// window is the range of steps from first on that room timestamps can time, all where they suffice.
func (r *recording) window(first, room int) (from, to int) {
	n := len(r.slot.x.plan.Steps)
	if r.points <= room {
		return 0, n
	}
	from = first % n
	// A step costs at most two, and about one.
	for to = min(from+max(room/2, 1), n); to < n && len(r.windowPoints(from, to+1)) <= room; to++ {
	}
	return from, to
}

// newSampling returns r with timestamps in a window: the last one made, if it is for the same window.
func (s *slot) newSampling(r *recording, from, to int) (p *sampling, err error) {
	if p := s.sampling; p != nil && p.of == r && p.from == from && p.to == to {
		return p, nil
	}
	s.sampling.destroy(s.x.dev)
	s.sampling = nil
	d := s.x.dev
	p = &sampling{of: r, from: from, to: to, points: r.windowPoints(from, to), cmds: append([]vk.CommandBuffer(nil), r.cmds...)}
	if len(p.points) == 0 {
		return nil, nil
	}
	if p.queries, err = d.dev.NewQueryPool(len(p.points)); err != nil {
		return nil, err
	}
	if err = p.record(s); err != nil {
		p.destroy(d)
		return nil, err
	}
	s.sampling = p
	return p, nil
}

// record writes the commands of the segments that have timestamps.
func (p *sampling) record(s *slot) (err error) {
	d, steps := s.x.dev.dev, s.x.plan
	if p.cpool, err = d.NewCommandPool(); err != nil {
		return err
	}
	var c vk.Commands
	next, first := 0, 0
	for i, end := range steps.Segments {
		begin := next
		for next < len(p.points) && p.points[next].step < end {
			next++
		}
		if next > begin {
			cmds, err := d.NewCommandBuffers(p.cpool, 1)
			if err != nil {
				return err
			}
			c.Reset()
			c.ResetQueries(p.queries, begin, next-begin)
			query := begin
			p.of.recordSegment(&c, i, first, end, func(k int, after bool) {
				if query < next && p.points[query] == (point{k, after}) {
					c.Timestamp(p.queries, query, vk.StageBottom)
					query++
				}
			})
			if err := d.Record(cmds[0], &c); err != nil {
				return err
			}
			p.cmds[i] = cmds[0]
		}
		first = end
	}
	return nil
}

// destroy frees the sampling; nil is ignored. Precondition: no pending work uses it.
func (p *sampling) destroy(d *Device) {
	if p == nil || d.abandoned() {
		return
	}
	vk.Destroy(d.dev, p.cpool)
	if p.queries != 0 {
		d.dev.DestroyQueryPool(p.queries)
	}
}

// read returns the times of the window's steps: when each began and what it took, on the device's clock, by step.
func (p *sampling) read(d *Device) (began, took map[int]time.Duration, err error) {
	ticks := make([]uint64, len(p.points))
	if err := d.dev.Timestamps(p.queries, 0, ticks); err != nil {
		return nil, nil, err
	}
	began, took = map[int]time.Duration{}, map[int]time.Duration{}
	for i, at := range p.points {
		if at.after { // something stands before it
			began[at.step] = d.ticks(ticks[i-1])
			took[at.step] = time.Duration(float64((ticks[i]-ticks[i-1])&d.stampMask) * d.info.Facts.TimestampPeriod)
		}
	}
	return began, took, nil
}

// clock turns timestamps of a device into times of the host. Safe for concurrent use.
type clock struct {
	mu sync.Mutex
	// low and high bound what is to be added to the device's time to get now(); valid where known. Guarded by mu.
	low, high time.Duration
	known     bool
	at        time.Duration // guarded by mu; when they were last narrowed
	last      uint64        // guarded by mu; the latest timestamp, counted through
}

// drift bounds how far two clocks drift apart, as a part of the time passed.
const drift = 100e-6

// bound narrows the clock by something that the device did from first to last on its clock, after it was handed over
// and before its end was seen on the host's.
func (c *clock) bound(first, last, handed, seen time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	low, high := handed-first, seen-last
	if c.known {
		apart := time.Duration(drift * float64(max(seen-c.at, 0)))
		low, high = max(low, c.low-apart), min(high, c.high+apart)
	}
	if low > high { // one of the clocks was set
		low, high = handed-first, seen-last
	}
	c.low, c.high, c.known, c.at = low, high, true, seen
}

// host is the time on the host's clock, by now(), of a time on the device's. Precondition: bound was called.
func (c *clock) host(t time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return t + c.low + (c.high-c.low)/2
}

// calibrate asks the driver for the time on both clocks, where it can tell.
func (d *Device) calibrate() {
	m, err := d.dev.Calibrate()
	if err != nil {
		return
	}
	var monotonic unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic) != nil {
		return
	}
	host := now() - time.Duration(monotonic.Nano()-int64(m.Host))
	t := d.ticks(m.Ticks)
	d.clock.bound(t, t, host-m.Deviation, host+m.Deviation)
}

// ticks is the device's time of a timestamp.
func (d *Device) ticks(t uint64) time.Duration {
	return time.Duration(float64(d.clock.count(t, d.stampMask)) * d.info.Facts.TimestampPeriod)
}

// count undoes the wrapping of t at the bits of mask: the number nearest to the last one that has these bits. After
// more than half a turn without a call it is off by whole turns, which bound finds out.
func (c *clock) count(t, mask uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	ahead := (t - c.last) & mask
	if ahead > mask>>1 && c.last >= mask-ahead+1 { // it was before
		return c.last - (mask - ahead + 1)
	}
	c.last += ahead
	return c.last
}

// wall is a time of the host's clock for users.
func wall(t time.Duration) time.Time { return start.Add(t) }

// knowledge is what timestamps told about an executable's steps so far. Safe for concurrent use.
type knowledge struct {
	mu      sync.Mutex
	steps   []backend.Step // guarded by mu; nil before the first trace
	samples [][]float64    // guarded by mu; by step, the latest times in nanoseconds
	next    int            // guarded by mu; the step that the next window begins with
	record  time.Duration  // guarded by mu; what it took to write the commands of a window, per step
}

// mostSamples bounds the samples that are kept of a step.
const mostSamples = 31

// add keeps what a step took.
func (k *knowledge) add(step int, took time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := k.samples[step]
	if len(list) == mostSamples {
		list = slices.Delete(list, 0, 1)
	}
	k.samples[step] = append(list, float64(took))
}

// belief is the time that a step is assumed to take, in nanoseconds, and by how much that may be wrong.
type belief struct {
	took, doubt float64
	known       bool // it was timed
}

// of returns what is known of a step; stamp is what a timestamp costs.
func (k *knowledge) of(step int, stamp time.Duration) (b belief) {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := slices.Clone(k.samples[step])
	if len(list) == 0 {
		return b
	}
	slices.Sort(list)
	n := len(list)
	b.took, b.known = list[n/2], true
	// The doubt of the median, from the spread of half of them, which is 1.35 standard deviations; for one alone it is
	// a guess.
	spread := (list[n-1-n/4] - list[n/4]) / 1.35
	if n < 4 {
		spread = max(list[n-1]-list[0], b.took/4)
	}
	b.doubt = 1.25*spread/math.Sqrt(float64(n)) + float64(stamp)/8
	return b
}

// attribute divides total among steps: each gets its known or guessed time; what is left or missing goes to those that
// were never timed, else to all, by how doubtful they are. The sum is total. Units are nanoseconds.
func attribute(total float64, beliefs []belief) []belief {
	out := slices.Clone(beliefs)
	var known, guessed, doubts float64
	for _, b := range out {
		if b.known {
			known += b.took
		} else {
			guessed += b.took
		}
		doubts += b.weight()
	}
	if rest := total - known; guessed > 0 && rest > 0 {
		for i := range out {
			if !out[i].known {
				out[i].took *= rest / guessed
				out[i].doubt = max(out[i].took/2, out[i].doubt*rest/guessed)
			}
		}
		return out
	}
	if doubts > 0 {
		rest := total - known - guessed
		for i := range out {
			was := out[i].took
			out[i].took = max(was+rest*out[i].weight()/doubts, was/10)
		}
	}
	var sum float64
	for _, b := range out {
		sum += b.took
	}
	for i := range out {
		switch {
		case sum > 0:
			out[i].took *= total / sum
		default:
			out[i].took = total / float64(len(out))
		}
		out[i].doubt = max(out[i].doubt, math.Abs(out[i].took-beliefs[i].took))
	}
	return out
}

// weight is the share in what is left or missing.
func (b belief) weight() float64 { return b.doubt*b.doubt + b.took*b.took/400 }
