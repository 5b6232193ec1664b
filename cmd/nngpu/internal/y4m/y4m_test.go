package y4m

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// TestColours: known colours of BT.601 in both ranges, as ffmpeg and the standard have them.
func TestColours(t *testing.T) {
	for name, tc := range map[string]struct {
		header  string
		y, u, v byte
		want    [3]byte
	}{
		"white":           {"", 235, 128, 128, [3]byte{255, 255, 255}},
		"black":           {"", 16, 128, 128, [3]byte{0, 0, 0}},
		"red":             {"", 81, 90, 240, [3]byte{255, 0, 0}},
		"green":           {"", 145, 54, 34, [3]byte{0, 255, 0}},
		"blue":            {"", 41, 240, 110, [3]byte{0, 0, 255}},
		"below black":     {"", 0, 128, 128, [3]byte{0, 0, 0}},
		"full white":      {" XCOLORRANGE=FULL", 255, 128, 128, [3]byte{255, 255, 255}},
		"full black":      {" XCOLORRANGE=FULL", 0, 128, 128, [3]byte{0, 0, 0}},
		"full red":        {" XCOLORRANGE=FULL", 76, 85, 255, [3]byte{254, 0, 0}},
		"full grey of 16": {" XCOLORRANGE=FULL", 16, 128, 128, [3]byte{16, 16, 16}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewReader(strings.NewReader("YUV4MPEG2 W1 H1 C444" + tc.header + "\nFRAME\n" + string([]byte{tc.y, tc.u, tc.v})))
			require.NoError(t, err)
			got := make([]byte, 4)
			require.NoError(t, r.Next(got))
			require.EqualValues(t, 255, got[3])
			for k, want := range tc.want {
				require.InDelta(t, float64(want), float64(got[k]), 2, "channel %d of %v", k, got)
			}
			require.Equal(t, io.EOF, r.Next(got))
		})
	}
}

// TestLayouts has pictures of odd sizes, whose planes of colour are rounded up, in every layout.
func TestLayouts(t *testing.T) {
	for layout, samples := range map[string]int{"420": 4, "420jpeg": 4, "420mpeg2": 4, "420paldv": 4, "422": 6, "444": 9, "mono": 0} {
		t.Run(layout, func(t *testing.T) {
			picture := append(bytes.Repeat([]byte{100}, 9), bytes.Repeat([]byte{128}, 2*samples)...)
			stream := "YUV4MPEG2 W3 H3 F30000:1001 Ip A1:1 C" + layout + "\n"
			for range 2 {
				stream += "FRAME Ixyz\n" + string(picture)
			}
			r, err := NewReader(iotest.OneByteReader(strings.NewReader(stream)))
			require.NoError(t, err)
			require.InDelta(t, 29.97, r.Rate, 0.001)
			got := make([]byte, 36)
			for range 2 {
				require.NoError(t, r.Next(got))
				require.Equal(t, bytes.Repeat([]byte{98, 98, 98, 255}, 9), got) // (100-16)*255/219 = 97.8
			}
			require.Equal(t, io.EOF, r.Next(got))
		})
	}
}

