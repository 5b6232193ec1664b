package compile

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

func TestSegments(t *testing.T) {
	facts := &plan.Facts{Class: plan.ClassCPU}
	r := facts.Rates()
	// step returns a step whose estimate is d.
	step := func(d time.Duration) plan.Step {
		return plan.Step{FLOP: (d - r.Dispatch).Seconds() * r.FLOPS}
	}
	const ms = time.Millisecond
	for _, tc := range []struct {
		name  string
		steps []plan.Step
		want  []int
	}{
		{"nothing", nil, []int{0}},
		{"one", []plan.Step{step(ms)}, []int{1}},
		{"two that fit", []plan.Step{step(ms), step(2 * ms)}, []int{2}},
		{"the third does not", []plan.Step{step(2 * ms), step(2*ms - 1000), step(ms)}, []int{2, 3}},
		{"each too long", []plan.Step{step(9 * ms), step(9 * ms), step(9 * ms)}, []int{1, 2, 3}},
		{"a long one between short ones", []plan.Step{step(ms), step(9 * ms), step(ms), step(ms)}, []int{1, 2, 4}},
		{"bytes count where they take longer", []plan.Step{{Bytes: 3e-3 * r.Bandwidth}, {FLOP: 1, Bytes: 3e-3 * r.Bandwidth}}, []int{1, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, ends := segments(facts, tc.steps)
			require.Equal(t, tc.want, ends)
			require.Len(t, list, len(tc.steps))
		})
	}
}

// TestSegmentsCoverEveryStepInOrder, and none is longer than the bound unless it is one step.
func TestSegmentsCoverEveryStepInOrder(t *testing.T) {
	for _, class := range []plan.Class{plan.ClassCPU, plan.ClassGPU} {
		t.Run(string(class), func(t *testing.T) {
			facts := &plan.Facts{Class: class}
			r := facts.Rates()
			steps := make([]plan.Step, 997)
			estimates := make([]time.Duration, len(steps))
			for i := range steps {
				steps[i].FLOP = float64(i*i%89) * r.FLOPS * 1e-5
				estimates[i] = r.Dispatch + time.Duration(steps[i].FLOP/r.FLOPS*1e9)
			}
			at := 0
			list, ends := segments(facts, steps)
			require.Equal(t, steps, list, "what is in time stays whole")
			for _, end := range ends {
				require.Greater(t, end, at)
				var sum time.Duration
				for _, d := range estimates[at:end] {
					sum += d
				}
				require.True(t, sum <= facts.SegmentBound() || end == at+1, "segment [%d, %d) of %v", at, end, sum)
				at = end
			}
			require.Equal(t, len(steps), at)
			require.Greater(t, len(ends), 1)
		})
	}
}

// TestLongStepsAreSplit: into ranges of workgroups that cover the step once, in order, none above the bound by
// estimate, each a segment's last but the last one.
func TestLongStepsAreSplit(t *testing.T) {
	facts := &plan.Facts{Class: plan.ClassCPU}
	r := facts.Rates()
	const ms = time.Millisecond
	for _, tc := range []struct {
		name   string
		groups [3]uint32
		time   time.Duration
		want   [][2][3]uint32 // base and groups of each part; nil: not looked at
		n      int
	}{
		{"in time", [3]uint32{10, 1, 1}, 4 * ms, [][2][3]uint32{{{}, {10, 1, 1}}}, 1},
		{"one workgroup", [3]uint32{1, 1, 1}, 90 * ms, [][2][3]uint32{{{}, {1, 1, 1}}}, 1},
		{"in two", [3]uint32{10, 1, 1}, 5 * ms, [][2][3]uint32{{{}, {5, 1, 1}}, {{5}, {5, 1, 1}}}, 2},
		{"odd", [3]uint32{7, 1, 1}, 9 * ms, [][2][3]uint32{{{}, {2, 1, 1}}, {{2}, {2, 1, 1}}, {{4}, {3, 1, 1}}}, 3},
		{"each workgroup too long", [3]uint32{3, 1, 1}, 90 * ms, [][2][3]uint32{{{}, {1, 1, 1}}, {{1}, {1, 1, 1}}, {{2}, {1, 1, 1}}}, 3},
		{"rows", [3]uint32{32768, 6, 1}, 11 * ms, [][2][3]uint32{{{}, {32768, 2, 1}}, {{0, 2}, {32768, 2, 1}}, {{0, 4}, {32768, 2, 1}}}, 3},
		{"parts of rows", [3]uint32{32768, 2, 1}, 13 * ms, [][2][3]uint32{
			{{}, {16384, 1, 1}}, {{16384}, {16384, 1, 1}}, {{0, 1}, {16384, 1, 1}}, {{16384, 1}, {16384, 1, 1}},
		}, 4},
		{"outermost first", [3]uint32{5, 4, 3}, 10 * ms, [][2][3]uint32{{{}, {5, 4, 1}}, {{0, 0, 1}, {5, 4, 1}}, {{0, 0, 2}, {5, 4, 1}}}, 3},
		{"down to workgroups", [3]uint32{3, 2, 2}, time.Second, nil, 12},
		{"an hour", [3]uint32{32768, 32768, 1}, time.Hour, nil, maxParts / 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := plan.Step{Kernel: shaders.UnaryAbsF32, Groups: tc.groups, Barrier: true, Bytes: 1000, Label: "x"}
			s.FLOP = (tc.time - r.Overhead(&s)).Seconds() * r.FLOPS
			short := plan.Step{FLOP: 1}
			list, ends := segments(facts, []plan.Step{short, s, short})
			parts := list[1 : len(list)-1]
			require.GreaterOrEqual(t, len(parts), tc.n)
			require.LessOrEqual(t, len(parts), maxParts+1)
			if tc.want != nil {
				var got [][2][3]uint32
				for _, p := range parts {
					got = append(got, [2][3]uint32{p.Base, p.Groups})
				}
				require.Equal(t, tc.want, got)
			}
			var groups, flop float64
			end := 0 // of ends: a segment ends before each part
			for i, p := range parts {
				for end < len(ends) && ends[end] < i+1 {
					end++
				}
				joined := tc.time > time.Minute // there would be too many segments
				if i == 0 != p.Barrier || i > 0 && ends[end] != i+1 && !joined {
					t.Fatalf("part %d, barrier %v, segment ends at %d", i, p.Barrier, ends[end])
				}
				groups += float64(p.Groups[0]) * float64(p.Groups[1]) * float64(p.Groups[2])
				flop += p.FLOP
				if one := p.Groups == [3]uint32{1, 1, 1}; !one && tc.time < time.Minute && facts.StepTime(&p) > facts.SegmentBound() {
					t.Fatalf("part %d of %v", i, facts.StepTime(&p))
				}
			}
			require.Equal(t, float64(tc.groups[0])*float64(tc.groups[1])*float64(tc.groups[2]), groups)
			require.InEpsilon(t, s.FLOP, flop, 1e-9)
		})
	}
}

