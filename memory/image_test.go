package memory

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestM27Images: images of every format, over memory that is mapped and over files, keep their padding and have no
// bytes as pools, so that they can be used as a whole only.
func TestM27Images(t *testing.T) {
	for _, format := range []Format{FormatRGBA8, FormatRGBX8, FormatRGB8, FormatRGBA16F, FormatR8} {
		texel, ok := format.Texel()
		require.True(t, ok)
		d := Descriptor{Width: 5, Height: 3, Layers: 2, Format: format, Stride: 7}
		size := int64(2 * 3 * 7 * texel.Bytes)
		for name, f := range map[string]*os.File{"memfd": memfd(t, size, 0), "file": plain(t, size), "unsealable": memfd(t, size, unix.F_SEAL_SEAL)} {
			t.Run(fmt.Sprintf("%v %s", format, name), func(t *testing.T) {
				raw := make([]byte, size)
				for i := range raw {
					raw[i] = byte(i*7 + 1)
				}
				_, err := f.WriteAt(raw, 0)
				require.NoError(t, err)
				p, err := Open(Handle{Kind: HardwareBuffer, Buffer: d, Files: files(f)})
				require.NoError(t, err)
				defer p.Close()
				i := p.(*Image)
				require.Equal(t, d, i.Descriptor())
				require.EqualValues(t, size, i.Backing().Size())
				require.Zero(t, i.Size())
				b, err := i.Bytes()
				require.Empty(t, b)
				require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
				_, shared := p.(nn.Shared)
				_, file := p.(nn.File)
				require.False(t, shared || file)

				var want []byte
				row := 5 * texel.Bytes
				for y := range 6 {
					at, n := d.Row(uint32(y/3), uint32(y%3))
					require.Equal(t, int64(y*7*texel.Bytes), at)
					require.Equal(t, row, n)
					want = append(want, raw[at:at+int64(n)]...)
				}
				dense := make([]byte, i.DenseBytes())
				require.NoError(t, i.ReadTexels(dense))
				require.Equal(t, want, dense)

				for j := range dense {
					dense[j] ^= 0xff
				}
				require.NoError(t, i.WriteTexels(dense))
				got := make([]byte, size)
				_, err = f.ReadAt(got, 0)
				require.NoError(t, err)
				for j := range raw {
					if j%(7*texel.Bytes) < row {
						raw[j] ^= 0xff
					}
				}
				require.Equal(t, raw, got)

				require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(i.ReadTexels(dense[1:])))
				require.NoError(t, i.Close())
				require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(i.ReadTexels(dense)))
			})
		}
	}
	_, ok := FormatBlob.Texel()
	require.False(t, ok)
}

// TestImageBackings: images that cannot be read or written by the host say so.
func TestImageBackings(t *testing.T) {
	d := Descriptor{Width: 5, Height: 3, Layers: 1, Format: FormatR8, Stride: 5}
	h := Handle{Kind: HardwareBuffer, Buffer: d, Files: files(memfd(t, 4096, unix.F_SEAL_WRITE))}
	p, err := Open(h)
	require.NoError(t, err)
	dense := make([]byte, 15)
	require.NoError(t, p.(*Image).ReadTexels(dense))
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(p.(*Image).WriteTexels(dense)))
	require.NoError(t, p.Close())

	f := plain(t, 4096)
	h.Files = files(f)
	p, err = Open(h)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(14))
	require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(p.(*Image).ReadTexels(dense)))
	require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(p.(*Image).WriteTexels(dense)))
	require.NoError(t, p.Close())

	h.Buffer.Source, h.Buffer.Allocation, h.Files = SourceOpaque, 4096, files(memfd(t, 4096, 0))
	p, err = Open(h)
	require.NoError(t, err)
	require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(p.(*Image).ReadTexels(dense)))
	require.Implements(t, (*External)(nil), p.(*Image).Backing())
	require.NoError(t, p.Close())
}

// TestNewHardwareBuffer makes one of each kind and passes it on.
func TestNewHardwareBuffer(t *testing.T) {
	p, err := NewHardwareBuffer("blob", blob(4097))
	require.NoError(t, err)
	require.Equal(t, HardwareBufferBlob, p.Kind())
	require.IsType(t, &Mapped{}, p)
	require.EqualValues(t, 4097, p.Size())
	require.NoError(t, p.Close())

	p, err = NewHardwareBuffer("image", Descriptor{Width: 5, Height: 3, Layers: 1, Format: FormatRGB8, Stride: 8})
	require.NoError(t, err)
	require.NoError(t, p.(*Image).WriteTexels([]byte("the forty-five bytes that this picture needs.")))
	h, err := p.Handle()
	require.NoError(t, err)
	require.NoError(t, p.Close())
	q, err := Open(h)
	require.NoError(t, err)
	require.NoError(t, h.Close())
	dense := make([]byte, 45)
	require.NoError(t, q.(*Image).ReadTexels(dense))
	require.Equal(t, "the forty-five bytes that this picture needs.", string(dense))
	require.NoError(t, q.Close())

	for _, d := range []Descriptor{
		{},
		blob(0),
		{Width: 1, Height: 1, Layers: 1, Format: FormatR8, Stride: 1, Source: SourceDMABuf},
		{Width: 1, Height: 1, Layers: 1, Format: FormatR8, Stride: 1, Allocation: 1},
		{Width: math.MaxUint32, Height: math.MaxUint32, Layers: 2, Format: FormatR8, Stride: math.MaxUint32},
	} {
		_, err := NewHardwareBuffer("bad", d)
		require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%+v: %v", d, err)
	}
}

// TestDescriptorBytes: sizes near the borders of 32, 63 and 64 bits.
func TestDescriptorBytes(t *testing.T) {
	const m = math.MaxUint32
	for _, tc := range []struct {
		w, h, l, stride uint32
		format          Format
		want            int64 // 0: refused
	}{
		{1, 1, 1, 1, FormatRGB8, 3},
		{5, 3, 2, 7, FormatRGBA16F, 336},
		{1 << 16, 1 << 16, 1, 1 << 16, FormatRGBA8, 1 << 34},
		{1 << 31, 1 << 31, 1, 1 << 31, FormatR8, 1 << 62},
		{1 << 31, 1 << 31, 2, 1 << 31, FormatR8, 0},
		{1 << 31, 1 << 31, 4, 1 << 31, FormatR8, 0},
		{1, m, m, m, FormatRGBA16F, 0},
		{m, m, m, m, FormatR8, 0},
		{2, 1, 1, 1, FormatR8, 0},
		{0, 1, 1, 1, FormatR8, 0},
		{1, 0, 1, 1, FormatR8, 0},
		{1, 1, 0, 1, FormatR8, 0},
		{m, 1, 1, 0, FormatBlob, m},
		{m, 1, 1, m, FormatBlob, m},
		{m, 1, 1, 1, FormatBlob, 0},
		{1, 1, 1, 1, 0x39, 0}, // AHARDWAREBUFFER_FORMAT_R16_UINT
	} {
		d := Descriptor{Width: tc.w, Height: tc.h, Layers: tc.l, Stride: tc.stride, Format: tc.format}
		got, err := d.Bytes()
		require.Equal(t, tc.want, got, "%+v", tc)
		require.Equal(t, tc.want == 0, err != nil, "%+v", tc)
	}
}
