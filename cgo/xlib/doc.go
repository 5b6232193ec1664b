// Package xlib says how a program ends when its X server goes away: Xlib ends it, by exit(1), and only the way it ends
// can be changed. Nothing is linked; the program has Xlib if it has a display. Without the build tag `window` it is
// empty.
package xlib
