package vulkan

import (
	"time"

	"github.com/nngpu/nngpu/cgo/vk"
)

// point is a timestamp before or after a step.
type point struct {
	step  int
	after bool
}

// probe is a recording's commands once more, with timestamps between the steps of a window.
type probe struct {
	of       *recording
	from, to int     // the steps of the window
	points   []point // the timestamps by query, in the order in which they are taken
	queries  vk.QueryPool
	cpool    vk.CommandPool
	cmds     []vk.CommandBuffer // by segment; those of the recording where nothing is stamped
}

// windowPoints are the timestamps that tell what each step of [from, to) takes. Between segments others may have the
// device, so that each begins anew.
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

// window is as many steps from first on as room timestamps can tell of, all where they can.
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

// probe returns r with timestamps in a window: the one that was made last, where that is the same.
func (s *slot) newProbe(r *recording, from, to int) (p *probe, err error) {
	if p := s.probe; p != nil && p.of == r && p.from == from && p.to == to {
		return p, nil
	}
	s.probe.destroy(s.x.dev)
	s.probe = nil
	d := s.x.dev
	p = &probe{of: r, from: from, to: to, points: r.windowPoints(from, to), cmds: append([]vk.CommandBuffer(nil), r.cmds...)}
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
	s.probe = p
	return p, nil
}

// record writes the commands of the segments that have timestamps.
func (p *probe) record(s *slot) (err error) {
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

// destroy frees the probe; nil is ignored. Precondition: no pending work uses it.
func (p *probe) destroy(d *Device) {
	if p == nil || d.abandoned() {
		return
	}
	vk.Destroy(d.dev, p.cpool)
	if p.queries != 0 {
		d.dev.DestroyQueryPool(p.queries)
	}
}

// read returns the times of the window's steps: when each began and what it took, on the device's clock, by step.
func (p *probe) read(d *Device) (began, took map[int]time.Duration, err error) {
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
