// Package frames gives pictures one after the other, as a camera does: from picture files, from video that a pipe brings, or
// made up.
//
// All pictures of a source have one size. They are read ahead, by a goroutine that a slow or silent writer at the other
// end of a pipe may block; a wait for the next picture ends with its context all the same.
package frames

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Error is what is wrong with a source: a file that cannot be read, or a stream that ends in the middle of a picture.
type Error struct {
	Source string
	Err    error // never nil
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Source, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// Options of a source.
type Options struct {
	// Loop begins again after the last picture. It is an error for a stream that cannot be read again, such as a pipe.
	Loop bool
	// Input is read where the source is "-".
	Input io.Reader
	// Patience bounds the wait for the first byte of a pipe, and for each picture; 0 for DefaultPatience.
	Patience time.Duration
}

// DefaultPatience is for programs that take their time to start, and cameras that take theirs.
const DefaultPatience = 15 * time.Second

// maker makes pictures, in one goroutine.
type maker interface {
	// next fills dst, of width * height * 4 bytes, with RGBA; io.EOF after the last picture.
	next(dst []byte) error
	// rewind goes back to the first picture.
	rewind() error
	// close may be called while next is blocked, which then ends if it can.
	close() error
}

// Source gives pictures. Next is not safe for concurrent use; Close may be called at any time.
type Source struct {
	Width, Height int
	// Rate is that of the source itself, in pictures a second; 0 where it has none.
	Rate float64

	name     string
	maker    maker
	loop     bool
	patience time.Duration
	pictures chan []byte   // read ahead; closed at the end
	spent    chan []byte   // to be filled again
	quit     chan struct{} // closed by Close
	closing  sync.Once
	err      error // set before pictures is closed; nil for a proper end
}

// Open opens a source: "test" for a moving pattern, "-" for a YUV4MPEG2 video that is read from o.Input, a folder of
// pictures, which are taken in the order of their names, a .y4m file or pipe, or a picture. The caller closes it.
//
// Errors: *Error; that of ctx.
func Open(ctx context.Context, name string, o Options) (*Source, error) {
	if o.Patience <= 0 {
		o.Patience = DefaultPatience
	}
	s := &Source{
		name: name, loop: o.Loop, patience: o.Patience,
		pictures: make(chan []byte, 1), spent: make(chan []byte, 3), quit: make(chan struct{}),
	}
	if err := s.open(ctx, o); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, s.wrong(err)
	}
	for range cap(s.spent) {
		s.spent <- make([]byte, s.Width*s.Height*4)
	}
	go s.read()
	return s, nil
}

// wrong is err as an *Error. What the file system says names the path itself.
func (s *Source) wrong(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	name := s.name
	if name == "-" {
		name = "standard input"
	}
	return &Error{name, err}
}

func (s *Source) open(ctx context.Context, o Options) error {
	switch s.name {
	case "":
		return errors.New("the source has no name")
	case "test":
		s.pattern()
		return nil
	case "-":
		return s.openStream(ctx, &stream{r: o.Input})
	}
	st, err := os.Stat(s.name)
	if err != nil {
		return err
	}
	switch mode := st.Mode(); {
	case mode.IsDir():
		return s.openFolder()
	case mode&os.ModeNamedPipe != 0, mode.IsRegular() && filepath.Ext(s.name) == ".y4m":
		in, err := openStream(s.name, mode.IsRegular(), o.Patience)
		if err != nil {
			return err
		}
		return s.openStream(ctx, in)
	case mode.IsRegular():
		return s.openPictures([]string{s.name})
	}
	return errors.New("neither a file, nor a folder, nor a pipe")
}

// read makes pictures ahead until the end or Close.
func (s *Source) read() {
	defer close(s.pictures)
	defer func() { _ = s.maker.close() }() // only read from
	for fresh := true; ; fresh = false {
		var dst []byte
		select {
		case dst = <-s.spent:
		case <-s.quit:
			return
		}
		err := s.maker.next(dst)
		if errors.Is(err, io.EOF) && s.loop && !fresh {
			if err = s.maker.rewind(); err == nil {
				err = s.maker.next(dst)
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.err = s.wrong(err)
			}
			return
		}
		select {
		case s.pictures <- dst:
		case <-s.quit:
			return
		}
	}
}

// Next waits for the next picture and gives its pixels to use: RGBA, row by row without gaps, valid until it returns.
//
// Errors: io.EOF after the last picture; *Error, also where none comes for as long as Options.Patience; those of use and ctx.
func (s *Source) Next(ctx context.Context, use func(pixels []byte) error) error {
	patience := time.NewTimer(s.patience)
	defer patience.Stop()
	select {
	case p, ok := <-s.pictures:
		if !ok {
			if s.err != nil {
				return s.err
			}
			return io.EOF
		}
		err := use(p)
		s.spent <- p // as many as there is room for
		return err
	case <-patience.C:
		return s.wrong(fmt.Errorf("no picture came for %v", s.patience))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the source. It does not wait for a read of standard input that nobody answers, which ends with the process.
// Idempotent.
func (s *Source) Close() {
	s.closing.Do(func() {
		close(s.quit)
		_ = s.maker.close() // only read from
	})
}
