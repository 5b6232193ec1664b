package emit

import "github.com/nngpu/nngpu/gpu/internal/plan"

// maxOpen bounds the bindings since the last barrier, so that the time to find conflicts is proportional to the
// number of steps. A barrier after hundreds of steps costs nothing.
const maxOpen = 1024

// placeBarriers sets Barrier on each step that conflicts with one since the last barrier: reads or
// overwrites what was written, or overwrites what was read. apart is Binding.Apart of a step's binding.
func placeBarriers(steps []plan.Step, apart func(step, binding int) int) {
	var open []access // of the steps since the last barrier
	for i := range steps {
		s := &steps[i]
		for k, bd := range s.Bindings {
			if len(open) > maxOpen || conflicts(open, access{bd, s, apart(i, k)}) {
				s.Barrier = true
				open = open[:0]
				break
			}
		}
		for k, bd := range s.Bindings {
			if bd.Buffer != plan.Weights {
				open = append(open, access{bd, s, apart(i, k)})
			}
		}
	}
}

// access is a binding of a step.
type access struct {
	plan.Binding
	step  *plan.Step
	apart int
}

// conflicts reports whether a touches what one of open writes, or writes what one of open touches.
func conflicts(open []access, a access) bool {
	for _, o := range open {
		if (o.Write || a.Write) && o.Buffer == a.Buffer && o.Offset < a.Offset+a.Size && a.Offset < o.Offset+o.Size &&
			(a.apart == 0 || o.apart != a.apart) && !alternatives(o.step, a.step) {
			return true
		}
	}
	return false
}

// alternatives: no execution runs both.
func alternatives(a, b *plan.Step) bool {
	return a.Transfers == b.Transfers && a.When != b.When && a.When != plan.Always && b.When != plan.Always
}
