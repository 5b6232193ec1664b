//go:build window

package window_test

import (
	"context"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-gl/glfw/v3.3/glfw"
	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/canvas"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/frames"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/live"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/window"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/picture"
	"github.com/nngpu/nngpu/internal/xvfb"
)

// devices are those that are tested.
func devices() []string {
	if d := os.Getenv("NNGPU_DEVICE"); d != "" {
		return []string{d}
	}
	return []string{"lavapipe", "swiftshader"}
}

// rig is a window on an X server of its own, and the device that shows pictures there.
type rig struct {
	server *xvfb.Server
	window *window.Window
	device *nngpu.Device
	screen live.Screen
	close  func()
}

func eachRig(t *testing.T, f func(t *testing.T, r *rig)) {
	for _, name := range devices() {
		t.Run(name, func(t *testing.T) { f(t, newRig(t, name)) })
	}
}

func newRig(t *testing.T, device string) *rig {
	server := xvfb.Start(t)
	t.Setenv("DISPLAY", server.Display)
	d, err := nngpu.Open(nngpu.Options{Device: device, Cache: driver.CacheOptions{Off: true}, Windows: true})
	if err != nil {
		if nntest.Required(device) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	w, err := window.Open("test")
	require.NoError(t, err)
	screen, err := d.Vulkan.OpenScreen(w.Handles())
	require.NoError(t, err)
	r := &rig{server: server, window: w, device: d, screen: screen}
	t.Cleanup(func() {
		screen.Close()
		screen.Close()
		require.NoError(t, d.Close())
		require.Empty(t, d.Vulkan.ValidationMessages())
		w.Close()
		w.Close()
	})
	return r
}

// digits is a setup for the network that reads digits.
func digits(t *testing.T) *live.Setup {
	return setup(t, filepath.Join("..", "..", "..", "..", "examples", "digits", "digits_s8.tflite"), picture.Normalisation{})
}

func setup(t *testing.T, path string, norm picture.Normalisation) *live.Setup {
	t.Helper()
	net, err := importer.Open(path)
	require.NoError(t, err)
	if norm.Empty() {
		norm = picture.Stated(net, 0)
	}
	in, err := picture.NewInput(&net.Model.Main.Operands[net.Model.Main.Inputs[0]], norm)
	require.NoError(t, err)
	return &live.Setup{
		Path: filepath.Base(filepath.Dir(path)), Network: net, Picture: in, Others: make([][]byte, len(net.Inputs)), Kind: live.KindOf(net),
		Labels: net.Labels(), Priority: nn.PriorityHigh,
	}
}

// run runs s in the window, or without.
func (r *rig) run(t *testing.T, s *live.Setup, windowed bool) (*live.Summary, *image.RGBA, error) {
	t.Helper()
	s.Screen, s.Commands = nil, nil
	if windowed {
		s.Screen, s.Commands = r.screen, r.window.Commands()
	}
	source, err := frames.Open(t.Context(), "test", frames.Options{})
	require.NoError(t, err)
	defer source.Close()
	return live.Run(t.Context(), r.device, source, s)
}

// shown is what the window shows of the given size, which has no frame and no neighbours.
func (r *rig) shown(t *testing.T, width, height int) *image.RGBA {
	t.Helper()
	var at image.Point
	r.window.Do(func(g *glfw.Window) { at.X, at.Y = g.GetPos() })
	all := r.server.Screen(t)
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetRGBA(x, y, all.RGBAAt(at.X+x, at.Y+y))
		}
	}
	return m
}

// same is whether the first rows of two pictures differ nowhere by more than so much.
func same(x, y *image.RGBA, rows int, most int) bool {
	if x.Rect != y.Rect {
		return false
	}
	for i := range 4 * x.Rect.Dx() * rows {
		if d := int(x.Pix[i]) - int(y.Pix[i]); d > most || -d > most {
			return false
		}
	}
	return true
}

// eventually waits for what the X server does on its own time.
func eventually(t *testing.T, ok func() bool, what string) {
	t.Helper()
	require.Eventually(t, ok, 20*time.Second, 20*time.Millisecond, what)
}

// save keeps a picture where NNGPU_WINDOW_SHOTS names a folder, to be looked at.
func save(t *testing.T, name string, m image.Image) {
	dir := os.Getenv("NNGPU_WINDOW_SHOTS")
	if dir == "" {
		return
	}
	f, err := os.Create(filepath.Join(dir, name+".png"))
	require.NoError(t, err)
	require.NoError(t, png.Encode(f, m))
	require.NoError(t, f.Close())
}

