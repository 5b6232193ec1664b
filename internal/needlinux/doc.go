// Package needlinux does not compile on other systems than Linux, and its one error says so. What is built on the
// system calls of Linux imports it, so that building for another system ends with that line instead of undefined names;
// files that import golang.org/x/sys/unix have the constraint linux beside.
package needlinux
