package frames

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// video is a stream of pictures of 2x2 grey pixels.
func video(greys ...byte) string {
	s := "YUV4MPEG2 W2 H2 F25:1 Cmono XCOLORRANGE=FULL\n"
	for _, g := range greys {
		s += "FRAME\n" + strings.Repeat(string([]byte{g}), 4)
	}
	return s
}

func write(t *testing.T, path, data string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
	return path
}

func greyPicture(t *testing.T, w, h int, grey byte) string {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = grey
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.String()
}

// greys reads up to n pictures and returns the colour of each, and how it ended.
func greys(t *testing.T, s *Source, n int) (list []byte, err error) {
	t.Helper()
	for range n {
		err := s.Next(t.Context(), func(p []byte) error {
			require.Len(t, p, s.Width*s.Height*4)
			require.Equal(t, color.RGBA{p[0], p[0], p[0], 255}, color.RGBA{p[0], p[1], p[2], p[3]})
			list = append(list, p[0])
			return nil
		})
		if err != nil {
			return list, err
		}
	}
	return list, nil
}

func TestSources(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "2.PNG"), greyPicture(t, 8, 8, 20))
	write(t, filepath.Join(dir, "1.png"), greyPicture(t, 4, 2, 10))
	write(t, filepath.Join(dir, "notes.txt"), "no picture")
	file := write(t, filepath.Join(t.TempDir(), "x.y4m"), video(1, 2, 3))
	for _, tc := range []struct {
		name, source string
		o            Options
		w, h         int
		rate         float64
		want         []byte
		err          error
	}{
		{name: "picture", source: filepath.Join(dir, "1.png"), w: 4, h: 2, want: []byte{10}, err: io.EOF},
		{name: "picture again and again", source: filepath.Join(dir, "1.png"), o: Options{Loop: true}, w: 4, h: 2, want: []byte{10, 10, 10, 10, 10}},
		{name: "folder", source: dir, w: 4, h: 2, want: []byte{10, 20}, err: io.EOF},
		{name: "folder again and again", source: dir, o: Options{Loop: true}, w: 4, h: 2, want: []byte{10, 20, 10, 20, 10}},
		{name: "video", source: file, w: 2, h: 2, rate: 25, want: []byte{1, 2, 3}, err: io.EOF},
		{name: "video again and again", source: file, o: Options{Loop: true}, w: 2, h: 2, rate: 25, want: []byte{1, 2, 3, 1, 2}},
		{name: "standard input", source: "-", o: Options{Input: strings.NewReader(video(7, 8))}, w: 2, h: 2, rate: 25, want: []byte{7, 8}, err: io.EOF},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := Open(t.Context(), tc.source, tc.o)
			require.NoError(t, err)
			defer s.Close()
			require.Equal(t, []any{tc.w, tc.h, tc.rate}, []any{s.Width, s.Height, s.Rate})
			got, err := greys(t, s, 5)
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.err, err)
		})
	}
}

// TestPattern moves, and comes back.
func TestPattern(t *testing.T) {
	s, err := Open(t.Context(), "test", Options{})
	require.NoError(t, err)
	defer s.Close()
	var list []string
	for range patternPeriod + 1 {
		require.NoError(t, s.Next(t.Context(), func(p []byte) error { list = append(list, string(p)); return nil }))
	}
	require.NotEqual(t, list[0], list[1])
	require.Equal(t, list[0], list[patternPeriod])
}

// TestLargePictures are scaled down, as they are in proportion.
func TestLargePictures(t *testing.T) {
	s, err := Open(t.Context(), write(t, filepath.Join(t.TempDir(), "x.png"), greyPicture(t, 1500, 700, 9)), Options{})
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, []int{640, 298}, []int{s.Width, s.Height})
}

