# shellcheck shell=bash
# What the build tag "window" takes; sourced by the scripts that need to know.

# window_packages are the headers that glfw includes, and what is loaded when a window is opened: of Xlib's connection, and of
# SwiftShader.
# shellcheck disable=SC2034 # by who sources this
window_packages=(libx11-dev libxcursor-dev libxrandr-dev libxinerama-dev libxi-dev libxxf86vm-dev libgl-dev libx11-xcb1 libxcb-shm0)

# can_build_window tells whether these headers are there.
can_build_window() {
	printf '#include <X11/%s>\n' Xlib.h Xcursor/Xcursor.h extensions/Xrandr.h extensions/Xinerama.h extensions/XInput2.h \
		extensions/xf86vmode.h | "${CC:-gcc}" -E - >/dev/null 2>&1
}

# can_test_window tells whether there is an X server for tests, too.
can_test_window() {
	can_build_window && command -v Xvfb >/dev/null
}
