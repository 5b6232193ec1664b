package main

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
)

func TestLogHandler(t *testing.T) {
	var out bytes.Buffer
	a := &app{err: &console.Output{W: &out}}
	l := a.logger().With("device", "llvmpipe")
	l.Warn("the cache does not work", "error", errors.New("no\nhome"))
	l.Warn("it cannot be opened again", "next_try", time.Minute, "error", "gone")
	l.Info("not said")
	a.verbose = true
	l.Info("only when asked", "n", 3)
	require.Equal(t, "nngpu: warning: the cache does not work: no; home\n"+
		"nngpu: warning: it cannot be opened again: gone (next try 1m0s)\n"+
		"only when asked (n 3)\n", out.String())
}
