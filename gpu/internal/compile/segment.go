package compile

import (
	"math"
	"time"

	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// segments cuts steps into runs that are estimated to take the bound at most, and returns the steps and the end of each
// run. A step that takes longer by itself is split into several over consecutive ranges of its workgroups, or of its
// bytes where it is a copy; each of them but the last ends its segment. A single workgroup stays whole.
//
// The parts of a step write disjoint bytes, as the workgroups of one dispatch do: no barrier is between them.
//
// There are at most plan.MaxSegments: in a plan of minutes some are joined, evenly over the plan.
func segments(f *plan.Facts, steps []plan.Step) (list []plan.Step, ends []int) {
	room := maxParts
	var sum time.Duration
	for i := range steps {
		parts := split(f, &steps[i], room)
		room -= len(parts) - 1
		for k, s := range parts {
			t := f.StepTime(&s)
			if sum > 0 && (k > 0 || sum+t > f.SegmentBound()) {
				ends = append(ends, len(list))
				sum = 0
			}
			sum += t
			list = append(list, s)
		}
	}
	return list, thin(append(ends, len(list)), plan.MaxSegments)
}

// thin leaves at most n of ends, including the last, and joins no more segments into one than that takes.
func thin(ends []int, n int) []int {
	if len(ends) <= n {
		return ends
	}
	kept := make([]int, n)
	for i := range kept {
		kept[i] = ends[(i+1)*len(ends)/n-1]
	}
	return kept
}

// maxParts bounds the steps that splitting adds to a plan: four minutes of work on a CPU. What is left of a
// longer plan stays whole.
const maxParts = plan.MaxSegments

// split returns s in parts estimated to take the bound at most, where its workgroups allow it, and no more than room
// additional ones.
func split(f *plan.Facts, s *plan.Step, room int) []plan.Step {
	isCopy := s.Kernel == shaders.Copy
	units := [3]uint32{1, 1, 1}
	if isCopy && len(s.Bindings) == 2 {
		units[0] = uint32(min(s.Bindings[1].Size/copyUnit, math.MaxInt32))
	} else if !isCopy {
		units = s.Groups
	}
	axis := 2
	for axis > 0 && units[axis] <= 1 {
		axis--
	}
	groups := int(units[axis])
	if f.StepTime(s) <= f.SegmentBound() || groups <= 1 {
		return []plan.Step{*s}
	}
	// All of the estimate but the dispatch itself is divided.
	r := f.Rates()
	overhead := r.Overhead(s)
	work := f.StepTime(s) - overhead
	each := int(float64(groups) * float64(f.SegmentBound()-overhead) / float64(work))
	n := groups
	if each > 0 {
		n = (groups + each - 1) / each
	}
	if n = min(n, room+1); n <= 1 {
		return []plan.Step{*s}
	}
	var parts []plan.Step
	for i := range n {
		from, to := i*groups/n, (i+1)*groups/n
		p := *s
		if isCopy {
			p.Bindings = copyPart(s.Bindings, int64(from), int64(to), i == n-1)
		} else {
			p.Base[axis] += uint32(from)
			p.Groups[axis] = uint32(to - from)
		}
		share := float64(to-from) / float64(groups)
		p.FLOP, p.Bytes = s.FLOP*share, s.Bytes*share
		p.Barrier = s.Barrier && i == 0
		if isCopy {
			parts = append(parts, p)
			continue
		}
		parts = append(parts, split(f, &p, (room-(n-1))/n)...)
	}
	return parts
}

// copyUnit is the unit in which copies are divided, in bytes: a multiple of plan.Align.
const copyUnit = 1 << 16

// copyPart returns the bindings of a copy of the units from to to; the last ends where the whole does.
func copyPart(whole []plan.Binding, from, to int64, last bool) []plan.Binding {
	parts := append([]plan.Binding(nil), whole...)
	size := (to - from) * copyUnit
	if last {
		size = whole[1].Size - from*copyUnit
	}
	for i := range parts {
		parts[i].Offset += from * copyUnit
		parts[i].Size = size
		if parts[i].Of != 0 {
			parts[i].At += from * copyUnit
		}
	}
	return parts
}
