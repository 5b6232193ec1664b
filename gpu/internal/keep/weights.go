//go:build linux

package keep

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

// Weights gives back the packed constants of an executable whose device is lost. If the host sees the device's own copy,
// that is used, and only a checksum is kept, to find out whether it is still intact. Otherwise a copy is kept in a
// sealed memfd.
//
// Not safe for concurrent use.
type Weights struct {
	size int64
	sum  uint64   // of what the device has; valid where file is nil
	file *os.File // nil where the device's copy will do
}

// sumSeed: sums are compared only within a process.
var sumSeed = maphash.MakeSeed()

// Take prepares to keep the first size bytes of data, and returns where the executable is to read them from. mapped
// says that the host will see the device's copy.
func (k *Weights) Take(data backend.Data, size int64, mapped bool) (backend.Data, error) {
	k.size = size
	if mapped || size == 0 || data.Size() < size { // its user reports that it is too short
		return data, nil
	}
	if err := k.copy(io.NewSectionReader(data, 0, size)); err != nil {
		return nil, err
	}
	return sized{k.file, size}, nil
}

// Made is called when v has the constants.
func (k *Weights) Made(v *vulkan.Executable) error {
	if k.size == 0 || k.file != nil {
		return nil
	}
	if b := v.MappedWeights(); b != nil {
		k.sum = maphash.Bytes(sumSeed, b)
		return nil
	}
	b, err := v.Weights() // the device gave them another place than expected
	if err != nil {
		return err
	}
	return k.copy(bytes.NewReader(b))
}

// copyBytes is the number of bytes read at a time: a cache verifies whole chunks, several at once.
const copyBytes = 4 << 20

// copy fills the memfd.
func (k *Weights) copy(r io.Reader) (err error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	fd, err := unix.MemfdCreate("nngpu-weights", flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3, which has no MFD_NOEXEC_SEAL
		fd, err = unix.MemfdCreate("nngpu-weights", flags)
	}
	if err != nil {
		return nn.Errorf(nn.StatusResourceExhaustedTransient, "weights", "memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "memfd:nngpu-weights")
	if _, err = io.CopyBuffer(struct{ io.Writer }{f}, r, make([]byte, min(k.size, copyBytes))); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("copy of the weights: %w", err), f.Close())
	}
	k.file = f
	return nil
}

// From returns the constants, v being the executable that lost its device.
func (k *Weights) From(v *vulkan.Executable) backend.Data {
	if k.file != nil {
		return sized{k.file, k.size}
	}
	return bytes.NewReader(v.MappedWeights())
}

// Same reports whether v, which was made from what k.From returned, has the right constants.
func (k *Weights) Same(v *vulkan.Executable) bool {
	return k.size == 0 || k.file != nil || maphash.Bytes(sumSeed, v.MappedWeights()) == k.sum
}

// Bytes is the memory that keeping the constants takes.
func (k *Weights) Bytes() int64 {
	if k.file == nil {
		return 0
	}
	return k.size
}

// Close lets go of the copy, where there is one.
func (k *Weights) Close() {
	if k.file != nil {
		_ = k.file.Close()
	}
}

// sized is a file as backend.Data.
type sized struct {
	*os.File
	size int64
}

func (s sized) Size() int64 { return s.size }
