package live

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/canvas"
	"github.com/nngpu/nngpu/driver/nn"
)

var nan = float32(math.NaN())

func TestDrawnLabels(t *testing.T) {
	got, want := canvas.NewSheet(topLabels), canvas.NewSheet(topLabels)
	drawLabels(got, []float32{0.25, nan, 2}, []string{"cat"})
	want.Text(2, 3, "class 2                              2.000")
	want.Mark(canvas.Mark{Left: 16, Top: 68, Right: 368, Bottom: 76})
	want.Text(2, 7, "cat                                  0.250")
	want.Mark(canvas.Mark{Left: 16, Top: 132, Right: 104, Bottom: 140})
	require.Equal(t, want, got)
}

func TestDrawnBars(t *testing.T) {
	got, want := canvas.NewSheet(rawBars), canvas.NewSheet(rawBars)
	drawBars(got, []float32{-1, 3, 1, nan})
	want.Text(1, 1, "4 values, -1 to 3")
	for i, top := range []float32{375, 47, 211, 375} {
		x := 8 + 92*float32(i)
		want.Mark(canvas.Mark{Left: x, Top: top, Right: x + 0.8*92, Bottom: 376})
	}
	require.Equal(t, want, got)

	// More values than bars: the largest of each group.
	many := make([]float32, 3*rawBars)
	for i := range many {
		many[i] = float32(i % 3)
	}
	got, want = canvas.NewSheet(rawBars), canvas.NewSheet(rawBars)
	drawBars(got, many)
	want.Text(1, 1, "384 values, 2 to 2")
	for i := range rawBars {
		x := 8 + 2.875*float32(i)
		want.Mark(canvas.Mark{Left: x, Top: 47, Right: x + 0.8*2.875, Bottom: 376})
	}
	require.Equal(t, want, got)

	got, want = canvas.NewSheet(1), canvas.NewSheet(1)
	drawBars(got, []float32{nan, nan})
	want.Text(1, 1, "no finite values")
	require.Equal(t, want, got)
}

func TestDrawnPoints(t *testing.T) {
	dot := func(s *canvas.Sheet, x, y float32) {
		require.True(t, s.Mark(canvas.Mark{Left: x - 1.25, Top: y - 1.25, Right: x + 1.25, Bottom: y + 1.25}))
	}
	got, want := canvas.NewSheet(9), canvas.NewSheet(9)
	drawPoints(got, []float32{96, 48, 5, nan, 1, 1, -1, 3, 7, 192, 192, 0}, 3, 192, 96)
	dot(want, 192, 192)
	require.Equal(t, want, got, "pixels")
	got, want = canvas.NewSheet(9), canvas.NewSheet(9)
	drawPoints(got, []float32{0.5, 0.25, 1.5, 0}, 2, 192, 96)
	dot(want, 192, 96)
	require.Equal(t, want, got, "parts of the picture")
}

func TestDrawnBoxes(t *testing.T) {
	got, want := canvas.NewSheet(12), canvas.NewSheet(12)
	drawBoxes(got,
		[]float32{0.25, 0.5, 0.75, 2, 0, 0, 1, 1, nan, 0, 1, 1, 0.5, 0, 0.5, 1, -1, 0, 0.5, 0.5},
		[]float32{1, 0, 0, 0, nan}, []float32{0.75, 0.4, 0.9, 0.9, 0.5}, []string{"dog", "cat"})
	want.Frame(canvas.Mark{Left: 192, Top: 96, Right: 384, Bottom: 288}, 2)
	want.Text(25, 6, "cat 75%")
	want.Frame(canvas.Mark{Left: 0, Top: 0, Right: 192, Bottom: 192}, 2)
	want.Text(1, 0, "class -1 50%")
	require.Equal(t, want, got)

	// What has no room is left out.
	got, want = canvas.NewSheet(4), canvas.NewSheet(4)
	drawBoxes(got, []float32{0, 0, 0.5, 0.5, 0.5, 0.5, 1, 1}, []float32{0, 0}, []float32{1, 1}, nil)
	want.Frame(canvas.Mark{Left: 0, Top: 0, Right: 192, Bottom: 192}, 2)
	want.Text(1, 0, "class 0 100%")
	require.Equal(t, want, got)
}

func TestPanelMarks(t *testing.T) {
	for _, tc := range []struct {
		kind Kind
		dims []nn.Dims
		want int
	}{
		{Labels, []nn.Dims{{1, 1001}}, topLabels}, {Points, []nn.Dims{{1, 1404}}, 468}, {Raw, []nn.Dims{{1, 9}}, 9}, {Raw, []nn.Dims{{1, 999}}, rawBars},
		{Boxes, []nn.Dims{{1, 10, 4}, {1, 10}, {1, 10}}, 40}, {Boxes, []nn.Dims{{1, 1917, 4}, {1, 1917}, {1, 1917}}, 4 * mostBoxes}, {Image, []nn.Dims{{1, 4, 4, 3}}, 1},
	} {
		x := &session{Setup: &Setup{Network: network(nil, nil, tc.dims...), Kind: tc.kind}}
		require.Equal(t, tc.want, x.panelMarks(), "%v", tc)
	}
}
