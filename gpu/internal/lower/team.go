package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// On GPUs rows that are each reduced to a sum or the like are the work of teams of invocations: a single one would wait
// for every few quads of its row, and load quads that its neighbours do not.

const (
	// loadsAtOnce is the number of loads of a loop that one invocation has under way at a time.
	loadsAtOnce = 4
	// subgroupWait and workgroupWait are the cost of combining the results of a team, in waits for memory.
	subgroupWait, workgroupWait = 0.25, 0.75
)

// rowWork is the work of that many teams: for each, so many rows of so many quads, one row after the other.
type rowWork struct{ teams, rows, quads int }

// loads is the number of quads that each of members invocations loads.
func (w *rowWork) loads(members int) float64 {
	return float64(w.rows * ((w.quads + members - 1) / members))
}

// speed scores a team for w: on GPUs by how long it waits for memory, as products do.
func (w *rowWork) speed(f *plan.Facts, team family.Team) (speed float64, why string) {
	subgroup := max(1, int(f.SubgroupSize))
	wait := func(groups, invocations, members int, together float64) float64 {
		g := gpuGrid{groups: groups, invocations: invocations}
		return float64(g.rounds(units(f))) * (max(1, w.loads(members)/loadsAtOnce) + together)
	}
	alone := wait((w.teams+emit.QuadLocal-1)/emit.QuadLocal, emit.QuadLocal, 1, 0)
	switch {
	case team == family.Alone:
		return 1, "one invocation a row"
	case f.Quick:
		return 0, ""
	case f.Class != plan.ClassGPU:
		return 1e-3, ""
	case team == family.Subgroup:
		groups := (w.teams + family.TeamRows - 1) / family.TeamRows
		return alone / wait(groups, family.TeamRows*subgroup, subgroup, subgroupWait), fmt.Sprintf("%d invocations a row", subgroup)
	}
	members := family.TeamSubgroups * subgroup
	return alone / wait(w.teams, members, members, workgroupWait), fmt.Sprintf("%d invocations a row", members)
}

// dispatch appends k, of that team, for w.
func (w *rowWork) dispatch(b *emit.Builder, k shaders.Kernel, team family.Team, push emit.Push, cost emit.Cost, bindings ...emit.Binding) {
	switch team {
	case family.Alone:
		b.Quads(k, w.teams, push, cost, bindings...)
	case family.Subgroup:
		b.DispatchGroups(k, emit.Grid((w.teams+family.TeamRows-1)/family.TeamRows), push, cost, bindings...)
	default:
		b.DispatchGroups(k, emit.Grid(w.teams), push, cost, bindings...)
	}
}
