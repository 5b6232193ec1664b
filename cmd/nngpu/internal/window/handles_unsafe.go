//go:build window

package window

import (
	"unsafe"

	"github.com/go-gl/glfw/v3.3/glfw"
)

// handles are the Display and the Window of X11. The display is C memory that glfw owns until Terminate, so that its address
// stays what it is; the pointer's type is one of glfw's cgo.
func handles(g *glfw.Window) (display uintptr, window uint32) {
	return uintptr(unsafe.Pointer(glfw.GetX11Display())), uint32(g.GetX11Window())
}
