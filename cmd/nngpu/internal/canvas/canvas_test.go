package canvas

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/font"
	"golang.org/x/image/font/inconsolata"
	"golang.org/x/image/math/fixed"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/devices"
)

// drawnBy draws a scene and returns the picture.
func drawnBy(t *testing.T, c *driver.Client, s *Scene, view []float32, sheet *Sheet, result []byte) *image.RGBA {
	t.Helper()
	m, err := s.Model()
	require.NoError(t, err)
	p, err := c.PrepareModel(t.Context(), m)
	require.NoError(t, err)
	inputs := append([][]byte{nn.Bytes(view)}, sheet.Arguments()...)
	if result != nil {
		inputs = append(inputs, result)
	}
	out := image.NewRGBA(image.Rect(0, 0, Width, Height))
	_, err = p.Run(t.Context(), inputs, [][]byte{out.Pix})
	require.NoError(t, err)
	require.NoError(t, p.Close())
	for i := 3; i < len(out.Pix); i += 4 {
		out.Pix[i] = 255
	}
	return out
}

// randomView is a picture of random colours.
func randomView() []float32 {
	rng := rand.New(rand.NewPCG(1, 2))
	v := make([]float32, Side*Side*4)
	for i := range v {
		v[i] = float32(rng.IntN(256)) / 255
	}
	return v
}

// painter draws as the model does, in plain Go.
type painter struct{ m [Height][Width][3]float64 }

func paint(view []float32) *painter {
	p := &painter{}
	for y := range Side {
		for x := range Side {
			for k := range 3 {
				p.m[y][x][k] = float64(view[(y*Side+x)*4+k])
				p.m[y][Side+x][k] = p.m[y][x][k]
			}
		}
	}
	for y := Side; y < Height; y++ {
		for x := range Width {
			p.mix(x, y, Ground.RGBA(), 1)
		}
	}
	return p
}

func (p *painter) mix(x, y int, c color.RGBA, cover float64) {
	for k, v := range [3]uint8{c.R, c.G, c.B} {
		p.m[y][x][k] += cover * (float64(v)/255 - p.m[y][x][k])
	}
}

// panel is f of all pixels of the panel.
func (p *painter) panel(f func(x, y, channel int, v float64) float64) {
	for y := range Side {
		for x := range Side {
			for k := range 3 {
				p.m[y][Side+x][k] = f(x, y, k, p.m[y][Side+x][k])
			}
		}
	}
}

// lettersOf has the cover of a line of text that begins at a pixel.
func lettersOf(text string, x, y int) *image.Alpha {
	m := image.NewAlpha(image.Rect(0, 0, Width, Height))
	line := m.SubImage(image.Rect(0, y, Width, y+CellHeight)).(*image.Alpha)
	d := font.Drawer{Dst: line, Src: image.Opaque, Face: inconsolata.Bold8x16, Dot: fixed.P(x, y+baseline)}
	d.DrawString(text)
	return m
}

func (p *painter) text(cover *image.Alpha, c color.RGBA) {
	for y := range Height {
		for x := range Width {
			if a := cover.AlphaAt(x, y).A; a > 0 {
				p.mix(x, y, c, float64(a)/255)
			}
		}
	}
}

// same compares with what was drawn: each colour may be two steps off.
func (p *painter) same(t *testing.T, got *image.RGBA) {
	t.Helper()
	wrong := 0
	for y := range Height {
		for x := range Width {
			c := got.RGBAAt(x, y)
			for k, v := range [3]uint8{c.R, c.G, c.B} {
				if want := 255 * p.m[y][x][k]; math.Abs(want-float64(v)) > 2 {
					if wrong++; wrong < 10 {
						t.Errorf("pixel %d,%d channel %d is %d instead of %.1f", x, y, k, v, want)
					}
				}
			}
		}
	}
	require.Zero(t, wrong, "wrong colours")
}

var ink = color.RGBA{255, 242, 64, 255} // markInk

