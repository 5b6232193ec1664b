package vulkan

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/cgo/vk"
)

// pagesFrom is how large memory is from which on it is taken in pages of its own, in bytes.
const pagesFrom = 256 << 10

// From VkDriverId: VK_DRIVER_ID_GOOGLE_SWIFTSHADER.
const driverSwiftShader = 10

// touchesMemory names the drivers that write to all memory they allocate, 0.5 to 0.7 ms a megabyte, and can import.
func touchesMemory(p *vk.Properties) bool { return p.DriverID == driverSwiftShader && p.HostAlign > 0 }

// inPages is how many bytes of memory a block of so many takes, and whether they are pages of the host's.
func (d *Device) inPages(bytes int64) (int64, bool) {
	if !touchesMemory(d.props) || bytes < pagesFrom {
		return bytes, false
	}
	return roundUp(bytes, max(d.props.HostAlign, int64(os.Getpagesize()))), true
}

// ownPages gives b new memory of the host, zero and untouched, and a buffer of it; false where the device does not take
// it.
func (b *block) ownPages() bool {
	pages, err := unix.Mmap(-1, 0, int(b.bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return false
	}
	if b.buffer, b.memory, err = b.dev.dev.ImportHost(pages, blockUsage); err != nil {
		_ = unix.Munmap(pages) // a mapping of its own: nothing can be wrong with it
		return false
	}
	b.pages = pages
	return true
}
