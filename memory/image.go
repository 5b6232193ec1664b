package memory

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// Image is a hardware buffer of texels. A request uses it as a whole: its size as a pool is 0, as in the HAL's memory
// record, and Bytes fails, so that code which does not know images refuses them. It is nn.Image and none of nn's other
// optional interfaces; what holds the texels is Backing.
type Image struct {
	backing Pool
	d       Descriptor
}

// Backing is the memory of the image: *Mapped, *File, *DMABuf or *Opaque, of Descriptor.Bytes bytes. The image owns
// it.
func (i *Image) Backing() Pool { return i.backing }

// Descriptor describes the texels; it passed Check and fits into Backing.
func (i *Image) Descriptor() Descriptor { return i.d }

// Kind implements Pool.
func (i *Image) Kind() Kind { return HardwareBuffer }

// Size implements nn.Memory: 0.
func (i *Image) Size() int64 { return 0 }

// Bytes implements nn.Memory: it fails.
func (i *Image) Bytes() ([]byte, error) {
	return nil, nn.Errorf(nn.StatusGeneralFailure, HardwareBuffer.where(), "an image has no bytes, but texels")
}

// Handle implements Pool.
func (i *Image) Handle() (Handle, error) { return i.backing.Handle() }

// Close implements Pool: it closes Backing.
func (i *Image) Close() error { return i.backing.Close() }

// DenseBytes is the size of the texels without padding, layer by layer, row by row.
func (i *Image) DenseBytes() int64 {
	n, err := (&Descriptor{Width: i.d.Width, Height: i.d.Height, Layers: i.d.Layers, Format: i.d.Format, Stride: i.d.Width}).Bytes()
	if err != nil {
		panic(fmt.Sprintf("memory: an image that was checked: %v", err))
	}
	return n
}

// Layout implements nn.Image.
func (i *Image) Layout() nn.ImageLayout {
	t := texels[i.d.Format]
	return nn.ImageLayout{
		Width: i.d.Width, Height: i.d.Height, Layers: i.d.Layers, Stride: i.d.Stride,
		TexelBytes: uint32(t.Bytes), Channels: uint32(t.Channels), Float16: t.Float16,
	}
}

// Texels implements nn.Image: Backing.
func (i *Image) Texels() nn.Memory { return i.backing }

// ReadTexels copies all texels, without padding, into dense, which has DenseBytes bytes. Only the host's memory can be
// read so: an *Opaque fails.
func (i *Image) ReadTexels(dense []byte) error {
	return i.rows(dense, func(mapped, row []byte) { copy(row, mapped) }, nn.File.ReadAt)
}

// WriteTexels is the reverse of ReadTexels: it sets all texels and leaves the padding alone.
func (i *Image) WriteTexels(dense []byte) error {
	if r, ok := i.backing.(interface{ ReadOnly() bool }); ok && r.ReadOnly() {
		return nn.Invalid(HardwareBuffer.where(), "may not be written")
	}
	return i.rows(dense, func(mapped, row []byte) { copy(mapped, row) }, nn.File.WriteAt)
}

// rows calls one of two functions for each row of dense: with the pool's bytes from the row's first on, or with a
// file and the row's place in it.
func (i *Image) rows(dense []byte, inMemory func(mapped, row []byte), inFile func(f nn.File, row []byte, at int64) (int, error)) error {
	if int64(len(dense)) != i.DenseBytes() {
		return nn.Invalid(HardwareBuffer.where(), "%d bytes for the %d of all texels", len(dense), i.DenseBytes())
	}
	if s, ok := i.backing.(nn.Shared); ok {
		release, err := s.Acquire()
		if err != nil {
			return err
		}
		defer release()
	}
	file, isFile := i.backing.(nn.File)
	var mapped []byte
	if !isFile {
		var err error
		if mapped, err = i.backing.Bytes(); err != nil {
			return err
		}
	}
	for layer := range i.d.Layers {
		for y := range i.d.Height {
			at, n := i.d.Row(layer, y)
			if !isFile {
				inMemory(mapped[at:at+int64(n)], dense[:n])
			} else if _, err := inFile(file, dense[:n], at); err != nil {
				return err
			}
			dense = dense[n:]
		}
	}
	return nil
}

var (
	_ Pool     = (*Image)(nil)
	_ nn.Image = (*Image)(nil)
)
