package memory

import (
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"golang.org/x/sys/unix"
)

// FuzzHandleUnmarshal: what decodes encodes to the same bytes, and opens or fails with a status.
func FuzzHandleUnmarshal(f *testing.F) {
	seeds := []Handle{everyField(f), opaqueBlob(100, 4096), {Kind: Ashmem, Size: 10000}, {Kind: "ion", Size: 1},
		{Kind: MmapFD, Size: 10, Offset: 4095, Prot: ProtRead},
		{Kind: HardwareBuffer, Buffer: Descriptor{Width: 5, Height: 3, Layers: 2, Format: FormatRGB8, Stride: 8}}}
	for _, h := range seeds {
		h.Files = make([]*os.File, 1)
		b, err := h.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	backings := files(memfd(f, 10000, 0), plain(f, 10000))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h Handle
		if err := h.UnmarshalBinary(b); err != nil {
			if nn.StatusOf(err) != nn.StatusGeneralFailure {
				t.Fatal(err)
			}
			return
		}
		again, err := h.MarshalBinary()
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%+v: %x instead of %x, %v", h, again, b, err)
		}
		for _, file := range backings {
			for i := range h.Files {
				h.Files[i] = file
			}
			use(t, h)
		}
	})
}

// FuzzOpen opens files of any size with handles of any values and uses what it gets to its last byte.
func FuzzOpen(f *testing.F) {
	f.Add(uint8(0), int64(10), int64(0), uint32(0), uint16(10), uint8(0), uint32(0), uint32(0), uint32(0), uint32(0), uint32(0))
	f.Add(uint8(1), int64(10), int64(4095), uint32(3), uint16(9000), uint8(1), uint32(0), uint32(0), uint32(0), uint32(0), uint32(0))
	f.Add(uint8(2), int64(10), int64(0), uint32(0), uint16(9000), uint8(2), uint32(10), uint32(1), uint32(1), uint32(0), uint32(FormatBlob))
	f.Add(uint8(3), int64(0), int64(0), uint32(0), uint16(9000), uint8(0), uint32(5), uint32(3), uint32(2), uint32(7), uint32(FormatRGB8))
	f.Fuzz(func(t *testing.T, kind uint8, size, offset int64, prot uint32, fileSize uint16, sort uint8, w, h, l, stride, format uint32) {
		kinds := []Kind{Ashmem, MmapFD, HardwareBufferBlob, HardwareBuffer}
		handle := Handle{Kind: kinds[kind%4], Size: size, Offset: offset, Prot: Prot(prot),
			Buffer: Descriptor{Width: w, Height: h, Layers: l, Stride: stride, Format: Format(format)}}
		seals := []int{0, unix.F_SEAL_SEAL, unix.F_SEAL_SHRINK, unix.F_SEAL_WRITE, unix.F_SEAL_FUTURE_WRITE}
		file := memfd(t, int64(fileSize), seals[int(sort)%len(seals)])
		defer file.Close()
		handle.Files = files(file)
		use(t, handle)
	})
}

// use opens h and touches the ends of what it is.
func use(t *testing.T, h Handle) {
	p, err := Open(h)
	if err != nil {
		if s := nn.StatusOf(err); s != nn.StatusInvalidArgument && s != nn.StatusGeneralFailure {
			t.Fatal(err)
		}
		return
	}
	defer p.Close()
	if p.Size() != h.Size {
		t.Fatalf("%d bytes of %d", p.Size(), h.Size)
	}
	switch p := p.(type) {
	case *Mapped:
		b, err := p.Bytes()
		if err != nil || int64(len(b)) != h.Size {
			t.Fatal(len(b), err)
		}
		sum := b[0] + b[len(b)-1]
		if !p.ReadOnly() {
			b[0], b[len(b)-1] = sum, sum
		}
	case *File:
		_, err := p.ReadAt(make([]byte, 1), p.Size()-1)
		if h.Prot != ProtWrite && err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if _, err := p.WriteAt(make([]byte, 1), p.Size()-1); (err != nil) != p.ReadOnly() {
			t.Fatal(err)
		}
	case *Image:
		dense := make([]byte, p.DenseBytes())
		if _, opaque := p.Backing().(*Opaque); opaque {
			return
		}
		if err := p.ReadTexels(dense); err != nil {
			t.Fatal(err)
		}
		if err := p.WriteTexels(dense); err != nil && nn.StatusOf(err) != nn.StatusInvalidArgument {
			t.Fatal(err)
		}
	case *Opaque:
	default:
		t.Fatalf("%T", p)
	}
}
