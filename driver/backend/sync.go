package backend

import (
	"errors"
	"os"
)

// SyncExporter is an Execution whose end on the device can leave as a sync_file.
type SyncExporter interface {
	// SyncFile returns a sync_file that is signalled when the device has done the last segment, and that the caller
	// closes; nil where it has done so already. Precondition: every segment was submitted, and Release was not called.
	//
	// Errors: ErrNoSyncFile where the device makes none, or where the host has to bring outputs to their place
	// afterwards.
	SyncFile() (*os.File, error)
}

// ErrNoSyncFile: the end of this execution cannot be a sync_file.
var ErrNoSyncFile = errors.New("no sync_file")