func TestBadSources(t *testing.T) {
	dir := t.TempDir()
	path := func(name, data string) string { return write(t, filepath.Join(dir, name), data) }
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o700))
	mixed := filepath.Join(dir, "mixed")
	require.NoError(t, os.Mkdir(mixed, 0o700))
	write(t, filepath.Join(mixed, "1.png"), greyPicture(t, 2, 2, 1))
	write(t, filepath.Join(mixed, "2.png"), "no picture")
	for _, tc := range []struct {
		name, source string
		o            Options
		says         string
	}{
		{name: "nothing", source: "", says: "no name"},
		{name: "absent", source: filepath.Join(dir, "absent"), says: "absent: no such file"},
		{name: "empty folder", source: filepath.Join(dir, "empty"), says: "no pictures"},
		{name: "a device", source: "/dev/null", says: "neither a file"},
		{name: "no picture", source: path("x.png", "text"), says: "neither a picture"},
		{name: "truncated picture", source: path("y.png", greyPicture(t, 50, 50, 1)[:60]), says: "y.png"},
		{name: "empty video", source: path("a.y4m", ""), says: "a.y4m: the video is empty"},
		{name: "no video", source: path("b.y4m", "RIFF\n"), says: "no YUV4MPEG2"},
		{name: "video without pictures", source: path("c.y4m", video()), says: "before the first"},
		{name: "truncated video", source: path("d.y4m", video(1, 2)[:60]), says: "in the middle of a picture"},
		{name: "later picture", source: mixed, says: "2.png: neither a picture"},
		{name: "no input", source: "-", o: Options{Input: strings.NewReader("")}, says: "standard input: the video is empty"},
		{name: "input again", source: "-", o: Options{Input: strings.NewReader(video(1)), Loop: true}, says: "leave --loop out"},
		{name: "broken input", source: "-", o: Options{Input: io.MultiReader(strings.NewReader(video(1)), brokenReader{})}, says: "broken"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := Open(t.Context(), tc.source, tc.o)
			if err == nil {
				defer s.Close()
				_, err = greys(t, s, 9)
			}
			require.ErrorContains(t, err, tc.says)
			var e *Error
			require.ErrorAs(t, err, &e)
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

func pipe(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	return name
}

// TestPipes are waited for, at first and between pictures, but not for ever.
func TestPipes(t *testing.T) {
	name := pipe(t)
	wrote := make(chan error, 1)
	go func() {
		time.Sleep(50 * time.Millisecond) // the reader is first
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err == nil {
			for _, part := range []string{video(5)[:20], video(5)[20:], "FRAME\nabcd"} {
				time.Sleep(20 * time.Millisecond)
				_, err = f.WriteString(part)
			}
			err = errors.Join(err, f.Close())
		}
		wrote <- err
	}()
	s, err := Open(t.Context(), name, Options{Patience: 5 * time.Second})
	require.NoError(t, err)
	defer s.Close()
	got, err := greys(t, s, 9)
	require.Equal(t, io.EOF, err)
	require.Equal(t, []byte{5, 'a'}, got)
	require.NoError(t, <-wrote)
}

// TestClosedPipes have no writer, or one that goes without a word, in the first line, or in a picture.
func TestClosedPipes(t *testing.T) {
	_, err := Open(t.Context(), pipe(t), Options{Patience: 30 * time.Millisecond})
	require.ErrorContains(t, err, "nobody wrote into the pipe for 30ms")
	for n, says := range map[int]string{10: "line's end", 53: "in the middle"} {
		name := pipe(t)
		both, err := os.OpenFile(name, os.O_RDWR, 0) // does not wait for a reader
		require.NoError(t, err)
		_, err = both.WriteString(video(1, 2)[:n])
		require.NoError(t, err)
		time.AfterFunc(30*time.Millisecond, func() { _ = both.Close() })
		s, err := Open(t.Context(), name, Options{Patience: 5 * time.Second})
		if err == nil {
			_, err = greys(t, s, 9)
			s.Close()
		}
		require.ErrorContains(t, err, says, n)
	}
}

// TestSilence: a writer that says nothing more is given up, and so is the wait when the context ends.
func TestSilence(t *testing.T) {
	for _, words := range []string{"", video(1)} {
		r, w := io.Pipe()
		go func() { _, _ = io.WriteString(w, words) }() // ends with the pipe
		defer w.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
		defer cancel()
		s, err := Open(ctx, "-", Options{Input: r})
		for err == nil {
			err = s.Next(ctx, func([]byte) error { return nil })
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)

		silent, writer := io.Pipe()
		go func() { _, _ = io.WriteString(writer, words) }()
		defer writer.Close()
		s, err = Open(t.Context(), "-", Options{Input: silent, Patience: 60 * time.Millisecond})
		for err == nil {
			err = s.Next(t.Context(), func([]byte) error { return nil })
		}
		require.ErrorContains(t, err, "came for 60ms")
	}
}

// TestUseErrors come back, and Close may come twice.
func TestUseErrors(t *testing.T) {
	s, err := Open(t.Context(), "test", Options{})
	require.NoError(t, err)
	why := fmt.Errorf("why")
	require.Equal(t, why, s.Next(t.Context(), func([]byte) error { return why }))
	s.Close()
	s.Close()
}
