package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/driver/nn"
)

// closable returns a pool of each sort, of 4096 bytes or 3×2 texels.
func closable(t *testing.T) map[string]Pool {
	t.Helper()
	open := func(h Handle) Pool {
		p, err := Open(h)
		require.NoError(t, err)
		return p
	}
	image := Handle{Kind: HardwareBuffer, Buffer: Descriptor{Width: 3, Height: 2, Layers: 1, Stride: 3, Format: FormatRGBA8}}
	onFile, onMemfd := image, image
	onFile.Files, onMemfd.Files = files(plain(t, 4096)), files(memfd(t, 4096, 0))
	opaque := opaqueBlob(4096, 4096)
	opaque.Files = files(memfd(t, 4096, unix.F_SEAL_SHRINK))
	dmabuf, _, _ := fakeDMABuf(t, 4096)
	return map[string]Pool{
		"mapped":        open(Handle{Kind: Ashmem, Size: 4096, Files: files(memfd(t, 4096, 0))}),
		"file":          open(Handle{Kind: MmapFD, Size: 4096, Prot: ProtRead | ProtWrite, Files: files(plain(t, 4096))}),
		"opaque":        open(opaque),
		"dma-buf":       dmabuf,
		"image":         open(onMemfd),
		"image in file": open(onFile),
	}
}

// afterClose calls everything of p that can fail. Bytes of what was never mapped are left out.
func afterClose(p Pool) map[string]error {
	errs := map[string]error{}
	_, errs["Handle"] = p.Handle()
	if _, ok := p.(*Image); !ok {
		_, errs["Bytes"] = p.Bytes()
	}
	if s, ok := p.(nn.Shared); ok {
		_, errs["Acquire"] = s.Acquire()
	}
	if f, ok := p.(nn.File); ok {
		_, errs["ReadAt"] = f.ReadAt(make([]byte, 8), 8)
		_, errs["WriteAt"] = f.WriteAt(make([]byte, 8), 8)
	}
	if e, ok := p.(External); ok {
		_, errs["Hold"] = e.Hold()
		_, errs["DupFD"] = e.DupFD()
	}
	if i, ok := p.(*Image); ok {
		errs["ReadTexels"] = i.ReadTexels(make([]byte, 24))
		errs["WriteTexels"] = i.WriteTexels(make([]byte, 24))
		for what, err := range afterClose(i.Backing()) {
			errs["Backing "+what] = err
		}
	}
	return errs
}

// TestClosedPools: closing twice is nothing, and whatever is begun afterwards says closed.
func TestClosedPools(t *testing.T) {
	for name, p := range closable(t) {
		t.Run(name, func(t *testing.T) {
			size := p.Size()
			require.NoError(t, p.Close())
			require.NoError(t, p.Close())
			require.Equal(t, size, p.Size())
			for what, err := range afterClose(p) {
				require.ErrorIs(t, err, nn.ErrClosed, what)
				require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), what)
			}
		})
	}
}

// TestClosedInUse: who has acquired a pool goes on with it, and nobody else begins.
func TestClosedInUse(t *testing.T) {
	for name, p := range closable(t) {
		s, ok := p.(nn.Shared)
		if !ok {
			require.NoError(t, p.Close())
			continue
		}
		t.Run(name, func(t *testing.T) {
			release, err := s.Acquire()
			require.NoError(t, err)
			require.NoError(t, p.Close())
			_, err = s.Acquire()
			require.ErrorIs(t, err, nn.ErrClosed)
			_, err = p.Handle()
			require.ErrorIs(t, err, nn.ErrClosed)
			if f, ok := p.(nn.File); ok {
				_, err = f.WriteAt([]byte("abcdef"), 8)
				require.NoError(t, err)
				got := make([]byte, 6)
				_, err = f.ReadAt(got, 8)
				require.NoError(t, err)
				require.Equal(t, "abcdef", string(got))
			} else {
				b, err := p.Bytes()
				require.NoError(t, err)
				b[4095] = 1
			}
			release()
			for what, err := range afterClose(p) {
				require.ErrorIs(t, err, nn.ErrClosed, what)
			}
		})
	}
}
