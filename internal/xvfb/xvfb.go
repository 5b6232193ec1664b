// Package xvfb gives tests an X server without a screen, Xvfb, and what is visible on it.
package xvfb

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// Size of the screen, in pixels.
const Width, Height = 1024, 768

// Server is an X server, until the end of a test.
type Server struct {
	Display string // for $DISPLAY
	frames  string // the file with its screen
	process *os.Process
}

// Stop ends the server, as if it had crashed.
func (s *Server) Stop() { _ = s.process.Kill() } // it may have ended

// Start starts a server. Without Xvfb the test is skipped, or fails where NNGPU_REQUIRE names "window".
func Start(t *testing.T) *Server {
	t.Helper()
	path, err := exec.LookPath("Xvfb")
	if err != nil {
		const why = "there is no Xvfb; tools/setup.sh window installs it"
		if nntest.Required("window") {
			t.Fatal(why + ", and NNGPU_REQUIRE lists window")
		}
		t.Skip(why)
	}
	dir := t.TempDir()
	number, report, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer number.Close()
	// The server chooses a free number and writes it to the first inherited descriptor.
	c := exec.Command(path, "-displayfd", "3", "-screen", "0", fmt.Sprintf("%dx%dx24", Width, Height), "-fbdir", dir, "-nolisten", "tcp", "-noreset")
	c.ExtraFiles = []*os.File{report}
	err = c.Start()
	_ = report.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	})
	_ = number.SetReadDeadline(time.Now().Add(30 * time.Second))
	line, err := bufio.NewReader(number).ReadString('\n')
	if err != nil {
		t.Fatalf("Xvfb: %v", err)
	}
	return &Server{Display: ":" + strings.TrimSpace(line), frames: filepath.Join(dir, "Xvfb_screen0"), process: c.Process}
}

// Header of a window dump, from XWDFile.h: words, the highest byte first.
const (
	headerSize   = 0
	pixmapWidth  = 4
	pixmapHeight = 5
	byteOrder    = 7 // 0: the lowest byte first
	bitsPerPixel = 11
	bytesPerLine = 12
	colours      = 19
	colourBytes  = 12 // of an entry of the table behind the header
)

// Screen is what is visible.
func (s *Server) Screen(t *testing.T) *image.RGBA {
	t.Helper()
	data, err := os.ReadFile(s.frames)
	if err != nil {
		t.Fatal(err)
	}
	word := func(i int) int { return int(binary.BigEndian.Uint32(data[4*i:])) }
	if len(data) < 100 || word(pixmapWidth) != Width || word(pixmapHeight) != Height || word(bitsPerPixel) != 32 || word(byteOrder) != 0 {
		t.Fatalf("%s is not what was expected of Xvfb", s.frames)
	}
	first, line := word(headerSize)+word(colours)*colourBytes, word(bytesPerLine)
	m := image.NewRGBA(image.Rect(0, 0, Width, Height))
	for y := range Height {
		for x := range Width {
			p := data[first+y*line+4*x:][:4]
			m.SetRGBA(x, y, color.RGBA{p[2], p[1], p[0], 255})
		}
	}
	return m
}
