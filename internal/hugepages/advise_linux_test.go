package hugepages

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAdvise: the kernel knows of large memory that huge pages are wanted for it, and of no other.
func TestAdvise(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skipf("this kernel has no huge pages: %v", err)
	}
	large, small := Make(2*enough), Make(enough-1)
	require.True(t, advised(t, large))
	require.False(t, advised(t, small))
}

// advised reports whether the mapping that has the middle of b has the flag of MADV_HUGEPAGE.
func advised(t *testing.T, b []byte) bool {
	f, err := os.Open("/proc/self/smaps")
	require.NoError(t, err)
	defer f.Close()
	at, inside := reflect.ValueOf(b).Pointer()+uintptr(len(b)/2), false
	for s := bufio.NewScanner(f); s.Scan(); {
		var from, to uintptr
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x ", &from, &to); n == 2 {
			inside = from <= at && at < to
		}
		if flags, ok := strings.CutPrefix(s.Text(), "VmFlags:"); ok && inside {
			return slices.Contains(strings.Fields(flags), "hg")
		}
	}
	require.Fail(t, "no mapping has the memory")
	return false
}
