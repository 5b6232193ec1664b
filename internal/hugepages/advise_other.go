//go:build !linux

package hugepages

// Advise does nothing: this system is not asked.
func Advise([]byte) {}
