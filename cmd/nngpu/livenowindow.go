//go:build !window

package main

import "errors"

// hasWindow: `nngpu live` opens a window.
const hasWindow = false

const windowHelp = `This build has no
window: --record and --screenshot keep what is drawn.`

func openWindow(string) (liveWindow, error) { return nil, errors.New("this build has no window") }
