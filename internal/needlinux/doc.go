// Package needlinux does not compile on systems other than Linux, and its one error says so. Packages that need the
// system calls of Linux import it, so that building for another system ends with that line instead of undefined names;
// files that import golang.org/x/sys/unix also have the constraint linux.
package needlinux
