package memory

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Format is that of a hardware buffer; values are Android's AHardwareBuffer_Format.
type Format uint32

// Formats that pools can have, from hardware_buffer.h of the Android NDK. It has no single-channel float.
const (
	FormatRGBA8   Format = 1    // AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM
	FormatRGBX8   Format = 2    // AHARDWAREBUFFER_FORMAT_R8G8B8X8_UNORM
	FormatRGB8    Format = 3    // AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM
	FormatRGBA16F Format = 0x16 // AHARDWAREBUFFER_FORMAT_R16G16B16A16_FLOAT
	FormatBlob    Format = 0x21 // AHARDWAREBUFFER_FORMAT_BLOB
	FormatR8      Format = 0x38 // AHARDWAREBUFFER_FORMAT_R8_UNORM
)

// Texel is what one element of an image holds: Channels values, in the order of the format's name, in Bytes bytes.
// A format with X has a channel's room after them that means nothing.
type Texel struct {
	Name     string
	Bytes    int
	Channels int
	Float16  bool // IEEE half precision, little endian; else 8-bit unsigned, 255 standing for 1
}

var texels = map[Format]Texel{
	FormatRGBA8:   {"R8G8B8A8_UNORM", 4, 4, false},
	FormatRGBX8:   {"R8G8B8X8_UNORM", 4, 3, false},
	FormatRGB8:    {"R8G8B8_UNORM", 3, 3, false},
	FormatRGBA16F: {"R16G16B16A16_FLOAT", 8, 4, true},
	FormatR8:      {"R8_UNORM", 1, 1, false},
}

// Texel returns what an image of the format holds; false for BLOB and formats that pools cannot have.
func (f Format) Texel() (Texel, bool) {
	t, ok := texels[f]
	return t, ok
}

func (f Format) String() string {
	if t, ok := texels[f]; ok {
		return t.Name
	}
	if f == FormatBlob {
		return "BLOB"
	}
	return fmt.Sprintf("Format(%#x)", uint32(f))
}

//go:generate go tool stringer -linecomment -output=names_gen.go -type=Source

// Source says what the descriptor of a hardware buffer is.
type Source uint8

// Sources: a memfd or another file of the host; a dma-buf, laid out without a modifier;
// VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT.
const (
	SourceFile   Source = 0 // file
	SourceDMABuf Source = 1 // dma-buf
	SourceOpaque Source = 2 // opaque fd
)

// Descriptor describes a hardware buffer, as AHardwareBuffer_Desc does, and where its memory comes from.
type Descriptor struct {
	// Width, Height, in pixels, and Layers. A BLOB is Width bytes, with height and layers 1.
	Width, Height, Layers uint32
	Format                Format
	// Usage is AHardwareBuffer_UsageFlags; it travels and is not looked at.
	Usage uint64
	// Stride is the distance of two rows in pixels; of a BLOB it is 0 or the width. Layers follow each other
	// without a gap.
	Stride uint32

	Source Source
	// Allocation is the size in bytes of the device memory behind an opaque fd, as it was allocated; 0 for others.
	Allocation int64
	// MemoryType is the index, and DeviceUUID and DriverUUID (VkPhysicalDeviceIDProperties) are the device and its
	// driver, of an opaque fd's memory; the zero value for others. Both must be the importer's own.
	MemoryType uint32
	DeviceUUID [16]byte
	DriverUUID [16]byte
}

// Check looks for contradictions in d: whether it can be, not what lies behind the descriptor.
func (d *Descriptor) Check() error {
	need, err := d.Bytes()
	if err != nil {
		return err
	}
	switch d.Source {
	case SourceFile, SourceDMABuf:
		if d.Allocation != 0 || d.MemoryType != 0 || d.DeviceUUID != [16]byte{} || d.DriverUUID != [16]byte{} {
			return fmt.Errorf("a %v with the allocation of an opaque fd", d.Source)
		}
	case SourceOpaque:
		if d.Allocation < need {
			return fmt.Errorf("allocation of %d bytes for %d", d.Allocation, need)
		}
		if d.MemoryType >= 32 { // VK_MAX_MEMORY_TYPES
			return fmt.Errorf("memory type %d", d.MemoryType)
		}
	default:
		return fmt.Errorf("source %v", d.Source)
	}
	return nil
}

// Bytes is what the buffer takes: rows of Stride pixels, padding of the last one included.
func (d *Descriptor) Bytes() (int64, error) {
	if d.Width == 0 || d.Height == 0 || d.Layers == 0 {
		return 0, fmt.Errorf("%d×%d×%d is empty", d.Width, d.Height, d.Layers)
	}
	if d.Format == FormatBlob {
		if d.Height != 1 || d.Layers != 1 || d.Stride != 0 && d.Stride != d.Width {
			return 0, fmt.Errorf("BLOB of %d×%d×%d, stride %d", d.Width, d.Height, d.Layers, d.Stride)
		}
		return int64(d.Width), nil
	}
	t, ok := d.Format.Texel()
	if !ok {
		return 0, fmt.Errorf("format %v is not supported", d.Format)
	}
	if d.Stride < d.Width {
		return 0, fmt.Errorf("stride %d below width %d", d.Stride, d.Width)
	}
	pixels := uint64(d.Stride) * uint64(d.Height) // below 2^64
	hi, n := bits.Mul64(pixels, uint64(d.Layers)*uint64(t.Bytes))
	if hi != 0 || n > math.MaxInt64 {
		return 0, errors.New("more than 2^63 bytes")
	}
	return int64(n), nil
}

// Row is where row y of a layer begins, in bytes from the buffer's first, and how long it is without padding.
//
// Preconditions: Check passed, layer < Layers, y < Height.
func (d *Descriptor) Row(layer, y uint32) (offset int64, length int) {
	if layer >= d.Layers || y >= d.Height {
		panic(fmt.Sprintf("memory: row %d of layer %d of a %d×%d×%d buffer", y, layer, d.Width, d.Height, d.Layers))
	}
	t := texels[d.Format].Bytes
	if d.Format == FormatBlob {
		t = 1
	}
	row := int64(layer)*int64(d.Height) + int64(y)
	return row * int64(d.Stride) * int64(t), int(d.Width) * t
}
