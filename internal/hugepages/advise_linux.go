package hugepages

import (
	"reflect"

	"golang.org/x/sys/unix"
)

// Advise asks for huge pages for b if it is large. It is for memory that is about to be touched for the first time, which
// takes a page fault for every 4 KiB else. Nothing but speed depends on it.
func Advise(b []byte) {
	if len(b) < enough {
		return
	}
	at := int(reflect.ValueOf(b).Pointer() % huge)
	b = b[(huge-at)%huge:]
	_ = unix.Madvise(b[:len(b)/huge*huge], unix.MADV_HUGEPAGE) // a kernel without huge pages refuses
}
