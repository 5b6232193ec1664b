package gpu

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

// betweenLosses is how long a reopened device must last to be opened once more after another loss, and how long to wait
// after an attempt to open it failed.
const betweenLosses = time.Minute

// deviceChain is a device and its successors: after a loss the next call opens it again. What was made on a lost device
// stays there, and the device is closed with the last of it. Safe for concurrent use.
type deviceChain struct {
	mu       sync.Mutex
	current  *vulkan.Device // guarded by mu
	since    time.Time      // guarded by mu; when current took the place of another, zero for the first
	given    bool           // guarded by mu; up: current was lost too soon
	closed   atomic.Bool    // set under mu
	retry    time.Time      // guarded by mu; no attempt to open before
	messages []string       // guarded by mu; of the validation layer, of devices that are closed
	failures []error        // guarded by mu; of closing them

	retiring sync.WaitGroup // calls of Retire

	log atomic.Pointer[slog.Logger] // for what no caller is told; nil: nowhere
}

// warn tells of trouble that no caller is told of. It may be called with mu held.
func (s *deviceChain) warn(msg string, args ...any) {
	if l := s.log.Load(); l != nil {
		l.Warn(msg, args...)
	}
}

// debug tells what is no trouble.
func (s *deviceChain) debug(msg string, args ...any) {
	if l := s.log.Load(); l != nil {
		l.Debug(msg, args...)
	}
}

// lost is vulkan.Options.Lost.
func (s *deviceChain) lost(why error) { s.warn("the device is lost", "error", why) }

// open is an error once close was called.
func (s *deviceChain) open() error {
	if s.closed.Load() {
		return &nn.Error{Status: nn.StatusGeneralFailure, Where: "Vulkan device", Err: nn.ErrClosed}
	}
	return nil
}

// use returns the device, opened again if it was lost, and keeps it open until the caller calls Release.
//
// Errors: DEVICE_UNAVAILABLE where it is lost for good, or for the time being; nn.ErrClosed.
func (s *deviceChain) use() (*vulkan.Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return nil, err
	}
	s.collect(s.current.ValidationMessages())
	if at, lost := s.current.Lost(); lost != nil {
		if err := s.replace(lost, at); err != nil {
			return nil, err
		}
	}
	s.current.Hold()
	return s.current, nil
}

// replace opens the device again, which was lost at some time. Precondition: mu is held.
func (s *deviceChain) replace(lost error, at time.Time) error {
	if !s.since.IsZero() && at.Sub(s.since) < betweenLosses {
		if !s.given {
			s.warn("the device was lost again and stays lost", "after", at.Sub(s.since))
		}
		s.given = true
	}
	now := time.Now()
	if s.given || now.Before(s.retry) {
		return lost
	}
	next, err := s.current.Reopen()
	if err != nil {
		s.retry = now.Add(betweenLosses)
		s.warn("the lost device cannot be opened again", "error", err, "next_try", betweenLosses)
		return &nn.Error{Status: nn.StatusDeviceUnavailable, Where: "Vulkan device", Err: errors.Join(err, lost)}
	}
	s.warn("the lost device was opened again; what its buffers held is gone")
	old := s.current
	s.current, s.since = next, time.Now()
	s.retiring.Go(func() { s.retire(old) }) // it may close the device, which waits for it
	return nil
}

// retire closes d as soon as nothing that was made on it is open any more, which may be now.
func (s *deviceChain) retire(d *vulkan.Device) {
	d.Retire(func(messages []string, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.collect(messages)
		if err != nil {
			s.failures = append(s.failures, err)
		}
	})
}

// now returns the device as it is, lost or not.
func (s *deviceChain) now() *vulkan.Device {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// maxMessages bounds how many of the validation layer are kept for validationMessages: the last ones.
const maxMessages = 1000

// collect keeps and logs what the validation layer has said. Precondition: mu is held.
func (s *deviceChain) collect(list []string) {
	for _, m := range list {
		s.warn("the validation layer found a mistake", "error", m)
	}
	s.messages = append(s.messages, list...)
	s.messages = slices.Delete(s.messages, 0, max(len(s.messages)-maxMessages, 0))
}

// validationMessages takes those of the device and of the ones before it that are closed.
func (s *deviceChain) validationMessages() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open() == nil {
		s.collect(s.current.ValidationMessages())
	}
	list := s.messages
	s.messages = nil
	return list
}

// close lets nothing begin any more. The device goes with the last executable that was made on it, and with calls that
// are going on: now, if there are none, and then the errors are those of closing it, and of those before it. Idempotent.
func (s *deviceChain) close() error {
	s.mu.Lock()
	again := s.closed.Swap(true)
	s.mu.Unlock()
	if again {
		return nil
	}
	s.retiring.Wait()
	s.retire(s.now())
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.failures...)
}
