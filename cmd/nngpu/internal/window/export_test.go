//go:build window

package window

import "github.com/go-gl/glfw/v3.3/glfw"

// Do has f done with the window, on its thread, and waits for that.
func (w *Window) Do(f func(g *glfw.Window)) {
	done := make(chan struct{})
	w.calls <- func(g *glfw.Window) {
		defer close(done)
		f(g)
	}
	glfw.PostEmptyEvent()
	<-done
}

// Press is a key that is pressed.
func (w *Window) Press(k glfw.Key) { w.key(nil, k, 0, glfw.Press, 0) }
