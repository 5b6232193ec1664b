package live

import (
	"context"
	"fmt"
	"image"
	"time"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/canvas"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/y4m"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
)

// drawer draws the canvas, in one goroutine.
type drawer struct {
	session *session
	scene   *canvas.Scene
	model   *driver.PreparedModel
	canvas  *driver.Buffer
	viewer  *viewer // nil: no screen
	sheet   *canvas.Sheet
	labels  []nn.Operand // outputs of the network
	video   *y4m.Writer  // nil before the first picture of a recording
	pixels  []byte       // of the canvas, when the host has it

	// pending has frames to draw; nil stands for one without a result. Closed after the last.
	pending chan *slot
	shown   *slot // whose picture is on the canvas; nil before the first
}

// recordedRate is that of recordings of frames that come one after the other.
const recordedRate = 25

func newDrawer(ctx context.Context, x *session) (*drawer, error) {
	d := &drawer{session: x, scene: x.scene(), pending: make(chan *slot, 1), pixels: make([]byte, canvas.Width*canvas.Height*4)}
	d.labels = outputs(x.Network)
	d.sheet = canvas.NewSheet(d.scene.Marks)
	m, err := d.scene.Model()
	if err != nil {
		return nil, err
	}
	if d.model, err = x.client.PrepareModel(ctx, m, driver.WithPriority(nn.PriorityMedium)); err != nil {
		return nil, fmt.Errorf("drawing: %w", err)
	}
	if x.Screen != nil {
		d.viewer = &viewer{session: x, screen: x.Screen}
	}
	return d, d.makeCanvas(nil)
}

// makeCanvas makes the memory of the canvas, which the model draws and which then has further roles.
func (d *drawer) makeCanvas(shown []driver.BufferRole) (err error) {
	if d.canvas != nil {
		_ = d.canvas.Close() // nobody uses it
	}
	d.canvas, err = d.session.client.Allocate(driver.BufferDesc{}, shown, []driver.BufferRole{{Model: d.model, Index: 0, Probability: 1}})
	if err != nil {
		return fmt.Errorf("drawing: %w", err)
	}
	return nil
}

// resize makes what is shown fit the window.
func (d *drawer) resize(ctx context.Context) error {
	if d.viewer == nil {
		return nil
	}
	ok, width, height, err := d.viewer.fits()
	if ok || err != nil {
		return err
	}
	if err := d.viewer.resize(ctx, width, height); err != nil {
		return err
	}
	return d.makeCanvas(d.viewer.role())
}

// resultRole is what the drawing does with the network's first output.
func (d *drawer) resultRole() []driver.BufferRole {
	if d.scene.Result == nil {
		return nil
	}
	return []driver.BufferRole{{Model: d.model, Index: canvas.InputResult, Probability: 1}}
}

// loop draws what is pending until there is no more.
func (d *drawer) loop(ctx context.Context) error {
	for {
		select {
		case s, more := <-d.pending:
			if !more {
				return nil
			}
			if s != nil {
				if d.shown != nil {
					d.session.free <- d.shown
				}
				d.shown = s
			}
			if d.shown == nil {
				continue
			}
			if err := d.draw(ctx, d.shown); err != nil {
				return err
			}
			d.session.history.wasDrawn()
			if err := d.record(ctx); err != nil {
				return err
			}
		case <-d.session.again:
			if d.shown == nil {
				continue
			}
			if err := d.draw(ctx, d.shown); err != nil {
				return err
			}
		}
		if d.viewer != nil {
			if err := d.viewer.show(ctx, d.canvas); err != nil {
				return err
			}
		}
	}
}

// record writes the canvas to the recording, where there is one.
func (d *drawer) record(ctx context.Context) (err error) {
	x := d.session
	if x.Record == nil {
		return nil
	}
	if err := d.read(ctx); err != nil {
		return err
	}
	if d.video == nil {
		rate := x.Rate
		if rate == 0 {
			rate = recordedRate
		}
		if d.video, err = y4m.NewWriter(x.Record, canvas.Width, canvas.Height, rate); err != nil {
			return fmt.Errorf("%w: %w", ErrSink, err)
		}
	}
	if err := d.video.Write(d.pixels); err != nil {
		return fmt.Errorf("%w: %w", ErrSink, err)
	}
	return nil
}

// draw draws the canvas of a frame, in its turn among the other work of the device.
func (d *drawer) draw(ctx context.Context, s *slot) error {
	x := d.session
	if err := d.resize(ctx); err != nil {
		return err
	}
	d.sheet.Clear()
	if err := d.panel(s); err != nil {
		return err
	}
	d.strip(x.history.snapshot(time.Now()))
	r := &nn.Request{}
	r.Inputs = []nn.RequestArgument{argument(r, s.view.Token(), 0)}
	for _, v := range d.sheet.Arguments() {
		x.history.moved.uploaded.Add(int64(len(v)))
		r.Inputs = append(r.Inputs, host(r, v))
	}
	if d.scene.Result != nil {
		r.Inputs = append(r.Inputs, argument(r, s.outputs[0].Token(), 0))
	}
	r.Outputs = []nn.RequestArgument{argument(r, d.canvas.Token(), 0)}
	res, err := d.model.Execute(ctx, r, driver.WithProfile())
	x.lost.note(err)
	if err != nil {
		return fmt.Errorf("drawing: %w", err)
	}
	x.history.ran(drawLane, res)
	return nil
}

// read brings the canvas to the host.
func (d *drawer) read(ctx context.Context) error {
	err := d.canvas.CopyTo(ctx, nn.HostMemory(d.pixels))
	if d.session.lost.note(err); err != nil {
		return fmt.Errorf("drawing: %w", err)
	}
	d.session.history.moved.shown.Add(int64(len(d.pixels)))
	return nil
}

// picture is the canvas as it was drawn last; nil before. Precondition: loop has ended.
func (d *drawer) picture(ctx context.Context) (*image.RGBA, error) {
	if d.shown == nil {
		return nil, nil
	}
	if err := d.read(ctx); err != nil {
		return nil, err
	}
	for i := 3; i < len(d.pixels); i += 4 {
		d.pixels[i] = 255
	}
	return &image.RGBA{Pix: d.pixels, Stride: 4 * canvas.Width, Rect: image.Rect(0, 0, canvas.Width, canvas.Height)}, nil
}
