// Package live runs a network on pictures as they come and draws what it makes of them, all on the device.
//
// A picture is written once, into memory that the device reads as an image. There it becomes what is shown, and the
// network's input (the feed); the network leaves its result there; and the canvas is drawn from both. The host reads
// only small results: scores, boxes, points. Feed and network are executions of one priority and deadline; the canvas
// is drawn at medium priority, by a goroutine of its own, so that no picture waits for the drawing of an earlier one;
// and a second network may want the device as well. All of them are executions of one client of the driver, among which
// its scheduler chooses.
package live

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"sync"
	"time"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/canvas"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/frames"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/picture"
)

// Setup says what runs.
type Setup struct {
	Path    string // of the network, for people
	Network *importer.Network
	Input   int            // which of its inputs takes the picture
	Picture *picture.Input // that input
	Others  [][]byte       // values of the others; nil at Input
	Kind    Kind
	Labels  []string   // of classes; may be nil
	Range   [2]float32 // black and white of a picture that is the result, as canvas.Scene has them

	Priority nn.Priority
	Deadline time.Duration // of each frame, from when it is due; 0: none
	Rate     float64       // frames a second; 0: one after the other
	Frames   int           // how many; 0: until the source ends
	Rival    *Rival        // nil: none

	NoPreempt bool // executions are submitted whole

	Record io.Writer // nil, or where to write every frame drawn, as YUV4MPEG2

	Screen   Screen         // nil, or where frames are also shown
	Commands <-chan Command // nil, or what is wanted meanwhile
}

// Rival is a second network, which saturates the device.
type Rival struct {
	Path     string
	Model    *nn.Model
	Inputs   [][]byte
	Priority nn.Priority
}

// ErrSink is the cause where Setup.Record cannot be written.
var ErrSink = errors.New("the recording cannot be written")

// slots are how many frames there are at once: one being computed, one waiting to be drawn, one being drawn, and the
// last one drawn.
const slots = 4

// warmUps is how often everything runs before the first frame: the driver then expects what that took. Once is enough
// where it takes warmUpTime.
const (
	warmUps    = 3
	warmUpTime = time.Second
)

// session is a run of a Setup.
type session struct {
	*Setup
	dev     *nngpu.Device
	source  *frames.Source
	client  *driver.Client
	feed    *driver.PreparedModel
	network *driver.PreparedModel
	rival   *rival // nil: none
	drawer  *drawer
	history *history
	slots   []*slot
	free    chan *slot // those that nobody uses
	taken   int        // pictures from the source
	due     time.Time  // when the next frame is; zero before the first
	lost    lost

	controls controls
	again    chan struct{} // has room for one: the canvas is wanted again
}

// Run runs s on a device until it has had its frames, the source ends or ctx does. It returns what happened and the picture
// that was drawn last, nil where there was none. The caller closes device and source.
//
// Errors: those of the driver; *frames.Error; ErrSink; that of ctx.
func Run(ctx context.Context, dev *nngpu.Device, source *frames.Source, s *Setup) (*Summary, *image.RGBA, error) {
	client, err := dev.NewClient("live")
	if err != nil {
		return nil, nil, err
	}
	x := &session{
		Setup: s, dev: dev, source: source, client: client, history: newHistory(), free: make(chan *slot, slots), again: make(chan struct{}, 1),
	}
	x.controls.deadline, x.controls.preempt = s.Deadline, !s.NoPreempt
	dev.SetPreemption(!s.NoPreempt)
	if s.Rival != nil {
		x.rival = newRival(x)
	}
	defer func() {
		for _, s := range x.slots {
			s.close()
		}
	}()
	wanted, stop := context.WithCancelCause(ctx)
	var listening sync.WaitGroup
	listening.Go(func() { x.listen(wanted, func() { stop(errQuit) }) })
	defer listening.Wait()
	defer stop(nil)
	err = x.prepare(wanted)
	if err != nil && !errors.Is(context.Cause(wanted), errQuit) {
		return nil, nil, errors.Join(err, client.Close())
	}
	before := dev.Scheduling().Preemptions
	x.history.preemptions = func() int64 { return int64(dev.Scheduling().Preemptions - before) }
	x.history.start()
	if err == nil {
		err = x.runOn(ctx, wanted)
	} else {
		err = nil // somebody has seen enough before the first frame
	}
	sum := x.summary()
	sum.Device, sum.Driver, sum.Width, sum.Height = dev.Info().Name, dev.Info().Driver, source.Width, source.Height
	var last *image.RGBA
	if err == nil && x.drawer != nil {
		last, err = x.drawer.picture(ctx)
	}
	return sum, last, errors.Join(err, client.Close())
}

// prepare makes the models and the slots, and warms all up.
func (x *session) prepare(ctx context.Context) error {
	g := &x.Network.Model.Main
	in := g.Operands[g.Inputs[x.Input]]
	m, err := feedModel(x.source.Width, x.source.Height, x.Picture, &in)
	if err != nil {
		return err
	}
	if x.feed, err = x.client.PrepareModel(ctx, m, driver.WithPriority(x.Priority)); err != nil {
		return fmt.Errorf("preparing pictures: %w", err)
	}
	if x.network, err = x.client.PrepareModel(ctx, x.Network.Model, driver.WithPriority(x.Priority)); err != nil {
		return fmt.Errorf("%s: %w", x.Path, err)
	}
	if x.drawer, err = newDrawer(ctx, x); err != nil {
		return err
	}
	for range slots {
		s, err := x.newSlot()
		if err != nil {
			return err
		}
		x.slots = append(x.slots, s)
		x.free <- s
	}
	return x.warmUp(ctx)
}

