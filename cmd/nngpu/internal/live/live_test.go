package live

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/canvas"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/frames"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/y4m"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/picture"
	"github.com/nngpu/nngpu/internal/devices"
)

// digits is a setup for the network that reads digits.
func digits(t *testing.T) *Setup {
	t.Helper()
	net, err := importer.Open(filepath.Join("..", "..", "..", "..", "examples", "digits", "digits_s8.tflite"))
	require.NoError(t, err)
	in, err := picture.NewInput(&net.Model.Main.Operands[net.Model.Main.Inputs[0]], picture.Stated(net, 0))
	require.NoError(t, err)
	return &Setup{
		Path: "digits_s8.tflite", Network: net, Picture: in, Others: make([][]byte, 1), Kind: KindOf(net), Labels: net.Labels(), Priority: nn.PriorityHigh,
	}
}

// eachOpened runs f with every device that is to be tested, as programs open it.
func eachOpened(t *testing.T, f func(t *testing.T, d *nngpu.Device)) {
	devices.EachNamed(t, func(t *testing.T, name string) {
		d, err := nngpu.Open(nngpu.Options{Device: name, Cache: driver.CacheOptions{Off: true}})
		require.NoError(t, err)
		defer func() { require.NoError(t, d.Close()) }()
		f(t, d)
	})
}

func open(t *testing.T, name string, o frames.Options) *frames.Source {
	t.Helper()
	s, err := frames.Open(t.Context(), name, o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// TestRun has every part at once: a second network, a recording, and a picture in the end.
func TestRun(t *testing.T) {
	eachOpened(t, func(t *testing.T, d *nngpu.Device) {
		var video bytes.Buffer
		s := digits(t)
		require.Equal(t, Labels, s.Kind)
		s.Frames, s.Record, s.Deadline = 12, &video, time.Hour
		s.Rival = &Rival{Path: "rival", Model: s.Network.Model, Inputs: [][]byte{make([]byte, 28*28)}}
		sum, last, err := Run(t.Context(), d, open(t, "test", frames.Options{}), s)
		require.NoError(t, err)
		require.Equal(t, []int{12, 12, 12}, []int{sum.Frames, sum.Met, sum.Drawn})
		require.Positive(t, sum.Against.PerSecond)
		require.Equal(t, d.Info().Name, sum.Device)

		in, err := y4m.NewReader(&video)
		require.NoError(t, err)
		pixels, n := make([]byte, canvas.Width*canvas.Height*4), 0
		var first, corner []byte
		for ; ; n++ {
			if err = in.Next(pixels); err != nil {
				break
			}
			corner = bytes.Clone(pixels[:4*100])
			if n == 0 {
				first = bytes.Clone(pixels)
			}
		}
		require.Equal(t, io.EOF, err)
		require.Equal(t, 12, n)
		require.NotEqual(t, first, pixels, "the pattern moves")
		for i, v := range corner {
			require.InDelta(t, float64(last.Pix[i]), float64(v), 12, "the last picture is that of the recording, byte %d", i)
		}
	})
}

// TestUndrawn: where nobody keeps what is drawn, no picture is read from the device but the last, and no frame waits.
func TestUndrawn(t *testing.T) {
	eachOpened(t, func(t *testing.T, d *nngpu.Device) {
		s := digits(t)
		s.Frames = 30
		sum, last, err := Run(t.Context(), d, open(t, "test", frames.Options{}), s)
		require.NoError(t, err)
		require.NotNil(t, last)
		require.Zero(t, sum.Moved.Shown)
		require.EqualValues(t, 30*10, sum.Moved.Results)
		require.Equal(t, 30, sum.Frames)
		require.LessOrEqual(t, sum.Drawn, 30)
		require.Positive(t, sum.Drawn)
	})
}

// TestEnds: whatever ends, all ends, and says why.
func TestEnds(t *testing.T) {
	grey := "FRAME\n" + strings.Repeat("x", 16)
	header := "YUV4MPEG2 W4 H4 Cmono\n"
	eachOpened(t, func(t *testing.T, d *nngpu.Device) {
		t.Run("source", func(t *testing.T) {
			sum, _, err := Run(t.Context(), d, open(t, "-", frames.Options{Input: strings.NewReader(header + grey + grey)}), digits(t))
			require.NoError(t, err)
			require.Equal(t, 2, sum.Frames)
		})
		t.Run("damaged source", func(t *testing.T) {
			_, _, err := Run(t.Context(), d, open(t, "-", frames.Options{Input: strings.NewReader(header + grey + grey[:9])}), digits(t))
			var e *frames.Error
			require.ErrorAs(t, err, &e)
			require.ErrorIs(t, err, y4m.ErrTruncated)
		})
		t.Run("recording", func(t *testing.T) {
			s := digits(t)
			s.Record = brokenWriter{}
			_, _, err := Run(t.Context(), d, open(t, "test", frames.Options{}), s)
			require.ErrorIs(t, err, ErrSink)
			require.ErrorIs(t, err, errBroken)
		})
		t.Run("context", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s := digits(t)
			s.Rival = &Rival{Path: "rival", Model: s.Network.Model, Inputs: [][]byte{make([]byte, 28*28)}}
			s.Record = cancelling{cancel}
			_, _, err := Run(ctx, d, open(t, "test", frames.Options{}), s)
			require.ErrorIs(t, err, context.Canceled)
		})
		t.Run("device", func(t *testing.T) {
			s := digits(t)
			s.Record = closing{d}
			_, _, err := Run(t.Context(), d, open(t, "test", frames.Options{}), s)
			require.ErrorIs(t, err, nn.ErrClosed)
		})
	})
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// cancelling ends the context when the first picture is there.
type cancelling struct{ cancel context.CancelFunc }

func (c cancelling) Write(b []byte) (int, error) {
	c.cancel()
	return len(b), nil
}

// closing closes the device when the first picture is there.
type closing struct{ d *nngpu.Device }

func (c closing) Write(b []byte) (int, error) {
	go func() { _ = c.d.Close() }() // it waits for what is going on
	return len(b), nil
}
