package live

import (
	"context"
	"fmt"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/canvas"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
)

// Screen is the inside of a window. One goroutine at a time uses it. gpu.Screen is one.
type Screen interface {
	// Size is that of the window, in pixels; 0 where nothing of it is visible.
	Size() (width, height int, err error)
	// BGR says that pixels begin with blue; else they begin with red.
	BGR() bool
	// Acquire waits until the window takes another picture; false where it does not for some time.
	Acquire(ctx context.Context) (bool, error)
	// Show shows a picture of width by height pixels of four bytes in the middle of the window; false where the window
	// has changed since Acquire, so that the picture is not visible.
	Show(m backend.Memory, width, height int) (bool, error)
}

// viewer shows the canvas on a screen, by a network of its own that makes it as large as the window.
type viewer struct {
	session       *session
	screen        Screen
	width, height int                   // of the picture; 0 before the first
	model         *driver.PreparedModel // nil where the canvas is shown as it is
	picture       *driver.Buffer        // of the model
}

// fits reports whether the picture has the size that the window wants now, which it returns. Where nothing of the
// window is visible any size will do.
func (v *viewer) fits() (ok bool, width, height int, err error) {
	w, h, err := v.screen.Size()
	if err != nil {
		return false, 0, 0, fmt.Errorf("the window: %w", err)
	}
	if w == 0 || h == 0 {
		return true, v.width, v.height, nil
	}
	width, height = fit(w, h)
	return width == v.width && height == v.height, width, height, nil
}

// fit is the size of the canvas in a window: as large as possible, and a pixel at least.
func fit(width, height int) (w, h int) {
	if width*canvas.Height < height*canvas.Width {
		return width, max(width*canvas.Height/canvas.Width, 1)
	}
	return max(height*canvas.Width/canvas.Height, 1), height
}

// resize prepares pictures of another size.
func (v *viewer) resize(ctx context.Context, width, height int) (err error) {
	c := v.session.client
	v.close()
	if v.screen.BGR() || width != canvas.Width || height != canvas.Height {
		m, err := fitModel(width, height, v.screen.BGR())
		if err != nil {
			return err
		}
		if v.model, err = c.PrepareModel(ctx, m, driver.WithPriority(nn.PriorityMedium)); err != nil {
			return fmt.Errorf("drawing: %w", err)
		}
		v.picture, err = c.Allocate(driver.BufferDesc{}, nil, []driver.BufferRole{{Model: v.model, Index: 0, Probability: 1}})
		if err != nil {
			return fmt.Errorf("drawing: %w", err)
		}
	}
	v.width, v.height = width, height
	return nil
}

// role is what the pictures do with the canvas.
func (v *viewer) role() []driver.BufferRole {
	if v.model == nil {
		return nil
	}
	return []driver.BufferRole{{Model: v.model, Index: 0, Probability: 1}}
}

// fitModel turns the canvas into a picture of another size, perhaps with blue before red.
func fitModel(width, height int, bgr bool) (*nn.Model, error) {
	b := &layers.Builder{}
	x := b.Input(nn.TensorQuant8Asymm, nn.Dims{1, canvas.Height, canvas.Width, 4}, 1./255, 0)
	if width != canvas.Width || height != canvas.Height {
		x = b.ResizeBilinear(x, layers.Resize{Height: height, Width: width, HalfPixel: true})
	}
	if bgr {
		x = b.Gather(x, 3, b.Ints(nn.Dims{4}, 2, 1, 0, 3))
	}
	b.Output(x)
	return b.Build()
}

// show shows the canvas, which is drawn. A window that takes no picture keeps its present one.
func (v *viewer) show(ctx context.Context, canvas *driver.Buffer) error {
	if v.width == 0 {
		return nil
	}
	picture := canvas
	if v.model != nil {
		r := &nn.Request{}
		r.Inputs = []nn.RequestArgument{argument(r, canvas.Token(), 0)}
		r.Outputs = []nn.RequestArgument{argument(r, v.picture.Token(), 0)}
		res, err := v.model.Execute(ctx, r, driver.WithProfile())
		if err != nil {
			return fmt.Errorf("drawing: %w", err)
		}
		v.session.history.ran(drawLane, res)
		picture = v.picture
	}
	for range 2 { // a window that changed in between gets it again
		ok, err := v.screen.Acquire(ctx)
		if err != nil {
			return fmt.Errorf("the window: %w", err)
		}
		if !ok {
			return nil
		}
		err = picture.View(ctx, func(m backend.Memory) (err error) {
			ok, err = v.screen.Show(m, v.width, v.height)
			return err
		})
		if err != nil {
			return fmt.Errorf("the window: %w", err)
		}
		if ok {
			return nil
		}
	}
	return nil
}

// close frees what resize made.
func (v *viewer) close() {
	if v.picture != nil {
		_ = v.picture.Close() // nobody uses it
	}
	if v.model != nil {
		_ = v.model.Close() // the client would say it again
	}
	v.picture, v.model, v.width, v.height = nil, nil, 0, 0
}