func (x *session) warmUp(ctx context.Context) error {
	began := time.Now()
	for n := 0; n < warmUps && (n == 0 || time.Since(began) < warmUpTime); n++ {
		s := <-x.free
		err := x.compute(ctx, s, time.Time{})
		if err == nil {
			err = x.drawer.draw(ctx, s)
		}
		x.free <- s
		if err != nil {
			return err
		}
		if x.rival != nil {
			if err := x.rival.run(ctx, x.Rival.Priority); err != nil {
				return err
			}
		}
	}
	return nil
}

// run runs the frames, the drawing and the second network beside each other, and waits for all to end. Frames end with
// wanted as well.
func (x *session) run(ctx, wanted context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var drawing, load sync.WaitGroup
	drawing.Go(func() {
		if err := x.drawer.loop(ctx); err != nil {
			cancel(err)
		}
	})
	rivals, stop := context.WithCancel(ctx)
	if x.rival != nil {
		for range 2 { // while one runs, the next waits
			load.Go(func() {
				if err := x.rival.loop(rivals); err != nil {
					cancel(err)
				}
			})
		}
	}
	framing, done := context.WithCancelCause(ctx)
	defer context.AfterFunc(wanted, func() { done(context.Cause(wanted)) })()
	err := x.frames(framing)
	if done(nil); errors.Is(context.Cause(framing), errQuit) {
		err = nil
	}
	x.history.end()
	stop()
	load.Wait()
	close(x.drawer.pending)
	if err != nil {
		cancel(err)
	}
	drawing.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// frames takes the pictures of the source at the rate, until there are enough.
func (x *session) frames(ctx context.Context) error {
	var period time.Duration
	if x.Rate > 0 {
		period = time.Duration(float64(time.Second) / x.Rate)
	}
	for x.Frames == 0 || x.taken < x.Frames {
		x.schedule(period)
		if !pause(ctx, time.Until(x.due)) {
			return context.Cause(ctx)
		}
		err := x.frame(ctx, x.due)
		switch x.due = x.due.Add(period); {
		case errors.Is(err, io.EOF) && x.taken > 0:
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// schedule drops the frames that were due until now, except the last.
func (x *session) schedule(period time.Duration) {
	now := time.Now()
	if period == 0 || x.due.IsZero() {
		x.due = now
	} else if late := now.Sub(x.due); late > period {
		x.history.drop(int(late / period))
		x.due = x.due.Add(late / period * period)
	}
}

// pause waits; it reports whether ctx is still going on.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// waited is the wait from which on a picture counts as late, so that its time begins when it came.
const waited = time.Millisecond

// frame takes a picture that is due, computes it and has it drawn. io.EOF where there is no more.
func (x *session) frame(ctx context.Context, due time.Time) error {
	var s *slot
	select {
	case s = <-x.free:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	asked := time.Now()
	err := x.source.Next(ctx, func(pixels []byte) error {
		if came := time.Now(); came.Sub(asked) > waited {
			due = came
		}
		x.history.moved.uploaded.Add(int64(len(pixels)))
		return s.texels.WriteTexels(pixels)
	})
	if err != nil {
		x.free <- s
		return err
	}
	x.taken++
	limit, _ := x.controls.get()
	var deadline time.Time
	if limit > 0 {
		deadline = due.Add(limit)
	}
	err = x.compute(ctx, s, deadline)
	took := time.Since(due)
	if err == nil {
		took = s.done.Sub(due)
	}
	how, err := outcomeOf(err, took, limit)
	if err != nil {
		x.free <- s
		return err
	}
	x.history.frame(how, took)
	if how == missed || how == refused { // there is no result
		x.free <- s
		s = nil
	}
	return x.show(ctx, s)
}

// show hands a frame to the drawer: all of them where they are recorded, else the latest, because drawing may take
// longer than computing. s is nil for a frame without a result, which only the strip shows.
func (x *session) show(ctx context.Context, s *slot) error {
	if x.Record != nil {
		select {
		case x.drawer.pending <- s:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for {
		select {
		case x.drawer.pending <- s:
			return nil
		default:
		}
		if s == nil {
			return nil // what is pending will show it
		}
		select {
		case old := <-x.drawer.pending:
			if old != nil {
				x.free <- old
			}
		default:
		}
	}
}

// panelMarks is how many marks the panel may have.
func (x *session) panelMarks() int {
	g := &x.Network.Model.Main
	n := 1
	switch o := g.Operands[g.Outputs[0]]; x.Kind {
	case Labels:
		n = topLabels
	case Points:
		n = elements(o.Dims) / pointSize(o.Dims)
	case Boxes:
		n = 4 * min(int(o.Dims[1]), mostBoxes)
	case Raw:
		n = min(elements(o.Dims), rawBars)
	}
	return n
}

// scene is what is drawn.
func (x *session) scene() *canvas.Scene {
	g := &x.Network.Model.Main
	s := &canvas.Scene{Marks: x.panelMarks(), Low: x.Range[0], High: x.Range[1]}
	switch x.Kind {
	case Labels, Raw:
		s.Base = canvas.Dimmed
	case Mask:
		s.Base, s.Result = canvas.Mask, &g.Operands[g.Outputs[0]]
	case Image:
		s.Base, s.Result = canvas.Image, &g.Operands[g.Outputs[0]]
	}
	return s
}
