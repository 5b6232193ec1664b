package emit

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/plan"
)

func TestPlaceBarriers(t *testing.T) {
	read := func(b plan.Buffer, at, n int64) plan.Binding { return plan.Binding{Buffer: b, Offset: at, Size: n} }
	write := func(b plan.Buffer, at, n int64) plan.Binding {
		return plan.Binding{Buffer: b, Offset: at, Size: n, Write: true}
	}
	step := func(bindings ...plan.Binding) plan.Step { return plan.Step{Bindings: bindings} }
	a, w, h := plan.Arena, plan.Weights, plan.Host
	for _, tc := range []struct {
		name  string
		steps []plan.Step
		want  []bool
	}{
		{"none", nil, nil},
		{"the first never", []plan.Step{step(read(h, 0, 4), write(a, 0, 4))}, []bool{false}},
		{"read after write", []plan.Step{step(write(a, 0, 4)), step(read(a, 0, 4))}, []bool{false, true}},
		{"write after read", []plan.Step{step(read(a, 0, 4)), step(write(a, 0, 4))}, []bool{false, true}},
		{"write after write", []plan.Step{step(write(a, 0, 4)), step(write(a, 0, 4))}, []bool{false, true}},
		{"read after read", []plan.Step{step(read(a, 0, 4)), step(read(a, 0, 4))}, []bool{false, false}},
		{"in host memory", []plan.Step{step(write(h, 0, 4)), step(read(h, 0, 4))}, []bool{false, true}},
		{"same range of another memory", []plan.Step{step(write(a, 0, 4)), step(read(h, 0, 4))}, []bool{false, false}},
		{"neighbours", []plan.Step{step(write(a, 0, 4)), step(read(a, 4, 4)), step(write(a, 8, 4))}, []bool{false, false, false}},
		{"the last byte", []plan.Step{step(write(a, 0, 5)), step(read(a, 4, 4))}, []bool{false, true}},
		{"one within the other", []plan.Step{step(write(a, 0, 64)), step(read(a, 16, 4))}, []bool{false, true}},
		{"one around the other", []plan.Step{step(write(a, 16, 4)), step(read(a, 0, 64))}, []bool{false, true}},
		{"weights are never written", []plan.Step{step(read(w, 0, 4), write(a, 0, 4)), step(read(w, 0, 4), write(a, 4, 4))}, []bool{false, false}},
		{"a chain", []plan.Step{step(write(a, 0, 4)), step(read(a, 0, 4), write(a, 4, 4)), step(read(a, 4, 4), write(a, 0, 4))}, []bool{false, true, true}},
		{"a barrier covers all before it", []plan.Step{
			step(write(a, 0, 4)), step(write(a, 4, 4)), step(read(a, 0, 4), write(a, 8, 4)), step(read(a, 4, 4), write(a, 12, 4)),
		}, []bool{false, false, true, false}},
		{"what the step after a barrier writes is new", []plan.Step{
			step(write(a, 0, 4)), step(read(a, 0, 4), write(a, 4, 4)), step(read(a, 4, 4), write(a, 8, 4)),
		}, []bool{false, true, true}},
		{"what it reads is, too", []plan.Step{
			step(write(a, 0, 4)), step(read(a, 0, 4), write(a, 4, 4)), step(write(a, 0, 4)),
		}, []bool{false, true, true}},
		{"two slabs of one result", []plan.Step{
			step(read(w, 0, 4), write(a, 0, 8)), step(read(w, 4, 4), write(a, 0, 8)),
		}, []bool{false, true}},
		{"in place", []plan.Step{step(read(a, 0, 4), write(a, 0, 4)), step(read(a, 0, 4), write(a, 0, 4))}, []bool{false, true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			placeBarriers(tc.steps, func(int, int) int { return 0 })
			var got []bool
			for _, s := range tc.steps {
				got = append(got, s.Barrier)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// TestAlternativesNeedNoBarrier between them, because no execution runs both.
func TestAlternativesNeedNoBarrier(t *testing.T) {
	at := plan.Binding{Buffer: plan.Host, Size: 64, Write: true}
	for _, tc := range []struct {
		name    string
		a, b    plan.Step
		barrier bool
	}{
		{"dense or device", plan.Step{Transfers: 1, When: plan.WhenDense}, plan.Step{Transfers: 1, When: plan.WhenDevice}, false},
		{"of different inputs", plan.Step{Transfers: 1, When: plan.WhenDense}, plan.Step{Transfers: 2, When: plan.WhenDevice}, true},
		{"one always runs", plan.Step{Transfers: 1, When: plan.WhenDense}, plan.Step{Transfers: 1}, true},
		{"both or none", plan.Step{Transfers: 1, When: plan.WhenDevice}, plan.Step{Transfers: 1, When: plan.WhenDevice}, true},
	} {
		tc.a.Bindings, tc.b.Bindings = []plan.Binding{at}, []plan.Binding{at}
		steps := []plan.Step{tc.a, tc.b}
		placeBarriers(steps, func(int, int) int { return 0 })
		require.Equal(t, tc.barrier, steps[1].Barrier, tc.name)
	}
}

// TestBarriersOrderEveryHazard: between any two steps that conflict there is a barrier.
func TestBarriersOrderEveryHazard(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		steps := make([]plan.Step, 30)
		for i := range steps {
			for range 1 + r.IntN(3) {
				steps[i].Bindings = append(steps[i].Bindings, plan.Binding{
					Buffer: plan.Buffer(r.IntN(3)), Offset: int64(r.IntN(40)), Size: int64(1 + r.IntN(5)),
				})
			}
			last := &steps[i].Bindings[len(steps[i].Bindings)-1]
			last.Write = last.Buffer != plan.Weights
		}
		placeBarriers(steps, func(int, int) int { return 0 })
		epoch := make([]int, len(steps))
		for i := range steps {
			if i > 0 {
				epoch[i] = epoch[i-1]
			}
			if steps[i].Barrier {
				require.NotZero(t, i)
				epoch[i]++
			}
			for k := range i {
				for _, p := range steps[k].Bindings {
					for _, q := range steps[i].Bindings {
						if p.Buffer == q.Buffer && (p.Write || q.Write) && p.Offset < q.Offset+q.Size && q.Offset < p.Offset+p.Size {
							require.Less(t, epoch[k], epoch[i], "steps %d and %d", k, i)
						}
					}
				}
			}
		}
	}
}

// TestPartsNeedNoBarrier between those of one whole, and need one before who reads it, or writes another whole there.
func TestPartsNeedNoBarrier(t *testing.T) {
	read := plan.Binding{Buffer: plan.Arena, Offset: 64, Size: 64}
	part := plan.Binding{Buffer: plan.Arena, Size: 256, Write: true}
	steps := []plan.Step{
		{Bindings: []plan.Binding{read}}, {Bindings: []plan.Binding{part}}, {Bindings: []plan.Binding{part}},
		{Bindings: []plan.Binding{read}}, {Bindings: []plan.Binding{part}}, {Bindings: []plan.Binding{part}},
		{Bindings: []plan.Binding{part}},
	}
	apart := []int{1, 2, 2, 2, 3, 3, 0}
	steps[3].Bindings = append(steps[3].Bindings, plan.Binding{Buffer: plan.Arena, Size: 4})
	placeBarriers(steps, func(step, binding int) int {
		if binding > 0 {
			return 0
		}
		return apart[step]
	})
	var got []bool
	for _, s := range steps {
		got = append(got, s.Barrier)
	}
	require.Equal(t, []bool{false, true, false, true, true, false, true}, got)
}
