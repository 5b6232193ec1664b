package nn

import (
	"fmt"
	"math"
	"math/bits"
)

// Image is a pool of texels that a request uses as a whole, as an input; its own Size may be 0 and its Bytes may
// fail. Layout says what lies in Texels.
//
// An image of w×h texels in n layers is a tensor [n, h, w, c] of TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM
// or TENSOR_QUANT8_ASYMM_SIGNED, c being at most the format's channels, of which the first c are taken. What becomes
// of a channel:
//
//   - A tensor of floats has what a Vulkan sampler reads: bytes divided by 255, half floats as they are.
//   - An 8-bit tensor has bytes as they are, less 128 where it is signed, whatever its scale and zero point: a model over
//     0..255 needs no arithmetic.
//   - An 8-bit tensor has half floats quantised, rounded half to even and clamped to what the type holds; NaN counts as 0.
type Image interface {
	Memory
	// Layout describes the texels. It does not change, and may be a client's invention.
	Layout() ImageLayout
	// Texels is the memory of the texels: Shared, Pinned, File or none of them.
	Texels() Memory
}

// ImageLayout says how the texels of an image lie in memory: layer by layer, row by row, without gaps other than at
// the end of rows. It is comparable.
type ImageLayout struct {
	Width, Height, Layers uint32 // in texels
	Stride                uint32 // from row to row, in texels
	TexelBytes            uint32
	// Channels are the first bytes of a texel, or its first half floats (little endian) if Float16. What follows
	// them means nothing.
	Channels uint32
	Float16  bool
}

// Check looks for contradictions: an image that cannot be, or that no kernel reads.
func (l *ImageLayout) Check() error {
	if l.Width == 0 || l.Height == 0 || l.Layers == 0 {
		return fmt.Errorf("an image of %d×%d texels in %d layers", l.Width, l.Height, l.Layers)
	}
	if l.Stride < l.Width {
		return fmt.Errorf("rows of %d texels, %d apart", l.Width, l.Stride)
	}
	switch {
	case l.Channels == 0 || l.Channels > 4:
		return fmt.Errorf("texels of %d channels", l.Channels)
	case l.Float16 && l.TexelBytes != 8, !l.Float16 && (l.TexelBytes < l.Channels || l.TexelBytes > 4):
		return fmt.Errorf("%d channels in texels of %d bytes", l.Channels, l.TexelBytes)
	}
	hi, n := bits.Mul64(uint64(l.Stride)*uint64(l.Height), uint64(l.Layers)*uint64(l.TexelBytes))
	if hi != 0 || n > math.MaxInt64 {
		return fmt.Errorf("an image of more than 2^63 bytes")
	}
	return nil
}

// Bytes is the size of the image, padding of the last row included. Precondition: Check is nil.
func (l *ImageLayout) Bytes() int64 {
	return int64(l.Stride) * int64(l.Height) * int64(l.Layers) * int64(l.TexelBytes)
}

// CheckTensor reports why the image cannot be a tensor of the given type and dimensions. Precondition: Check is nil.
func (l *ImageLayout) CheckTensor(t OperandType, dims Dims) error {
	switch t {
	case TensorFloat32, TensorFloat16, TensorQuant8Asymm, TensorQuant8AsymmSigned:
	default:
		return fmt.Errorf("an image cannot be %v", t)
	}
	if len(dims) != 4 {
		return fmt.Errorf("an image for a tensor of rank %d; it must be 4", len(dims))
	}
	if dims[0] != l.Layers || dims[1] != l.Height || dims[2] != l.Width {
		return fmt.Errorf("an image of %d layers of height %d and width %d for a tensor %v", l.Layers, l.Height, l.Width, []uint32(dims))
	}
	if dims[3] == 0 || dims[3] > l.Channels {
		return fmt.Errorf("an image of %d channels for a tensor of %d", l.Channels, dims[3])
	}
	return nil
}
