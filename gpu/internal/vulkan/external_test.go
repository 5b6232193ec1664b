package vulkan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// eachDevice runs f on both software devices; at the end nothing may be left, nor said by the validation layer.
func eachDevice(t *testing.T, f func(t *testing.T, d *Device)) {
	t.Helper()
	for _, selector := range []string{Lavapipe, SwiftShader} {
		t.Run(selector, func(t *testing.T) {
			d := openOrSkip(t, selector, Options{Validation: true})
			t.Cleanup(func() {
				used, _, _ := d.Memory()
				require.Zero(t, used)
				require.Empty(t, d.ValidationMessages())
				require.NoError(t, d.Close())
			})
			f(t, d)
		})
	}
}

// openOrSkip opens a device that may be absent.
func openOrSkip(t *testing.T, selector string, o Options) *Device {
	t.Helper()
	d, err := Open(selector, o)
	if err != nil {
		if required(selector) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return d
}

// sealedPages maps n bytes of a memfd that cannot shrink, filled with the floats -1, 2, -3, …
func sealedPages(t *testing.T, n, prot int) []byte {
	t.Helper()
	fd, err := unix.MemfdCreate("nngpu-test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	require.NoError(t, err)
	defer unix.Close(fd)
	content := make([]byte, n)
	for i := range n / 4 {
		v := float32(i + 1)
		if i%2 == 0 {
			v = -v
		}
		binary.LittleEndian.PutUint32(content[4*i:], math.Float32bits(v))
	}
	_, err = unix.Pwrite(fd, content, 0)
	require.NoError(t, err)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK)
	require.NoError(t, err)
	b, err := unix.Mmap(fd, 0, n, prot, unix.MAP_SHARED)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(b)) })
	return b
}

// abs dispatches y = abs(x) of n floats, a multiple of 4, from offset at of both.
func (d *Device) abs(t *testing.T, x, y *block, at, n int64) {
	t.Helper()
	key := plan.Pipeline{Kernel: shaders.UnaryAbsF32, Local: plan.Flat(64)}
	pipeline, err := d.pipelines.get(t.Context(), key)
	require.NoError(t, err)
	l, err := d.pipelines.layout(key.Kernel.Info().Bindings)
	require.NoError(t, err)
	pool, err := d.dev.NewDescriptorPool(1, 2, 2, 2)
	require.NoError(t, err)
	defer vk.Destroy(d.dev, pool)
	sets, err := d.dev.NewDescriptorSets(pool, []vk.SetLayout{l.set})
	require.NoError(t, err)
	var w vk.Writes
	for i, b := range []*block{x, y} {
		if l.types[i] == vk.StorageBuffer {
			w.Buffer(sets[0], i, b.buffer, at, 4*n)
			continue
		}
		v, err := d.dev.NewBufferView(b.buffer, vk.FormatR32G32B32A32Sfloat, at, 4*n)
		require.NoError(t, err)
		defer d.dev.DestroyBufferView(v)
		w.View(sets[0], i, v, l.types[i])
	}
	require.NoError(t, d.dev.WriteDescriptors(&w))
	push := make([]uint32, key.Kernel.Info().PushWords)
	push[0] = uint32(n / 4)
	var c vk.Commands
	c.Pipeline(pipeline)
	c.Set(sets[0], l.pipeline)
	c.Push(l.pipeline, push)
	c.Dispatch([3]uint32{uint32(n/4+63) / 64, 1, 1})
	c.Barrier(vk.StageCompute, vk.AccessShaderWrite, vk.StageHost, vk.AccessHostRead)
	require.NoError(t, d.runOnce(&c))
}

func requireAbs(t *testing.T, b []byte) {
	t.Helper()
	for i := range len(b) / 4 {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])); got != float32(i+1) {
			t.Fatalf("element %d is %v", i, got)
		}
	}
}

// TestImportHost lets a kernel read and write a client's pages where they are.
func TestImportHost(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *Device) {
		require.True(t, d.Describe().External.HostImport)
		for _, n := range []int{16, 4096, 4096 + 16, 3*4096 - 16, 1<<20 + 48, 4 << 20} {
			in := sealedPages(t, n, unix.PROT_READ)
			out := sealedPages(t, n, unix.PROT_READ|unix.PROT_WRITE)
			x, err := d.importHost(in, true)
			require.NoError(t, err)
			y, err := d.importHost(out, false)
			require.NoError(t, err)
			require.Zero(t, x.bytes%plan.Align)
			require.Zero(t, x.taken+y.taken)
			require.GreaterOrEqual(t, x.bytes, int64(n))
			d.abs(t, x, y, 0, int64(n/4))
			requireAbs(t, out)
			back := make([]byte, n)
			require.NoError(t, y.download(back, 0))
			require.True(t, bytes.Equal(out, back))
			x.free()
			y.free()
			requireAbs(t, out) // still mapped
		}
	})
}

