//go:build window

package window

import (
	"errors"
	"fmt"
	"log"
	"runtime"
	"strings"
	"sync"

	"github.com/go-gl/glfw/v3.3/glfw"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/canvas"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/live"
)

// ErrNoDisplay: no X server can be reached.
var ErrNoDisplay = errors.New("no display")

// Help lists the keys in a line.
const Help = "b: background on, off; up, down: its priority; left, right: deadline; p: preemption; q: quit"

var keys = map[glfw.Key]live.Command{
	glfw.KeyB: live.SwitchRival, glfw.KeyUp: live.RaiseRival, glfw.KeyDown: live.LowerRival,
	glfw.KeyLeft: live.ShorterDeadline, glfw.KeyRight: live.LongerDeadline,
	glfw.KeyP: live.SwitchPreemption, glfw.KeyQ: live.Quit, glfw.KeyEscape: live.Quit,
}

// Window is a window of the size of the canvas. One at a time can be open in a process.
//
// A goroutine with a thread of its own has it from opening it to closing it: glfw wants all its calls on one thread. On other
// systems that must be the first of the process; X11, the only one here, does not care.
type Window struct {
	commands chan live.Command
	calls    chan func(*glfw.Window) // what is to be done with it; closed to close it
	told     chan struct{}           // closed when the loop was told to look at calls for the last time
	ended    chan struct{}
	closing  sync.Once

	display uintptr
	id      uint32
}

// Open opens a window. The caller closes it.
//
// Errors: ErrNoDisplay.
func Open(title string) (*Window, error) {
	w := &Window{
		commands: make(chan live.Command, 16), calls: make(chan func(*glfw.Window), 16), told: make(chan struct{}), ended: make(chan struct{}),
	}
	opened := make(chan error)
	go func() {
		runtime.LockOSThread() // and it ends with the goroutine
		defer close(w.ended)
		g, err := w.open(title)
		opened <- err
		if err != nil {
			return
		}
		defer glfw.Terminate()
		defer g.Destroy()
		w.loop(g)
	}()
	if err := <-opened; err != nil {
		return nil, err
	}
	return w, nil
}

func (w *Window) open(title string) (*glfw.Window, error) {
	if err := start(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDisplay, err)
	}
	glfw.WindowHint(glfw.ClientAPI, glfw.NoAPI)
	g, err := glfw.CreateWindow(canvas.Width, canvas.Height, title+": "+Help, nil, nil)
	if err == nil && g == nil {
		err = errors.New("the X server refuses one")
	}
	if err != nil {
		glfw.Terminate()
		return nil, fmt.Errorf("the window: %w", err)
	}
	w.display, w.id = handles(g)
	g.SetKeyCallback(w.key)
	g.SetRefreshCallback(func(*glfw.Window) { w.command(live.Redraw) })
	g.SetFramebufferSizeCallback(func(*glfw.Window, int, int) { w.command(live.Redraw) })
	return g, nil
}

// start is glfw.Init, which succeeds even where there is no X server, and only logs that.
func start() error {
	var told strings.Builder
	out, flags := log.Writer(), log.Flags()
	log.SetOutput(&told)
	log.SetFlags(0)
	defer func() {
		log.SetOutput(out)
		log.SetFlags(flags)
	}()
	if err := glfw.Init(); err != nil {
		return err
	}
	if !started() {
		return errors.New(strings.TrimSpace(told.String()))
	}
	return nil
}

// started reports whether glfw can be used: its functions panic otherwise.
func started() (ok bool) {
	defer func() { ok = recover() == nil }()
	glfw.PollEvents()
	return
}

func (w *Window) key(_ *glfw.Window, k glfw.Key, _ int, action glfw.Action, _ glfw.ModifierKey) {
	if c, ok := keys[k]; ok && action == glfw.Press {
		w.command(c)
	}
}

// command sends c. Commands that nobody takes are dropped when there are many; a Redraw leaves the room to others.
func (w *Window) command(c live.Command) {
	if c == live.Redraw && len(w.commands) > 0 {
		return // whatever comes first has the window drawn
	}
	select {
	case w.commands <- c:
	default:
	}
}

// loop has the window until Close.
func (w *Window) loop(g *glfw.Window) {
	for {
		glfw.WaitEvents() // PostEmptyEvent ends it as well
		for waiting := true; waiting; {
			select {
			case f, ok := <-w.calls:
				if !ok {
					<-w.told // glfw is needed for that
					return
				}
				f(g)
			default:
				waiting = false
			}
		}
		if g.ShouldClose() {
			w.command(live.Quit)
		}
	}
}

// Commands are what is wanted by keys, and by closing the window.
func (w *Window) Commands() <-chan live.Command { return w.commands }

// Handles are what gpu.Backend.OpenScreen wants; valid until Close.
func (w *Window) Handles() (display uintptr, window uint32) { return w.display, w.id }

// Close closes the window and waits for that. Precondition: nothing shows pictures in it any more. Idempotent.
func (w *Window) Close() {
	w.closing.Do(func() {
		close(w.calls)
		glfw.PostEmptyEvent()
		close(w.told)
	})
	<-w.ended
}
