package vulkan

import (
	"errors"
	"fmt"
	"os"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// External says which memory from outside a device uses where it is; the rest is copied.
type External struct {
	HostImport bool  // memory of the host: memfds, mapped files, dma-bufs that can be mapped
	HostAlign  int64 // of the address, bytes
	OpaqueFD   bool  // memory of the same driver on the same device, by fd
	DmaBuf     bool  // dma-bufs by fd
	Export     bool  // the device's memory can leave as an opaque fd
	SyncFD     bool  // the end of submitted work can leave as a sync_file
	PlainFiles bool  // opaque fds are files of the host, which vk.Handle.Trusted is about
}

// external is what Vulkan reports of a device.
func external(p *vk.Properties) External {
	return External{
		HostImport: p.HostImport, HostAlign: p.HostAlign,
		OpaqueFD: p.OpaqueFD.Import, DmaBuf: p.DmaBuf.Import, Export: p.OpaqueFD.Export, SyncFD: p.SyncFD,
		PlainFiles: p.Type == vk.TypeCPU,
	}
}

// importHost makes a block of b where it is, an input only if readOnly. It takes nothing of the account.
//
// b is the beginning of a mapping, or at least of one of its pages, and no Go memory: to its last page belongs
// what follows b there, because a device imports whole pages. It stays mapped until the block is freed, and
// nobody can shrink the file behind it, which no Vulkan implementation survives. Pages of a mapping without
// PROT_WRITE are an input only. The block's host bytes are all of these pages. Of an abandoned device nothing is ever
// freed, and its work may still touch them: they must then stay mapped for good.
//
// Errors: backend.ErrNotImported where the device cannot, in particular for an address that External.HostAlign
// does not divide; then the bytes are to be copied.
func (d *Device) importHost(b []byte, readOnly bool) (*block, error) {
	if err := d.failure("import", nil); err != nil {
		return nil, err
	}
	pages, err := wholePages(b, d.props.HostAlign)
	if err != nil {
		return nil, err
	}
	usage := uint32(blockUsage)
	if readOnly {
		usage = vk.UsageTransferSrc | vk.UsageUniformTexel | vk.UsageStorage
	}
	x := &block{dev: d, bytes: int64(len(pages)), host: pages, cached: true}
	x.buffer, x.memory, err = d.dev.ImportHost(pages, usage)
	if err != nil {
		return nil, d.notImported("import", err)
	}
	return x, nil
}

// wholePages lengthens b to a multiple of align, as far as its last page goes.
func wholePages(b []byte, align int64) ([]byte, error) {
	if len(b) == 0 || align <= 0 {
		return nil, fmt.Errorf("%d bytes: %w", len(b), backend.ErrNotImported)
	}
	size := roundUp(int64(len(b)), align)
	if size > roundUp(int64(len(b)), int64(os.Getpagesize())) {
		return nil, fmt.Errorf("%d bytes, where pages are of %d: %w", len(b), align, backend.ErrNotImported)
	}
	return lengthen(b, size), nil
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// notImported is the error of an import that failed: the device may be lost, else what it refuses is copied.
func (d *Device) notImported(where string, err error) error {
	err = d.failure(where, err)
	if nn.StatusOf(err) == nn.StatusDeviceUnavailable || errors.Is(err, backend.ErrNotImported) {
		return err
	}
	return fmt.Errorf("%w: %w", backend.ErrNotImported, err)
}