// TestWhatIsWritten can be read, and is what it was but for what 4:2:0 loses.
func TestWhatIsWritten(t *testing.T) {
	const w, h = 6, 4
	picture := make([]byte, w*h*4)
	for i := range w * h { // blocks of two by two pixels have one colour
		x, y := i%w/2, i/w/2
		copy(picture[4*i:], []byte{byte(60 * x), byte(255 - 200*y), byte(100 + 50*x), 255})
	}
	var file bytes.Buffer
	out, err := NewWriter(&file, w, h, 12.5)
	require.NoError(t, err)
	require.NoError(t, out.Write(picture))
	require.NoError(t, out.Write(picture))
	in, err := NewReader(&file)
	require.NoError(t, err)
	require.Equal(t, w, in.Width)
	require.Equal(t, h, in.Height)
	require.Equal(t, 12.5, in.Rate)
	got := make([]byte, len(picture))
	for range 2 {
		require.NoError(t, in.Next(got))
		for i := range got {
			require.InDelta(t, float64(picture[i]), float64(got[i]), 3, "byte %d", i)
		}
	}
	require.Equal(t, io.EOF, in.Next(got))
	for _, size := range [][2]int{{0, 2}, {3, 2}, {2, 5}} {
		_, err := NewWriter(io.Discard, size[0], size[1], 1)
		require.ErrorContains(t, err, "even")
	}
	_, err = NewWriter(closed{}, 2, 2, 1)
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestBadStreams(t *testing.T) {
	long := strings.Repeat("x", 2*maxLine)
	for name, tc := range map[string]struct{ stream, says string }{
		"empty":              {"", "empty"},
		"another format":     {"RIFF....AVI LIST\n", "no YUV4MPEG2"},
		"no end of line":     {"YUV4MPEG2 W2 H2", "no line's end"},
		"endless line":       {"YUV4MPEG2 " + long, "over 4096 bytes"},
		"no size":            {"YUV4MPEG2 F25:1\n", "how large"},
		"no height":          {"YUV4MPEG2 W16\n", "how large"},
		"zero":               {"YUV4MPEG2 W0 H2\n", "W0"},
		"negative":           {"YUV4MPEG2 W-2 H2\n", "W-2"},
		"no number":          {"YUV4MPEG2 W H2\n", "not a number"},
		"overflow":           {"YUV4MPEG2 W99999999999999999999 H2\n", "not a number"},
		"wide":               {"YUV4MPEG2 W2147483647 H2\n", "at most"},
		"too many pixels":    {"YUV4MPEG2 W16777216 H2\n", "at most"},
		"rate of nothing":    {"YUV4MPEG2 W2 H2 F0:1\n", "ratio"},
		"rate by nothing":    {"YUV4MPEG2 W2 H2 F30:0\n", "ratio"},
		"rate of one":        {"YUV4MPEG2 W2 H2 F30\n", "ratio"},
		"rate too high":      {"YUV4MPEG2 W2 H2 F2000000000:1\n", "not within"},
		"ten bits":           {"YUV4MPEG2 W2 H2 C420p10\n", "yuv420p"},
		"alpha":              {"YUV4MPEG2 W2 H2 C444alpha\n", "444alpha"},
		"no picture":         {"YUV4MPEG2 W2 H2\n", "before the first"},
		"no frame":           {"YUV4MPEG2 W2 H2\nPICTURE\n", "no picture where one begins"},
		"half a frame's tag": {"YUV4MPEG2 W2 H2\nFRA", "no line's end"},
		"truncated":          {"YUV4MPEG2 W2 H2\nFRAME\nabc", "3 of its 6 bytes"},
		"nothing of it":      {"YUV4MPEG2 W2 H2\nFRAME\n", "0 of its 6 bytes"},
		"truncated second":   {"YUV4MPEG2 W2 H2\nFRAME\nabcdefFRAME\nab", "2 of its 6 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readAll(strings.NewReader(tc.stream))
			require.ErrorContains(t, err, tc.says)
		})
	}
}

// TestReadErrors are those of the stream.
func TestReadErrors(t *testing.T) {
	broken := errors.New("broken")
	stream := "YUV4MPEG2 W2 H2\nFRAME\nabc"
	for n := range len(stream) {
		_, err := readAll(io.MultiReader(strings.NewReader(stream[:n]), iotest.ErrReader(broken)))
		require.ErrorIs(t, err, broken, "behind %q", stream[:n])
	}
}

// readAll counts the pictures of a stream; nil where it ends as it should.
func readAll(r io.Reader) (n int, err error) {
	in, err := NewReader(r)
	if err != nil {
		return 0, err
	}
	dst := make([]byte, in.Width*in.Height*4)
	for ; ; n++ {
		if err := in.Next(dst); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return n, err
		}
	}
}

// FuzzReader: no stream makes it panic, and one that is read holds the bytes of its pictures.
func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"", "YUV4MPEG2 W2 H2\nFRAME\nabcdef", "YUV4MPEG2 W1 H1 F25:1 C444 XCOLORRANGE=FULL\nFRAME\nabcFRAME Ip\nabc",
		"YUV4MPEG2  W3 H1 Cmono\nFRAME\nabc", "YUV4MPEG2 W5 H3 C422\nFRAME\n", "YUV4MPEG2 W1 H1 F0:0\nFRAME\nabc",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, err := parse(firstLine(data)); err == nil && h.Width*h.Height > 1<<16 {
			data = []byte(firstLine(data)) // its pictures would only take long
		}
		n, err := readAll(bytes.NewReader(data))
		if err == nil && n == 0 {
			t.Fatal("a video without a picture")
		}
		if n > len(data) {
			t.Fatalf("%d pictures in %d bytes", n, len(data))
		}
	})
}

func firstLine(data []byte) string {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return string(line)
}
