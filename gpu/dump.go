package gpu

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// Description is what the compiler makes of a model for one device, before anything is made on the device.
// Immutable.
type Description struct {
	// Stats are those that an executable of the model would have.
	Stats backend.Stats
	// LargestLive is the number of arena bytes that the step with the most needs: no arena can be smaller.
	LargestLive int64
	// Layout is the number of bytes that the planner made of that; the arena may have up to plan.Align more, where views
	// end that lowering made longer.
	Layout int64
	// Predicted is the time of one execution by the cost model, for steps that were never measured.
	Predicted time.Duration

	facts plan.Facts
	plan  *plan.Plan
	graph *ir.Graph
}

// Describe compiles m and keeps what people can read of it. It takes no memory of the device.
//
// Precondition: m passed validate.Model. Errors as of Compile, without those of the device.
func (b *Backend) Describe(ctx context.Context, m *nn.Model) (*Description, error) {
	if err := cmp.Or(nn.NotNil("context", ctx), checkModel(m), b.devices.open()); err != nil {
		return nil, err
	}
	return describe(ctx, b.current(), m)
}

// DescribeAs is Backend.Describe for a device of which there are only facts, in JSON with the names that the fields of
// Device.Facts have. All kernels are taken to compute rightly there.
//
// Precondition: m passed validate.Model. Errors are those of facts that no device has, which are INVALID_ARGUMENT, and of
// what the compiler refuses.
func DescribeAs(ctx context.Context, facts []byte, m *nn.Model) (*Description, error) {
	if err := cmp.Or(nn.NotNil("context", ctx), checkModel(m)); err != nil {
		return nil, err
	}
	f, err := plan.ParseFacts(facts)
	if err != nil {
		return nil, &nn.Error{Status: nn.StatusInvalidArgument, Where: "facts", Err: err}
	}
	return describe(ctx, *f, m)
}

func describe(ctx context.Context, facts plan.Facts, m *nn.Model) (*Description, error) {
	g, err := compile.Optimised(&facts, m)
	if err != nil {
		return nil, err
	}
	p, _, err := compile.Model(ctx, &facts, m, nil)
	if err != nil {
		return nil, err
	}
	d := &Description{facts: facts, plan: p, graph: g}
	d.Stats = backend.Stats{
		Pipelines: len(p.Pipelines()), Dispatches: len(p.Steps), Segments: len(p.Segments),
		ArenaBytes: p.ArenaBytes, WeightBytes: p.WeightBytes, GFLOP: p.FLOP() / 1e9,
	}
	list := p.Lifetimes()
	d.LargestLive, _ = plan.LargestLive(list)
	for _, l := range list {
		d.Layout = max(d.Layout, plan.AlignUp(l.Offset+l.Size))
	}
	for _, t := range facts.SegmentTimes(p) {
		d.Predicted += t
	}
	return d, nil
}

// Choice is a step whose kernel was chosen among several.
type Choice struct{ Label, Kernel, Why string }

// Choices has the steps of the plan whose kernels were chosen, in order.
func (d *Description) Choices() []Choice {
	var list []Choice
	for i := range d.plan.Steps {
		if s := &d.plan.Steps[i]; s.Why != "" && s.Base == [3]uint32{} {
			list = append(list, Choice{s.Label, s.Kernel.String(), s.Why})
		}
	}
	return list
}

// StepMemory is what a step of a plan finds in the arena.
type StepMemory struct {
	Label string
	Live  int64 // bytes that hold a value while it runs
}

// Memory has the steps of the plan in order.
func (d *Description) Memory() []StepMemory {
	list := make([]StepMemory, len(d.plan.Steps))
	for i := range list {
		list[i].Label = d.plan.Steps[i].Label
	}
	for _, l := range d.plan.Lifetimes() {
		for i := l.First; i <= l.Last; i++ {
			list[i].Live += l.Size
		}
	}
	return list
}

// SegmentBound is the longest that a segment of a plan for this device may be expected to take.
func (b *Backend) SegmentBound() time.Duration { return b.facts.SegmentBound() }

// SegmentBound is the longest that a segment of the plan is meant to take.
func (d *Description) SegmentBound() time.Duration { return d.facts.SegmentBound() }

// Graph is the text form of the graph after the passes, which is what is lowered.
func (d *Description) Graph() string { return d.graph.String() }

// Plan is the text form of the plan, then what lies where in the arena and when, then the predicted time of
// each segment and step:
//
//	arena 512 bytes, 256 for values; largest live set 256 at step 0, ratio 1.00
//	      offset         size  steps
//	           0           48  0-1
//	predicted 0.060 ms, segments of at most 4.000 ms
//	segment 0  0.060 ms
//	  0  0.030 ms  RELU #0
func (d *Description) Plan() string {
	var b strings.Builder
	b.WriteString(d.plan.String())
	d.writeArena(&b)
	d.writeTimes(&b)
	return b.String()
}

func (d *Description) writeArena(b *strings.Builder) {
	list := d.plan.Lifetimes()
	live, step := plan.LargestLive(list)
	fmt.Fprintf(b, "\narena %d bytes", d.plan.ArenaBytes)
	if live == 0 {
		b.WriteString(", nothing in it\n")
		return
	}
	fmt.Fprintf(b, ", %d for values; largest live set %d at step %d, ratio %.2f\n", d.Layout, live, step, float64(d.Layout)/float64(live))
	fmt.Fprintf(b, "%12s %12s  steps\n", "offset", "size")
	for _, l := range list {
		fmt.Fprintf(b, "%12d %12d  %d-%d\n", l.Offset, l.Size, l.First, l.Last)
	}
}

func (d *Description) writeTimes(b *strings.Builder) {
	fmt.Fprintf(b, "\npredicted %s, segments of at most %s\n", millisecondsText(d.Predicted), millisecondsText(d.facts.SegmentBound()))
	first := 0
	for i, t := range d.facts.SegmentTimes(d.plan) {
		fmt.Fprintf(b, "segment %d  %s\n", i, millisecondsText(t))
		for ; first < d.plan.Segments[i]; first++ {
			s := &d.plan.Steps[first]
			fmt.Fprintf(b, "%3d  %s  %s\n", first, millisecondsText(d.facts.StepTime(s)), s.Label)
		}
	}
}

func millisecondsText(t time.Duration) string {
	return fmt.Sprintf("%.3f ms", float64(t)/float64(time.Millisecond))
}
