package main

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
	unknownTotal   = -1
	nothingToCount = 0
)

// A step of the program that takes longer than quiet shows its progress.
const (
	quiet   = time.Second
	refresh = 100 * time.Millisecond
)

// progress is a bar on standard error that appears when a step takes over a second; nothing where standard
// error is no terminal.
type progress struct {
	steps atomic.Int64
	stop  chan struct{} // nil when nothing is shown
	ended sync.WaitGroup
}

// progress starts a bar of total steps. The caller calls finish. The bar steers the terminal: what is a word of the
// program's own.
func (a *app) progress(total int, what string) *progress {
	p := &progress{}
	if a.screen != nil {
		p.stop = make(chan struct{})
		p.ended.Go(func() { p.show(a.screen, total, what) })
	}
	return p
}

// terminal is the file that w is, if that is a terminal; else nil.
func terminal(w io.Writer) *os.File {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return file
}

// step counts one step. Safe for concurrent use.
func (p *progress) step() { p.steps.Add(1) }

// finish removes the bar.
func (p *progress) finish() {
	if p.stop != nil {
		close(p.stop)
		p.ended.Wait()
	}
}

func (p *progress) show(w io.Writer, total int, what string) {
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
	if total == nothingToCount {
		return progressbar.NewOptions(-1, options...)
	}
	return progressbar.NewOptions(total, append(options, progressbar.OptionShowCount())...)
}
