//go:build window

package main

import (
	"github.com/nngpu/nngpu/cgo/xlib"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/window"
)

// hasWindow: `nngpu live` opens a window.
const hasWindow = true

const windowHelp = `They
are shown in a window; --record and --screenshot keep what is drawn. Keys in the window:
` + window.Help + `.`

func openWindow(title string) (liveWindow, error) {
	xlib.ExitOnLoss("nngpu: the X server has gone, and the window with it\n", exitRefused)
	w, err := window.Open(title)
	if err != nil {
		return nil, err // no interface around a nil pointer
	}
	return w, nil
}