// TestNetworks has a network of each kind look at the pattern: the window shows what is drawn, and that is what is drawn
// without a window.
func TestNetworks(t *testing.T) {
	n := 10
	if os.Getenv("NNGPU_SOAK") == "1" {
		n = 100
	}
	centred := picture.Normalisation{Mean: []float64{127.5}, Std: []float64{127.5}, Exact: true}
	unit := picture.Normalisation{Mean: []float64{0}, Std: []float64{255}, Exact: true}
	for _, tc := range []struct {
		network string
		kind    live.Kind
		norm    picture.Normalisation
		other   string // file of the second input
	}{
		{"mobilenet_v2_224_u8", live.Labels, picture.Normalisation{}, ""},
		{"deeplabv3_257_f32", live.Mask, centred, ""},
		{"face_landmark_f16w", live.Points, unit, ""},
		{"style_transfer_s8", live.Image, unit, "input_1.bin"},
	} {
		t.Run(tc.network, func(t *testing.T) {
			s := setup(t, nntest.Shared(t, "models", tc.network, "model.tflite"), tc.norm)
			require.Equal(t, tc.kind, s.Kind)
			if tc.other != "" {
				data, err := os.ReadFile(nntest.Shared(t, "models", tc.network, tc.other))
				require.NoError(t, err)
				s.Others[1] = data
			}
			eachRig(t, func(t *testing.T, r *rig) {
				s.Frames = n
				_, headless, err := r.run(t, s, false)
				require.NoError(t, err)
				sum, drawn, err := r.run(t, s, true)
				require.NoError(t, err)
				require.Equal(t, []int{n, n}, []int{sum.Frames, sum.Met})
				require.Zero(t, sum.Moved.Shown, "no canvas passes through the host")
				eventually(t, func() bool { return same(r.shown(t, canvas.Width, canvas.Height), drawn, canvas.Height, 0) }, "the window shows the canvas")
				shot := r.shown(t, canvas.Width, canvas.Height)
				save(t, string(tc.kind)+"-"+filepath.Base(t.Name()), shot)
				require.True(t, same(shot, headless, canvas.Side, 1), "view and panel are those without a window")
			})
		})
	}
}

// while runs s in the window until the test says quit, which it does when f, which runs meanwhile, has returned.
func (r *rig) while(t *testing.T, s *live.Setup, f func()) *live.Summary {
	t.Helper()
	type result struct {
		sum *live.Summary
		err error
	}
	done := make(chan result, 1)
	go func() {
		sum, _, err := r.run(t, s, true)
		done <- result{sum, err}
	}()
	f()
	r.window.Do(func(g *glfw.Window) { g.SetShouldClose(true) })
	select {
	case x := <-done:
		require.NoError(t, x.err)
		return x.sum
	case <-time.After(time.Minute):
		require.FailNow(t, "closing the window does not end it")
		return nil
	}
}

// TestSizes: the canvas is as large as it fits, in the middle of black; a window that is not to be seen stops nothing.
func TestSizes(t *testing.T) {
	eachRig(t, func(t *testing.T, r *rig) {
		s := digits(t)
		s.Rate = 20
		sum := r.while(t, s, func() {
			for _, tc := range []struct {
				name          string
				width, height int
				inside        image.Rectangle // where the canvas is
			}{
				{"as it is", 768, 512, image.Rect(0, 0, 768, 512)},
				{"high", 300, 400, image.Rect(0, 100, 300, 300)},
				{"wide", 901, 300, image.Rect(225, 0, 675, 300)},
				{"large", 999, 700, image.Rect(0, 17, 999, 683)},
				{"tiny", 31, 1, image.Rect(15, 0, 16, 1)},
				{"small", 96, 64, image.Rect(0, 0, 96, 64)},
			} {
				r.window.Do(func(g *glfw.Window) { g.SetSize(tc.width, tc.height) })
				eventually(t, func() bool { return fills(r.shown(t, tc.width, tc.height), tc.inside) }, tc.name)
			}
			r.window.Do(func(g *glfw.Window) { g.SetSize(768, 512) })
			r.window.Do((*glfw.Window).Iconify) // without a window manager nothing comes of it
			r.window.Do((*glfw.Window).Hide)
			time.Sleep(300 * time.Millisecond)
			r.window.Do((*glfw.Window).Restore)
			r.window.Do((*glfw.Window).Show)
			eventually(t, func() bool { return fills(r.shown(t, 768, 512), image.Rect(0, 0, 768, 512)) }, "shown again")
		})
		require.Greater(t, sum.Frames, 5)
		require.Equal(t, sum.Frames, sum.Met)
	})
}

