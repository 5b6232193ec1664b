package lower

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

func init() {
	register(rule{check: checkDetection, lower: lowerDetection}, nn.OpDetectionPostprocessing)
}

// detection is DETECTION_POSTPROCESSING with the sizes of its tensors.
type detection struct {
	ops.Detection
	images, anchors, classes int // classes with the background
	suppression
	each   int // places of a detection
	merged int // regular: scores of an image, as many as its classes have room for
	best   int // regular: the number of those that are looked at
}

func detectionOf(g *ir.Graph, n *ir.Node) detection {
	x := g.T(n.In[0]).Shape
	d := detection{Detection: n.Attrs.(ops.Detection), images: x[0], anchors: x[1], classes: x[2]}
	d.suppression = suppression{groups: d.images, perImage: 1, candidates: d.anchors, scores: d.anchors, boxes: d.anchors,
		room: min(d.Detections, d.anchors), least: d.Overlap}
	d.each = min(d.ClassesPerBox, d.classes-1)
	if d.Regular {
		d.each, d.perImage = 1, d.classes-1
		d.groups = d.images * d.perImage
		d.room = min(d.DetectionsPerClass, d.Detections, d.anchors)
		d.merged = d.perImage * d.room
		d.best = min(d.Detections, d.merged)
	}
	return d
}

// places is the number of places that the results of an image have in memory.
func (d *detection) places() int { return (int(d.Places()) + 3) &^ 3 }

func checkDetection(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	if err := checkReal(g, n, n.Out[2], n.Out[3]); err != nil {
		return err
	}
	x, deltas := g.T(n.In[0]), g.T(n.In[1])
	if len(x.Shape) != 3 || len(deltas.Shape) != 3 || x.Shape[2] < 2 || deltas.Shape[2] < 4 || [2]int(x.Shape) != [2]int(deltas.Shape) ||
		g.T(n.In[2]).Elements() != 4*x.Shape[1] {
		return fmt.Errorf("detections by scores %v and deltas %v", x.Shape, deltas.Shape)
	}
	d := detectionOf(g, n)
	if d.room < 1 || d.each < 1 || d.Places() > math.MaxInt32 || math.IsNaN(float64(d.Score)) {
		return fmt.Errorf("detections of %+v", d.Detection)
	}
	if err := emit.CheckTensors(f, g, n); err != nil {
		return err
	}
	for i, size := range []int{int(d.Places()), 4 * int(d.Places()), int(d.Places()), 1} {
		if g.T(n.Out[i]).Elements() != d.images*size {
			return fmt.Errorf("%d detections in a tensor of shape %v", d.Places(), g.T(n.Out[i]).Shape)
		}
	}
	if quads := (d.classes + 3) / 4; float64(quads)*float64(d.each) > emit.MaxLoop {
		return fmt.Errorf("the %d best of %d classes", d.each, d.classes)
	}
	if d.Regular {
		// The product of classes and room must be known to be small before it is taken.
		if err := checkScratch(f, d.groups, d.room, 16); err != nil {
			return err
		}
		if err := checkSorted(f, d.images, d.merged, d.best); err != nil {
			return err
		}
	}
	if err := checkScratch(f, d.images, d.anchors, 16, d.places(), 16); err != nil {
		return err
	}
	return d.suppression.check(f)
}

func lowerDetection(b *emit.Builder, n *ir.Node) {
	d := detectionOf(b.Graph, n)
	in := func(v emit.Value) emit.Binding { return b.Read(v, plan.FormatNone) }
	out := func(v emit.Value) emit.Binding { return b.Write(v, plan.FormatNone) }
	scores := b.Layout(n.In[0])

	count := d.images * d.anchors
	boxes := b.Temp(int64(count) * 16)
	push := emit.Ints(count).Divisors(d.anchors).Ints(b.Layout(n.In[1]).Quads)
	for _, s := range d.Scale {
		push = push.Floats(float64(s))
	}
	b.Quads(shaders.Anchors, count, push, emit.Cost{FLOP: 60 * float64(count)}, b.In(n.In[1]), b.In(n.In[2]), out(boxes))

	keys := b.Temp(int64(d.groups) * int64(d.pitch()) * 4)
	k, row, pitch := shaders.ScoresBest, d.anchors, d.pitch()
	if d.Regular {
		k, pitch = shaders.ScoresClasses, d.pitch()/4
		row = pitch
	}
	count = d.groups * row
	push = emit.Ints(count).Divisors(row, d.perImage).Ints(d.anchors, d.classes, scores.Quads, pitch, int(floatKey(d.Score)))
	b.Quads(k, count, push, emit.Cost{FLOP: 4 * float64(scores.TotalQuads())}, b.In(n.In[0]), out(keys))

	run := sortKeys(b, keys, d.groups, d.scores, d.candidates)
	to := suppress(b, &d.suppression, run, boxes)
	k, from := shaders.Detections, to.counts
	if d.Regular {
		k, from = shaders.DetectionsClasses, d.merge(b, to)
	}

	places := d.places()
	count = d.images * places
	first := 0
	if d.Background {
		first = 1
	}
	push = emit.Ints(count).Divisors(places).Ints(int(d.Places())).Divisors(d.each, d.room).
		Ints(d.best, d.anchors, d.classes, scores.Quads, first)
	b.Quads(k, count, push, emit.Cost{FLOP: 8 * float64(count), Bytes: 64 * float64(count)},
		b.In(n.In[0]), in(boxes), in(to.pairs), in(from), b.Out(n.Out[0]), b.Out(n.Out[1]), b.Out(n.Out[2]), b.Out(n.Out[3]))
}

// merge sorts the boxes chosen in all classes of an image: keys, and places in the room of the classes.
func (d *detection) merge(b *emit.Builder, of chosen) emit.Value {
	pitch := (d.merged + 3) &^ 3
	keys := b.Temp(int64(d.images) * int64(pitch) * 4)
	count := d.images * d.merged
	push := emit.Ints(count).Divisors(d.merged, d.room).Ints(d.perImage, pitch)
	b.Quads(shaders.ScoresChosen, count, push, emit.Cost{}, b.Read(of.pairs, plan.FormatNone), b.Read(of.counts, plan.FormatNone),
		b.Write(keys, plan.FormatNone))
	return sortKeys(b, keys, d.images, d.merged, d.best)
}
