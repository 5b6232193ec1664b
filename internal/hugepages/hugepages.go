// Package hugepages asks the kernel for huge pages.
package hugepages

const (
	huge = 2 << 20 // bytes of a huge page; where they are larger, the kernel ignores what covers none
	// enough is the size in bytes from which on memory is worth huge pages: the kernel may have to move others' memory to
	// find some, which can take as long as touching about that much in small ones.
	enough = 32 << 20
)

// Make is make([]byte, n), advised.
func Make(n int64) []byte {
	b := make([]byte, n)
	Advise(b)
	return b
}
