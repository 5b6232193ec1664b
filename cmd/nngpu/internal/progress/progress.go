// Package progress shows how far a step of the command is, on a terminal.
package progress

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Totals of a progress bar whose number of steps is not known, or that has no steps.
const (
	Unknown = -1
	None    = 0
)

// A step of the program that takes longer than quiet shows its progress.
const (
	quiet   = time.Second
	refresh = 100 * time.Millisecond
)

// Bar appears when a step takes over a second.
type Bar struct {
	steps atomic.Int64
	stop  chan struct{} // nil when nothing is shown
	ended sync.WaitGroup
}

// Start starts a bar of total steps; nothing is shown where screen is nil. The caller calls Finish. The bar steers the
// terminal: what must be a text of the program's own.
func Start(screen *os.File, total int, what string) *Bar {
	p := &Bar{}
	if screen != nil {
		p.stop = make(chan struct{})
		p.ended.Go(func() { p.show(screen, total, what) })
	}
	return p
}

// Terminal is the file that w is, if that is a terminal; else nil.
func Terminal(w io.Writer) *os.File {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return file
}

// Step counts one step. Safe for concurrent use.
func (p *Bar) Step() { p.steps.Add(1) }

// Finish removes the bar.
func (p *Bar) Finish() {
	if p.stop != nil {
		close(p.stop)
		p.ended.Wait()
	}
}

func (p *Bar) show(w io.Writer, total int, what string) {
	select {
	case <-p.stop:
		return
	case <-time.After(quiet):
	}
	bar := newBar(w, total, what)
	_ = bar.RenderBlank()
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	shown := int64(0)
	for {
		n := p.steps.Load()
		_ = bar.Add64(n - shown)
		shown = n
		select {
		case <-p.stop:
			_ = bar.Finish()
			return
		case <-tick.C:
		}
	}
}

func newBar(w io.Writer, total int, what string) *progressbar.ProgressBar {
	options := []progressbar.Option{
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionClearOnFinish(),
	}
	if total == None {
		return progressbar.NewOptions(-1, options...)
	}
	return progressbar.NewOptions(total, append(options, progressbar.OptionShowCount())...)
}
