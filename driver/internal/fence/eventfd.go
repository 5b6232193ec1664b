//go:build linux

package fence

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/driver/nn"
)

// EventFD is the driver's end of an eventfd that somebody else waits for.
type EventFD struct{ file *os.File }

// New returns two descriptors of one new eventfd: the driver's and the caller's.
func New() (*EventFD, *os.File, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, nil, fmt.Errorf("eventfd: %w", err)
	}
	mine, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		_ = unix.Close(fd)
		return nil, nil, fmt.Errorf("dup: %w", err)
	}
	return &EventFD{os.NewFile(uintptr(mine), "fence")}, os.NewFile(uintptr(fd), "fence"), nil
}

// Signal writes the outcome and closes the driver's end.
func (e *EventFD) Signal(err error) {
	v := uint64(1)
	if err != nil {
		v = Failed + uint64(nn.StatusOf(err))
	}
	// An eventfd takes a write unless its counter would overflow, which the first write cannot cause. A client that
	// filled the counter through its own descriptor hurts only itself: the deadline keeps us from waiting for it.
	_ = e.file.SetWriteDeadline(time.Now().Add(time.Millisecond))
	_, _ = e.file.Write(binary.NativeEndian.AppendUint64(nil, v))
	_ = e.file.Close()
}

// Watch calls signal once, when an eventfd or a sync_file becomes readable: with an error if a sync_file says so or the
// counter of an eventfd is Failed or more. If the descriptor is readable already, it does so before it returns. file is
// duplicated, may be closed afterwards, and is only looked at, never read. stop gives the wait up, after which signal
// may still be called, with ErrClosed; idempotent.
//
// Errors: INVALID_ARGUMENT for anything but an eventfd or a sync_file; RESOURCE_EXHAUSTED_TRANSIENT.
func Watch(file *os.File, signal func(error)) (stop func(), err error) {
	if file == nil {
		return nil, nn.Invalid("fence", "there is no file")
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, nn.Invalid("fence", "%w", err)
	}
	fd, dupErr := -1, error(nil)
	err = raw.Control(func(p uintptr) { fd, dupErr = unix.FcntlInt(p, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, dupErr); err != nil {
		return nil, nn.Invalid("fence", "%w", err)
	}
	status, err := statusReader(fd)
	if err != nil {
		_ = unix.Close(fd)
		return nil, nn.Invalid("fence", "%w", err)
	}
	if ready(fd) { // the usual case of work that is done
		signal(status(fd))
		_ = unix.Close(fd)
		return func() {}, nil
	}
	watch, err := watchFile(fd)
	if err != nil {
		_ = unix.Close(fd)
		return nil, &nn.Error{Status: nn.StatusResourceExhaustedTransient, Where: "fence", Err: err}
	}
	go func() {
		defer unix.Close(fd)
		defer watch.Close()
		if err := waitReadable(watch); err != nil {
			signal(ErrClosed)
			return
		}
		signal(status(fd))
	}()
	return func() { _ = watch.Close() }, nil
}

// ready reports whether fd is readable now.
func ready(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1 && p[0].Revents != 0
}

// watchFile returns an epoll descriptor that becomes readable when fd does. It is the driver's own, so that it can be
// handed to the runtime's poller without touching the flags of the client's descriptor.
func watchFile(fd int) (*os.File, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
		_ = unix.Close(ep)
		return nil, fmt.Errorf("epoll: %w", err)
	}
	if err := unix.SetNonblock(ep, true); err != nil {
		_ = unix.Close(ep)
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return os.NewFile(uintptr(ep), "fence"), nil
}

// waitReadable blocks until the epoll descriptor watch is readable or closed.
func waitReadable(watch *os.File) error {
	raw, err := watch.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(func(ep uintptr) bool { return ready(int(ep)) })
}

// errOutcome is the error for a signalled descriptor that cannot be asked: if no descriptor is left to open its file in
// /proc, a failure must not pass for a success.
var errOutcome = errors.New("a signalled fence does not tell its outcome")

// statusReader returns a function that tells whether a signalled descriptor failed.
func statusReader(fd int) (func(fd int) error, error) {
	if _, ok := syncStatus(fd); ok {
		return func(fd int) error {
			s, ok := syncStatus(fd)
			switch {
			case !ok:
				return errOutcome
			case s < 0:
				return nn.Errorf(nn.StatusGeneralFailure, "wait fence", "it failed: %w", unix.Errno(-s))
			}
			return nil
		}, nil
	}
	if _, ok := eventCount(fd); !ok {
		return nil, errors.New("neither an eventfd nor a sync_file")
	}
	return func(fd int) error {
		n, ok := eventCount(fd)
		switch {
		case !ok:
			return errOutcome
		case n >= Failed:
			return nn.Errorf(nn.StatusGeneralFailure, "wait fence", "it failed: %v", nn.Status(n-Failed))
		}
		return nil
	}, nil
}

// eventCount is the counter of an eventfd, found without reading it.
func eventCount(fd int) (uint64, bool) {
	f, err := os.Open("/proc/self/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), "eventfd-count:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(v), 16, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// syncStatus is the status of a sync_file: 1 signalled, 0 active, below 0 an errno. Tests replace it: no kernel
// here makes sync_files.
var syncStatus = syncFileStatus