// TestStripAndText: letters, bars and colours of the strip, and letters and marks on the picture.
func TestStripAndText(t *testing.T) {
	devices.EachClient(t, func(t *testing.T, c *driver.Client) {
		view := randomView()
		s := Scene{Base: View, Marks: 5}
		sheet := NewSheet(s.Marks)
		sheet.Text(3, 2, "Egyptian cat 0.73 ~!")
		sheet.Text(PanelColumns-2, 0, "cut off")
		sheet.Text(0, PanelRows, "below")
		require.Equal(t, 10, sheet.Strip(2, 1, Green, "met 12 é"))
		sheet.Strip(StripColumns-1, StripRows-1, Red, "xy")
		sheet.Column(0, 5, 2, 0.75, Blue)
		sheet.Column(1, 5, 2, 0.001, Amber)
		sheet.Column(2, 5, 2, 0, Violet)
		sheet.Cell(-1, 3, Bar(3), Red, Red)
		require.True(t, sheet.Mark(Mark{100, 200, 103, 202}))
		require.True(t, sheet.Mark(Mark{50.25, 20.5, 52.5, 23}))
		require.True(t, sheet.Mark(Mark{-10, 380, 5, 500}))
		require.True(t, sheet.Mark(Mark{-10, -10, -5, 500}))
		require.True(t, sheet.Mark(Mark{101, 201, 110, 300})) // over the first
		require.False(t, sheet.Mark(Mark{0, 0, 1, 1}), "no room")
		got := drawnBy(t, c, &s, view, sheet, nil)

		want := paint(view)
		cover := lettersOf("Egyptian cat 0.73 ~!", Side+3*8, 2*16)
		for i, v := range lettersOf("cu", Side+(PanelColumns-2)*8, 0).Pix {
			cover.Pix[i] = max(cover.Pix[i], v)
		}
		for _, m := range []Mark{{100, 200, 103, 202}, {101, 201, 110, 300}, {0, 380, 5, 384}} {
			for y := int(m.Top); y < int(m.Bottom); y++ {
				for x := int(m.Left); x < int(m.Right); x++ {
					cover.Pix[cover.PixOffset(Side+x, y)] = 255
				}
			}
		}
		for _, part := range []struct {
			x, y  int
			cover float64
		}{
			{50, 20, 0.375}, {51, 20, 0.5}, {52, 20, 0.25}, {50, 21, 0.75}, {51, 21, 1}, {52, 21, 0.5}, {50, 22, 0.75}, {51, 22, 1}, {52, 22, 0.5},
		} {
			want.mix(Side+part.x, part.y, ink, part.cover)
		}
		want.text(cover, ink)
		want.text(lettersOf("met 12 ?", 2*8, Side+16), Green.RGBA())
		want.text(lettersOf("x", (StripColumns-1)*8, Side+(StripRows-1)*16), Red.RGBA())
		for column, bar := range []struct {
			rows   int
			colour Colour
		}{{24, Blue}, {1, Amber}, {0, Violet}} {
			for y := range 32 {
				for x := range 8 {
					c := Trough
					if y >= 32-bar.rows && x < 7 {
						c = bar.colour
					}
					want.mix(column*8+x, Side+4*16+y, c.RGBA(), 1)
				}
			}
		}
		want.same(t, got)

		// An empty sheet shows the picture twice.
		sheet.Clear()
		paint(view).same(t, drawnBy(t, c, &s, view, sheet, nil))
	})
}

func TestDimmed(t *testing.T) {
	devices.EachClient(t, func(t *testing.T, c *driver.Client) {
		view := randomView()
		sheet := NewSheet(4)
		require.True(t, sheet.Frame(Mark{10, 20, 110, 70}, 2))
		require.False(t, sheet.Frame(Mark{10, 20, 110, 70}, 2))
		want := paint(view)
		want.panel(func(_, _, _ int, v float64) float64 { return v / 4 })
		for y := 20; y < 70; y++ {
			for x := 10; x < 110; x++ {
				if x < 12 || x >= 108 || y < 22 || y >= 68 {
					want.mix(Side+x, y, ink, 1)
				}
			}
		}
		want.same(t, drawnBy(t, c, &Scene{Base: Dimmed, Marks: 4}, view, sheet, nil))
	})
}