// fills is whether a picture is black around a rectangle and, but for its smallest ones, shows the pattern's blue corner inside.
func fills(m *image.RGBA, inside image.Rectangle) bool {
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			c := m.RGBAAt(x, y)
			if black := c.R|c.G|c.B == 0; !black && !image.Pt(x, y).In(inside) {
				return false
			}
		}
	}
	if inside.Dx() < 50 {
		return true
	}
	corner := m.RGBAAt(inside.Min.X+inside.Dx()/50, inside.Min.Y+inside.Dy()/50)
	foot := m.RGBAAt(inside.Max.X-2, inside.Max.Y-2) // of the strip
	return corner.B > 200 && corner.R < 50 && corner.G < 50 && max(foot.R, foot.G, foot.B) < 60 && foot.B > 0
}

// TestKeys: each key is what it says, and is obeyed at once.
func TestKeys(t *testing.T) {
	r := newRig(t, devices()[0])
	for k, want := range map[glfw.Key]live.Command{
		glfw.KeyB: live.SwitchRival, glfw.KeyUp: live.RaiseRival, glfw.KeyDown: live.LowerRival, glfw.KeyLeft: live.ShorterDeadline,
		glfw.KeyRight: live.LongerDeadline, glfw.KeyP: live.SwitchPreemption, glfw.KeyQ: live.Quit, glfw.KeyEscape: live.Quit,
	} {
		for len(r.window.Commands()) > 0 {
			<-r.window.Commands() // to be drawn, at first
		}
		r.window.Press(k)
		require.Equal(t, want, <-r.window.Commands())
	}
	s := digits(t)
	s.Rate, s.Deadline = 20, 200*time.Millisecond
	s.Rival = &live.Rival{Path: "rival", Model: s.Network.Model, Inputs: [][]byte{make([]byte, 28*28)}}
	sum := r.while(t, s, func() {
		strip := func() []byte { // without its numbers: title and deadline
			return slices.Clone(r.shown(t, canvas.Width, canvas.Height).Pix[4*canvas.Width*canvas.Side:][:4*canvas.Width*canvas.CellHeight])
		}
		eventually(t, func() bool { return fills(r.shown(t, 768, 512), image.Rect(0, 0, 768, 512)) }, "it begins")
		for _, k := range []glfw.Key{glfw.KeyRight, glfw.KeyRight, glfw.KeyP, glfw.KeyB, glfw.KeyUp} {
			before := strip()
			r.window.Press(k)
			eventually(t, func() bool { return !slices.Equal(before, strip()) }, "the strip says so")
		}
	})
	require.InDelta(t, 200*1.25*1.25, sum.Deadline, 0.001)
	require.False(t, sum.Preempt)
	require.Equal(t, "medium", sum.Against.Priority)
}

// TestFaults: what fails ends the run with a message, and all can be closed; what only has changed does not.
func TestFaults(t *testing.T) {
	t.Cleanup(func() { vk.Inject(nil, nil) })
	inject := func(c vk.Call, f vk.Fault) { vk.Inject(nil, &vk.Faults{Calls: map[vk.Call]vk.Fault{c: f}}) }
	eachRig(t, func(t *testing.T, r *rig) {
		s := digits(t)
		s.Frames, s.Record = 12, io.Discard // so that each is drawn
		for _, c := range []vk.Call{vk.CallAcquire, vk.CallPresent} {
			inject(c, vk.Fault{Result: vk.ResultOutOfDate, After: 3, Times: 2})
			_, drawn, err := r.run(t, s, true)
			require.NoError(t, err)
			eventually(t, func() bool { return same(r.shown(t, canvas.Width, canvas.Height), drawn, canvas.Height, 0) }, "it shows the last")
			inject(c, vk.Fault{Result: vk.ResultSurfaceLost, After: 3})
			_, _, err = r.run(t, s, true)
			require.ErrorIs(t, err, vk.ErrSurfaceLost)
			require.ErrorContains(t, err, "the window")
		}
		inject(vk.CallPresent, vk.Fault{Result: vk.ResultDeviceLost, After: 3})
		_, _, err := r.run(t, s, true)
		require.ErrorIs(t, err, vk.ErrDeviceLost)
		require.Equal(t, nn.StatusDeviceUnavailable, nn.StatusOf(err))
		vk.Inject(nil, nil)
		_, _, err = r.run(t, s, true)
		require.Error(t, err, "the screen is of the lost device")
		ok, err := r.screen.Acquire(context.Background())
		require.False(t, ok)
		require.ErrorIs(t, err, vk.ErrDeviceLost)
	})
}

// TestNoDisplay: without an X server there is a message.
func TestNoDisplay(t *testing.T) {
	for _, display := range []string{"", ":4711"} {
		t.Setenv("DISPLAY", display)
		_, err := window.Open("test")
		require.ErrorIs(t, err, window.ErrNoDisplay)
		require.ErrorContains(t, err, "X11")
	}
}
