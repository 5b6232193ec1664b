package emit

import "github.com/nngpu/nngpu/gpu/internal/plan"

// maxOpen bounds the bindings since the last barrier, so that the time to find conflicts is proportional to the
// number of steps. A barrier after hundreds of steps costs nothing.
const maxOpen = 1024

// placeBarriers sets Barrier on each step that conflicts with one since the last barrier: reads or
// overwrites what was written, or overwrites what was read.
func placeBarriers(steps []plan.Step) {
	var open []access // of the steps since the last barrier
	for i := range steps {
		s := &steps[i]
		for _, bd := range s.Bindings {
			if len(open) > maxOpen || conflicts(open, s, bd) {
				s.Barrier = true
				open = open[:0]
				break
			}
		}
		for _, bd := range s.Bindings {
			if bd.Buffer != plan.Weights {
				open = append(open, access{bd, s})
			}
		}
	}
}

// access is a binding of a step.
type access struct {
	plan.Binding
	step *plan.Step
}

// conflicts reports whether bd, of step s, touches what one of open writes, or writes what one of open touches.
func conflicts(open []access, s *plan.Step, bd plan.Binding) bool {
	for _, o := range open {
		if (o.Write || bd.Write) && o.Buffer == bd.Buffer && o.Offset < bd.Offset+bd.Size && bd.Offset < o.Offset+o.Size &&
			!alternatives(o.step, s) {
			return true
		}
	}
	return false
}

// alternatives: no execution runs both.
func alternatives(a, b *plan.Step) bool {
	return a.Transfers == b.Transfers && a.When != b.When && a.When != plan.Always && b.When != plan.Always
}