// TestMask has a score for each of a few classes, in every type that networks give, at a size that divides the panel's.
func TestMask(t *testing.T) {
	devices.EachClient(t, func(t *testing.T, c *driver.Client) {
		const h, w, classes = 96, 48, 5
		rng := rand.New(rand.NewPCG(3, 4))
		scores, best := make([]float32, h*w*classes), make([]int, h*w)
		for i := range best {
			best[i] = rng.IntN(classes)
			for k := range classes {
				scores[i*classes+k] = float32(rng.IntN(50))
			}
			scores[i*classes+best[i]] = 100
		}
		view := randomView()
		want := paint(view)
		want.panel(func(x, y, k int, v float64) float64 {
			class := best[y*h/Side*w+x*w/Side]
			if class == 0 {
				return v
			}
			p := ClassColour(class)
			return (1-0.6)*v + 0.6*float64([3]uint8{p.R, p.G, p.B}[k])/255
		})
		for _, o := range []nn.Operand{
			{Type: nn.TensorFloat32}, {Type: nn.TensorFloat16}, {Type: nn.TensorQuant8Asymm, Scale: 0.5, ZeroPoint: 3}, {Type: nn.TensorQuant8AsymmSigned, Scale: 1, ZeroPoint: -10},
		} {
			t.Run(fmt.Sprint(o.Type), func(t *testing.T) {
				o.Dims = nn.Dims{1, h, w, classes}
				data, err := o.EncodeFloats(scores)
				require.NoError(t, err)
				want.same(t, drawnBy(t, c, &Scene{Base: Mask, Result: &o, Marks: 1}, view, NewSheet(1), data))
			})
		}
	})
}

// TestImage has pictures of the panel's size, so that nothing is resized.
func TestImage(t *testing.T) {
	devices.EachClient(t, func(t *testing.T, c *driver.Client) {
		for _, tc := range []struct {
			o         nn.Operand
			low, high float32
			shade     func(v byte) float32 // as real number
		}{
			{nn.Operand{Type: nn.TensorFloat32}, 0, 0, func(v byte) float32 { return float32(v) / 255 }},
			{nn.Operand{Type: nn.TensorFloat32}, -1, 1, func(v byte) float32 { return float32(v)/127.5 - 1 }},
			{nn.Operand{Type: nn.TensorFloat16}, 0, 255, func(v byte) float32 { return float32(v) }},
			{nn.Operand{Type: nn.TensorQuant8Asymm, Scale: 0.25, ZeroPoint: 7}, 0, 0, func(v byte) float32 { return 0.25 * (float32(v) - 7) }},
			{nn.Operand{Type: nn.TensorQuant8AsymmSigned, Scale: 0.5, ZeroPoint: 1}, 0, 0, func(v byte) float32 { return 0.5 * (float32(v) - 129) }},
			{nn.Operand{Type: nn.TensorQuant8AsymmSigned, Scale: 0.01}, -1, 1, func(v byte) float32 { return float32(v)/127.5 - 1 }},
		} {
			for _, channels := range []int{1, 3} {
				t.Run(fmt.Sprint(tc.o.Type, tc.low, channels), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(5, 6))
					colours := make([]byte, Side*Side*channels)
					real := make([]float32, len(colours))
					for i := range colours {
						colours[i] = byte(rng.IntN(256))
						real[i] = tc.shade(colours[i])
					}
					o := tc.o
					o.Dims = nn.Dims{1, Side, Side, uint32(channels)}
					data, err := o.EncodeFloats(real)
					require.NoError(t, err)
					view := randomView()
					want := paint(view)
					want.panel(func(x, y, k int, _ float64) float64 { return float64(colours[(y*Side+x)*channels+k%channels]) / 255 })
					want.same(t, drawnBy(t, c, &Scene{Base: Image, Result: &o, Low: tc.low, High: tc.high, Marks: 1}, view, NewSheet(1), data))
				})
			}
		}
	})
}

// TestClassColours are those of the Pascal VOC pictures.
func TestClassColours(t *testing.T) {
	for class, want := range map[int]color.RGBA{
		0: {0, 0, 0, 255}, 1: {128, 0, 0, 255}, 2: {0, 128, 0, 255}, 8: {64, 0, 0, 255}, 15: {192, 128, 128, 255}, 20: {0, 64, 128, 255},
	} {
		require.Equal(t, want, ClassColour(class), class)
	}
}
