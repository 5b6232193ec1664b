// Package cache keeps compiled models on disk and believes nothing that it reads back until a keyed hash
// says that it wrote it.
//
// An entry is two byte strings. The model part may steer whoever uses it (a plan, machine code): every byte of it is
// verified before it is handed out. The data part is bulk constants, verified chunk by chunk while it is read.
//
// Two forms share one secret key, which lives in the state directory and never beside the files:
//
//   - HashMap is the form of the NN HAL: the caller brings a token and open files, the package writes
//     and reads those files and keeps token -> keyed hash itself.
//   - Store is a cache of its own in a directory: key -> entry, bounded in bytes, the least recently used
//     goes first.
//
// Every file counts as hostile. What is read is read once into private memory, that copy is checked and
// that copy is used, so a writer beside the reader can make a load fail but cannot change what was
// checked. Lengths are checked before anything is allocated. Nothing is mapped, since a mapped file can
// change or shrink under its reader. What is hashed is what was meant to be written, never what is on disk.
//
// Several processes may share the directories. A process may be killed at any point: the next one finds an
// entry whole or not at all. A missing home, a read-only directory or a full disk costs the caller the
// cache and one call of Warn, nothing else.
//
// The package deals in bytes; it knows no GPU and no model, and of the driver nothing but statuses. README.md beside this file gives the formats.
//
// Lock order: a HAL model file, then that beside the file of hashes; a store's lock file alone.
package cache

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	_ "github.com/nngpu/nngpu/internal/needlinux" // one line where this cannot be built
)

// TokenSize is the length of a token in bytes. From NN HAL 1.2, Constant::BYTE_SIZE_OF_CACHE_TOKEN.
const TokenSize = 32

// MaxFiles is the largest number of model-cache files, and of data-cache files, of one entry. From NN HAL
// 1.2, Constant::MAX_NUMBER_OF_CACHE_FILES.
const MaxFiles = 32

// Token names an entry of the HAL's form. The client chooses it; it must change whenever the model or the
// way of compiling it does.
type Token [TokenSize]byte

// Key names an entry of a Store. It must cover everything that the content depends on apart from Identity:
// the model, and how it was compiled.
type Key [32]byte

// KeyOf is the SHA-256 of parts, each with its length before it, so that parts cannot run into each other.
func KeyOf(parts ...[]byte) Key {
	h := sha256.New()
	for _, p := range parts {
		writePart(h, p)
	}
	return Key(h.Sum(nil))
}

// Identity says what entries were made for and by. Entries of another identity are never found; they stay until they are
// the least recently used, because another program may share the directories.
type Identity struct {
	// Device names what stays when software is updated: the physical device and which of its drivers.
	Device string
	// Build names what made the entries and what must be the same to use them: version of the program,
	// set of kernels, UUID of the device's driver.
	Build string
}

// maxIdentityBytes bounds each string of an Identity; they are written into every entry.
const maxIdentityBytes = 1024

func (id Identity) check() error {
	if len(id.Device) > maxIdentityBytes || len(id.Build) > maxIdentityBytes {
		return fmt.Errorf("identity longer than %d bytes: %w", maxIdentityBytes, ErrInvalid)
	}
	return nil
}

var (
	// ErrMiss: there is no such entry (never saved, dropped, saved by another build). Prepare in full.
	ErrMiss = errors.New("not in the cache")
	// ErrRejected: there is something, but it is not what was saved: damaged, cut off, swapped, or made
	// with another key. Prepare in full.
	ErrRejected = errors.New("cache content rejected")
	// ErrInvalid: the caller's arguments are wrong: another number of files, no file where there must be one, the same
	// one twice, too large. It is INVALID_ARGUMENT to nn.StatusOf, all others are GENERAL_FAILURE.
	ErrInvalid error = invalidArgument{}
	// ErrUnusable: a file of the caller's cannot be used: it is closed, no regular file, or not open in the way that is
	// needed.
	ErrUnusable = errors.New("cache file that cannot be used")
	// ErrUnavailable: the cache cannot be written to now (no directory, no permission, no space, a lock
	// held too long). Nothing was saved; the caller goes on without.
	ErrUnavailable = errors.New("cache unavailable")
)

// invalidArgument is the type of ErrInvalid.
type invalidArgument struct{}

func (invalidArgument) Error() string { return "invalid argument for the cache" }

// Unwrap gives the status.
func (invalidArgument) Unwrap() error { return errStatus }

var errStatus = nn.Invalid("cache", "invalid argument")

// Entry is the content of a compiled model. The caller closes it once Data has been read.
type Entry struct {
	// Model may steer execution (plan, machine code): it is verified, and a private copy.
	Model []byte
	// Data is bulk constants, read on demand; never nil.
	Data *Data
}

// Close releases the files behind e.Data. Idempotent.
func (e *Entry) Close() error {
	if e == nil || e.Data == nil {
		return nil
	}
	return e.Data.Close()
}

// isKnown reports whether err already says one of the package's sentinels.
func isKnown(err error) bool {
	for _, known := range []error{ErrMiss, ErrRejected, ErrInvalid, ErrUnusable, ErrUnavailable} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
