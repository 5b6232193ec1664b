package progress

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestQuiet runs on a fake clock, so that a slow machine cannot fail it.
func TestQuiet(t *testing.T) {
	for _, c := range []struct {
		name  string
		total int
		takes time.Duration
		shows string // nothing, where empty
	}{
		{"quick", 10, quiet - time.Millisecond, ""},
		{"quick, no steps", None, quiet - time.Millisecond, ""},
		{"slow", 10, quiet + time.Second, "measure"},
		{"slow, unknown steps", Unknown, quiet + time.Second, "measure"},
		{"slow, no steps", None, quiet + time.Second, "measure"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var screen bytes.Buffer
				p := &Bar{stop: make(chan struct{})}
				p.ended.Go(func() { p.show(&screen, c.total, "measure") })
				p.Step()
				time.Sleep(c.takes)
				p.Finish()
				time.Sleep(time.Second) // the library's spinner ends at its next tick
				if c.shows == "" {
					require.Empty(t, screen.String())
				} else {
					require.Contains(t, screen.String(), c.shows)
				}
			})
		})
	}
}
