package frames

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/y4m"
)

// stream is a YUV4MPEG2 video that is read from a file or a pipe.
type stream struct {
	r      io.Reader
	file   *os.File // nil for standard input
	video  *y4m.Reader
	closed atomic.Bool
}

// openStream opens a file, or a pipe that need not have a writer yet.
func openStream(name string, regular bool, patience time.Duration) (*stream, error) {
	// Without the flag the call would wait for a writer, and nothing could end that; with it reads of a pipe wait in
	// Go, until Close.
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	s := &stream{r: file, file: file}
	if !regular {
		s.r = &firstByte{s: s, file: file, patience: patience}
	}
	return s, nil
}

// firstByte reads a pipe. Before somebody opens it for writing every read says that it has ended.
type firstByte struct {
	s        *stream
	file     *os.File
	patience time.Duration
	began    bool
}

func (f *firstByte) Read(b []byte) (int, error) {
	for until := time.Now().Add(f.patience); ; time.Sleep(10 * time.Millisecond) {
		n, err := f.file.Read(b)
		f.began = f.began || n > 0
		if f.began || !errors.Is(err, io.EOF) || f.s.closed.Load() {
			return n, err
		}
		if time.Now().After(until) {
			return 0, fmt.Errorf("nobody wrote into the pipe for %v", f.patience)
		}
	}
}

// openStream waits for the first line of a video. Where it fails in is closed.
func (s *Source) openStream(ctx context.Context, in *stream) error {
	done := make(chan error, 1)
	go func() {
		var err error
		in.video, err = y4m.NewReader(in.r)
		done <- err
	}()
	patience := time.NewTimer(s.patience + time.Second) // a pipe says by itself that nobody wrote
	defer patience.Stop()
	var err error
	select {
	case err = <-done:
	case <-patience.C:
		err = fmt.Errorf("no video came for %v", s.patience)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		_ = in.close() // only read from
		return err
	}
	s.Width, s.Height, s.Rate, s.maker = in.video.Width, in.video.Height, in.video.Rate, in
	return nil
}

func (s *stream) next(dst []byte) error { return s.video.Next(dst) }

// rewind begins a regular file again.
func (s *stream) rewind() error {
	if s.file == nil {
		return errors.New("standard input cannot be read again; leave --loop out")
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return errors.New("a pipe cannot be read again; leave --loop out")
	}
	was := s.video.Header
	video, err := y4m.NewReader(s.file)
	if err != nil {
		return err
	}
	if video.Header != was {
		return errors.New("the file changed meanwhile")
	}
	s.video = video
	return nil
}

func (s *stream) close() error {
	if s.closed.Swap(true) || s.file == nil {
		return nil
	}
	return s.file.Close()
}