// TestLongCopiesAreSplit: into ranges of bytes that cover the copy once.
func TestLongCopiesAreSplit(t *testing.T) {
	facts := &plan.Facts{Class: plan.ClassCPU}
	for _, size := range []int64{100, 20 << 20, 20<<20 + 4, 100<<20 - 4} {
		whole := plan.Step{Kernel: shaders.Copy, Barrier: true, Bytes: 2 * float64(size), Bindings: []plan.Binding{
			{Buffer: plan.Arena, Offset: 512, Size: size + 12}, {Buffer: plan.Host, Offset: 256, Size: size, Write: true, Of: plan.OutputRef(0)},
		}}
		list, _ := segments(facts, []plan.Step{whole})
		at := int64(0)
		for i, s := range list {
			src, dst := s.Bindings[0], s.Bindings[1]
			require.Equal(t, i == 0, s.Barrier)
			require.Equal(t, []int64{512 + at, 256 + at, at, 0}, []int64{src.Offset, dst.Offset, dst.At, src.At})
			require.GreaterOrEqual(t, src.Size, dst.Size)
			require.Zero(t, at%plan.Align)
			require.LessOrEqual(t, facts.StepTime(&s), facts.SegmentBound())
			at += dst.Size
		}
		require.Equal(t, size, at)
		require.Equal(t, size > 16<<20, len(list) > 1)
	}
}

// TestSegmentsAreBounded in number, whether there are that many steps or parts of steps, and still divide all steps into
// segments of about the same length.
func TestSegmentsAreBounded(t *testing.T) {
	facts := &plan.Facts{Class: plan.ClassCPU}
	r := facts.Rates()
	bound := facts.SegmentBound()
	step := func(groups uint32, d time.Duration) plan.Step {
		return plan.Step{Kernel: shaders.UnaryAbsF32, Groups: [3]uint32{groups, 1, 1}, FLOP: (d - r.Dispatch).Seconds() * r.FLOPS}
	}
	for _, tc := range []struct {
		name  string
		steps []plan.Step
		most  int // joined to one
	}{
		{"just as many", slices.Repeat([]plan.Step{step(1, bound)}, plan.MaxSegments), 1},
		{"one more", slices.Repeat([]plan.Step{step(1, bound)}, plan.MaxSegments+1), 2},
		{"a hundred convolutions", slices.Repeat([]plan.Step{step(60000, 3*time.Second)}, 100), 2},
		{"as many steps as a plan may have", slices.Repeat([]plan.Step{step(1, bound)}, plan.MaxSteps), plan.MaxSteps / plan.MaxSegments},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, ends := segments(facts, tc.steps)
			require.Len(t, ends, plan.MaxSegments)
			require.Equal(t, len(list), ends[len(ends)-1])
			at, most := 0, 0
			for _, end := range ends {
				if end <= at {
					t.Fatalf("segment [%d, %d)", at, end)
				}
				most, at = max(most, end-at), end
			}
			require.LessOrEqual(t, most, tc.most)
			p := plan.Plan{Steps: list, Segments: ends}
			require.LessOrEqual(t, len(facts.SegmentTimes(&p)), plan.MaxSegments)
		})
	}
}

// TestEveryClassHasRates: without them all estimates would be infinite.
func TestEveryClassHasRates(t *testing.T) {
	for _, class := range []plan.Class{plan.ClassCPU, plan.ClassGPU} {
		facts := &plan.Facts{Class: class}
		r := facts.Rates()
		require.Positive(t, r.FLOPS, class)
		require.Positive(t, r.Bandwidth, class)
		require.Positive(t, r.Dispatch, class)
		require.Greater(t, facts.SegmentBound(), r.Dispatch, class)
	}
}
