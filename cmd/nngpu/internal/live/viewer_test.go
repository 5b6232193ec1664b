package live

import (
	"context"
	"errors"
	"image"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/canvas"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/frames"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// glass is a screen without a window.
type glass struct {
	bgr bool

	mu            sync.Mutex
	width, height int         // guarded by mu
	busy          bool        // guarded by mu: it takes no pictures
	picture       *image.RGBA // guarded by mu: what was shown last
	shows         int         // guarded by mu
	err           error       // guarded by mu: of showing
}

func (g *glass) Size() (width, height int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.width, g.height, nil
}

func (g *glass) BGR() bool { return g.bgr }

func (g *glass) Acquire(context.Context) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.busy, nil
}

func (g *glass) Show(m backend.Memory, width, height int) (bool, error) {
	p := image.NewRGBA(image.Rect(0, 0, width, height))
	if err := m.Read(context.Background(), p.Pix); err != nil {
		return false, err
	}
	for i := 0; i < len(p.Pix); i += 4 {
		if g.bgr {
			p.Pix[i], p.Pix[i+2] = p.Pix[i+2], p.Pix[i]
		}
		p.Pix[i+3] = 255
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.picture, g.shows = p, g.shows+1
	return g.shows%3 > 0, g.err // as if the window changed now and then
}

func (g *glass) last() *image.RGBA {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.picture
}

func (g *glass) set(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

// TestShown: a screen shows what is drawn, in its order of colours and as large as the window.
func TestShown(t *testing.T) {
	eachOpened(t, func(t *testing.T, d *nngpu.Device) {
		for _, g := range []*glass{
			{width: canvas.Width, height: canvas.Height},
			{width: canvas.Width, height: canvas.Height, bgr: true},
			{width: canvas.Width, height: 2 * canvas.Height, bgr: true},
			{width: 300, height: 3000},
			{width: 1600, height: 1000, bgr: true},
		} {
			s := digits(t)
			s.Frames, s.Screen = 5, g
			sum, last, err := Run(t.Context(), d, open(t, "test", frames.Options{}), s)
			require.NoError(t, err)
			require.Zero(t, sum.Moved.Shown)
			w, h := fit(g.width, g.height)
			got := g.last()
			require.Equal(t, image.Pt(w, h), got.Rect.Size())
			if w == canvas.Width {
				require.Equal(t, last.Pix, got.Pix)
				continue
			}
			for _, at := range [][2]float64{{0.1, 0.1}, {0.4, 0.2}, {0.2, 0.5}, {0.9, 0.98}} { // where it is smooth
				c, want := got.RGBAAt(int(at[0]*float64(w)), int(at[1]*float64(h))), last.RGBAAt(int(at[0]*canvas.Width), int(at[1]*canvas.Height))
				for k, v := range [3]uint8{c.R, c.G, c.B} {
					require.InDelta(t, float64([3]uint8{want.R, want.G, want.B}[k]), float64(v), 8, "%v of %dx%d", at, w, h)
				}
			}
		}
	})
}

// TestScreenChanges: a window of no size, or one that takes nothing, stops no frame; one that fails ends them.
func TestScreenChanges(t *testing.T) {
	eachOpened(t, func(t *testing.T, d *nngpu.Device) {
		g := &glass{}
		s := digits(t)
		s.Frames, s.Screen = 6, g
		sum, last, err := Run(t.Context(), d, open(t, "test", frames.Options{}), s)
		require.NoError(t, err)
		require.Equal(t, 6, sum.Met)
		require.NotNil(t, last)

		g.width, g.height, g.busy, g.shows = 96, 64, true, 0
		_, _, err = Run(t.Context(), d, open(t, "test", frames.Options{}), s)
		require.NoError(t, err)
		require.Zero(t, g.shows)

		g.busy, g.err = false, errBroken
		_, _, err = Run(t.Context(), d, open(t, "test", frames.Options{}), s)
		require.ErrorIs(t, err, errBroken)
	})
}

func TestFit(t *testing.T) {
	for _, tc := range [][4]int{{768, 512, 768, 512}, {300, 400, 300, 200}, {901, 300, 450, 300}, {1, 1, 1, 1}, {9, 1, 1, 1}, {1, 9, 1, 1}} {
		w, h := fit(tc[0], tc[1])
		require.Equal(t, tc[2:], []int{w, h})
	}
}

// TestCommands: each changes what it says while frames go on, and the canvas is drawn again.
func TestCommands(t *testing.T) {
	eachOpened(t, func(t *testing.T, d *nngpu.Device) {
		g := &glass{width: canvas.Width, height: canvas.Height}
		commands := make(chan Command)
		s := digits(t)
		s.Screen, s.Commands, s.Rate, s.NoPreempt = g, commands, 2, true // seldom enough that what is drawn in between is seen
		s.Rival = &Rival{Path: "rival", Model: s.Network.Model, Inputs: [][]byte{make([]byte, 28*28)}, Priority: nn.PriorityMedium}
		type result struct {
			sum *Summary
			err error
		}
		done := make(chan result, 1)
		source := open(t, "test", frames.Options{})
		go func() {
			sum, _, err := Run(t.Context(), d, source, s)
			done <- result{sum, err}
		}()
		shown := func() int {
			g.mu.Lock()
			defer g.mu.Unlock()
			return g.shows
		}
		for shown() == 0 {
			time.Sleep(time.Millisecond)
		}
		for _, c := range []Command{
			Redraw, SwitchPreemption, ShorterDeadline, ShorterDeadline, RaiseRival, RaiseRival, LowerRival, LowerRival, LowerRival, LowerRival,
			SwitchRival, SwitchRival, SwitchRival, LongerDeadline,
		} {
			commands <- c
		}
		before := shown()
		g.set(func() { g.width = 2 * canvas.Width })
		commands <- Redraw
		require.Eventually(t, func() bool { return shown() > before }, 20*time.Second, time.Millisecond, "it is shown again")
		commands <- Quit
		x := <-done
		require.NoError(t, x.err)
		require.True(t, x.sum.Preempt)
		require.Positive(t, x.sum.Deadline, "twice what the last frame took, then shorter")
		require.Equal(t, "low", x.sum.Against.Priority)
		require.Positive(t, x.sum.Frames)
	})
}

// TestQuitEarly: who wants no frame gets none, without an error.
func TestQuitEarly(t *testing.T) {
	eachOpened(t, func(t *testing.T, d *nngpu.Device) {
		commands := make(chan Command, 1)
		commands <- Quit
		s := digits(t)
		s.Screen, s.Commands = &glass{width: 10, height: 10}, commands
		sum, _, err := Run(t.Context(), d, open(t, "test", frames.Options{}), s)
		require.NoError(t, err)
		require.LessOrEqual(t, sum.Frames, 1)
	})
}

// TestRivalSwitched: a second network that is stopped leaves the device alone, and goes on when it is wanted again.
func TestRivalSwitched(t *testing.T) {
	eachOpened(t, func(t *testing.T, d *nngpu.Device) {
		client, err := d.NewClient("rival")
		require.NoError(t, err)
		s := digits(t)
		s.Rival = &Rival{Path: "rival", Model: s.Network.Model, Inputs: [][]byte{make([]byte, 28*28)}, Priority: nn.PriorityLow}
		x := &session{Setup: s, dev: d, client: client, history: newHistory()}
		r := newRival(x)
		runs := func() int {
			x.history.mu.Lock()
			defer x.history.mu.Unlock()
			return x.history.rivals
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.loop(ctx) }()
		goesOn := func() {
			n := runs()
			require.Eventually(t, func() bool { return runs() > n+1 }, 20*time.Second, time.Millisecond)
		}
		goesOn()
		r.change(func() { r.on = false })
		time.Sleep(50 * time.Millisecond) // the last may have been at its end
		n := runs()
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, n, runs())
		r.change(func() { r.on, r.priority = true, nn.PriorityHigh })
		goesOn()
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, client.Close())

		_, _, period := r.wanted()
		require.False(t, errors.Is(period.Err(), context.Canceled))
		require.Error(t, r.loop(t.Context()), "the client is closed")
	})
}
