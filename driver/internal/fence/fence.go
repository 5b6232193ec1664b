// Package fence passes the ends of work between programs as file descriptors of the kernel: it makes eventfds and watches
// eventfds and sync_files. What waits for what is not its business.
package fence

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	_ "github.com/nngpu/nngpu/internal/needlinux" // one line where this cannot be built
)

// Failed is the least value of the counter of a failed fence's eventfd; the status is added to it.
const Failed = 1 << 32

// ErrClosed is the error of a descriptor whose watch was given up before it was signalled.
var ErrClosed = fmt.Errorf("the fence was %w before it was signalled", nn.ErrClosed)
