package vk

/*
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"syscall"
)

// Semaphore is a binary VkSemaphore that SyncFD made.
type Semaphore uint64

// syncFD is the kernel's sync_file, from VkExternalSemaphoreHandleTypeFlagBits: how a semaphore's state leaves the device.
const syncFD = 0x10

// From VkExternalSemaphoreFeatureFlagBits.
const semaphoreExport = 1

// exportsSemaphore asks for a type of handles where the device has the extension.
func (p Physical) exportsSemaphore(kind uint32, has bool) bool {
	return has && C.nngpu_physical_semaphore(p.inst.c, C.uint64_t(p.handle), C.uint32_t(kind))&semaphoreExport != 0
}

// SyncFD returns a sync_file that is signalled when all that was submitted to the queue so far is done; -1 stands for
// one that is signalled already. The fd belongs to the caller and is closed on exec. The caller destroys the semaphore
// behind it, by DestroySemaphore, when that work is done, also after an error. Preconditions: those of Submit, and
// Properties.SyncFD, without which the error is ErrNotSupported.
//
// No software implementation makes sync_files. On SwiftShader the same calls were tried with opaque handles.
func (d *Device) SyncFD(queue int) (fd int, s Semaphore, err error) {
	if d.features&FeatureSyncFD == 0 || !d.props.SyncFD {
		return -1, 0, fmt.Errorf("%w: no sync_files", ErrNotSupported)
	}
	return d.exportSemaphore(queue, syncFD)
}

func (d *Device) exportSemaphore(queue int, kind uint32) (int, Semaphore, error) {
	if err := d.fault(CallSubmit, "vkQueueSubmit"); err != nil {
		return -1, 0, err
	}
	v := C.nngpu_semaphore(d.c, C.uint32_t(kind))
	if err := check("vkCreateSemaphore", v.result); err != nil {
		return -1, 0, err
	}
	s := Semaphore(v.value)
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	r := C.nngpu_semaphore_export(d.c, d.queue(queue), v.value, C.uint32_t(kind))
	if err := check("vkGetSemaphoreFdKHR", r.result); err != nil {
		return -1, s, err // the queue may signal it: as with success, the caller waits before he destroys it
	}
	if r.fd >= 0 {
		syscall.CloseOnExec(int(r.fd))
	}
	return int(r.fd), s, nil
}

// DestroySemaphore destroys s; 0 is ignored. Precondition: the work before it is done.
func (d *Device) DestroySemaphore(s Semaphore) {
	if s != 0 {
		C.nngpu_semaphore_destroy(d.c, C.uint64_t(s))
	}
}
