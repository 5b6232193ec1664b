// Package xlib says how a program ends whose X server has gone: Xlib ends it, by exit(1), and of that only the way can be
// changed. Nothing is linked; the program has Xlib if it has a display. Without the build tag `window` it is empty.
package xlib