// TestImportHostAnonymous imports memory that no file stands behind.
func TestImportHostAnonymous(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *Device) {
		b, err := unix.Mmap(-1, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		require.NoError(t, err)
		defer func() { require.NoError(t, unix.Munmap(b)) }()
		x, err := d.importHost(b[4096:], false) // a later page of the mapping
		require.NoError(t, err)
		var c vk.Commands
		c.Fill(x.buffer, 0, x.bytes, 0x2a2a2a2a)
		c.Barrier(vk.StageTransfer, vk.AccessTransferWrite, vk.StageHost, vk.AccessHostRead)
		require.NoError(t, d.runOnce(&c))
		require.Equal(t, byte(0), b[4095])
		require.Equal(t, byte(0x2a), b[4096])
		require.Equal(t, byte(0x2a), b[1<<16-1])
		x.free()
	})
}

// TestImportHostConcurrently imports, fills and frees the same and different pages from several goroutines.
func TestImportHostConcurrently(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *Device) {
		shared := sealedPages(t, 1<<14, unix.PROT_READ)
		var wg sync.WaitGroup
		errs := make([]error, 6)
		for g := range errs {
			own := sealedPages(t, 1<<13, unix.PROT_READ|unix.PROT_WRITE)
			wg.Go(func() {
				for k := range 20 {
					errs[g] = errors.Join(errs[g], copyImported(d, shared, own))
					if !bytes.Equal(shared[:1<<13], own) {
						errs[g] = errors.Join(errs[g], fmt.Errorf("round %d differs", k))
					}
					clear(own)
				}
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
	})
}

// copyImported imports both, copies as many bytes as fit and frees them.
func copyImported(d *Device, from, to []byte) error {
	x, err := d.importHost(from, true)
	if err != nil {
		return err
	}
	defer x.free()
	y, err := d.importHost(to, false)
	if err != nil {
		return err
	}
	defer y.free()
	var c vk.Commands
	c.Copy(x.buffer, 0, y.buffer, 0, min(x.bytes, y.bytes))
	c.Barrier(vk.StageTransfer, vk.AccessTransferWrite, vk.StageHost, vk.AccessHostRead)
	return d.runOnce(&c)
}

func TestImportHostRefuses(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *Device) {
		b := sealedPages(t, 1<<14, unix.PROT_READ|unix.PROT_WRITE)
		for _, bad := range [][]byte{nil, b[:0], b[1:], b[64:4096], b[2048:]} {
			_, err := d.importHost(bad, true)
			require.ErrorIs(t, err, backend.ErrNotImported)
		}
		for _, c := range []vk.Call{vk.CallNewBuffer, vk.CallAllocate} {
			d.Inject(&vk.Faults{Calls: map[vk.Call]vk.Fault{c: {Result: vk.ResultOutOfDeviceMemory}}})
			_, err := d.importHost(b, false)
			require.ErrorIs(t, err, backend.ErrNotImported, "memory that cannot be had is copied")
		}
		d.Inject(nil)
	})
	for _, selector := range []string{Lavapipe, SwiftShader} {
		t.Run("lost "+selector, func(t *testing.T) {
			d := openOrSkip(t, selector, Options{})
			defer func() { require.NoError(t, d.Close()) }()
			b := sealedPages(t, 1<<12, unix.PROT_READ)
			d.Inject(&vk.Faults{Calls: map[vk.Call]vk.Fault{vk.CallAllocate: {Result: vk.ResultDeviceLost}}})
			_, err := d.importHost(b, true)
			d.Inject(nil)
			require.ErrorIs(t, err, vk.ErrDeviceLost)
			require.Equal(t, nn.StatusDeviceUnavailable, nn.StatusOf(err))
			_, err = d.importHost(b, true)
			require.ErrorIs(t, err, vk.ErrDeviceLost, "sticky")
			require.False(t, errors.Is(err, backend.ErrNotImported))
		})
	}
}

func TestWholePages(t *testing.T) {
	page := int64(os.Getpagesize())
	b := sealedPages(t, 3*int(page), unix.PROT_READ)
	for _, tc := range []struct {
		name   string
		length int64
		align  int64
		want   int64 // 0: refused
	}{
		{"whole", 2 * page, page, 2 * page},
		{"to the page", page + 1, page, 2 * page},
		{"small pages", 65, 64, 128},
		{"large pages", page, 2 * page, 0},
		{"large pages, whole", 2 * page, 2 * page, 2 * page},
		{"empty", 0, page, 0},
		{"no import", page, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := wholePages(b[:tc.length:tc.length], tc.align)
			if tc.want == 0 {
				require.ErrorIs(t, err, backend.ErrNotImported)
				return
			}
			require.NoError(t, err)
			require.Len(t, got, int(tc.want))
		})
	}
}
