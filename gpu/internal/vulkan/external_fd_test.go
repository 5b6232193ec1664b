package vulkan

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// fill writes a word all over b.
func (b *block) fill(word uint32) error {
	var c vk.Commands
	c.Fill(b.buffer, 0, b.bytes, word)
	c.Barrier(vk.StageTransfer, vk.AccessTransferWrite, computeTransfer|vk.StageHost, deviceAccess|vk.AccessHostRead)
	return b.dev.runOnce(&c)
}

// ends returns the first and the last byte of b.
func (b *block) ends() ([2]byte, error) {
	all := make([]byte, b.bytes)
	err := b.download(all, 0)
	return [2]byte{all[0], all[len(all)-1]}, err
}

// newShared is an exportable block and its trusted handle.
func newShared(t *testing.T, d *Device, bytes int64) (*exportable, backend.External) {
	t.Helper()
	x, err := d.newExportable(bytes, 0, "test")
	require.NoError(t, err)
	t.Cleanup(x.free)
	m, err := x.export()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Close(m.FD)) })
	m.Trusted = true
	return x, m
}

func TestExport(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *Device) {
		for _, bytes := range []int64{1, 4096, 1<<20 + 3} {
			x, m := newShared(t, d, bytes)
			used, _, _ := d.Memory()
			require.GreaterOrEqual(t, used, bytes)
			require.NoError(t, x.fill(0x03030303))
			y, err := d.importFD(m)
			require.NoError(t, err)
			require.Equal(t, x.bytes, y.bytes)
			require.Zero(t, y.taken)
			got, err := y.ends()
			require.NoError(t, err)
			require.Equal(t, [2]byte{3, 3}, got)
			require.NoError(t, y.fill(0x04040404))
			got, err = x.ends()
			require.NoError(t, err)
			require.Equal(t, [2]byte{4, 4}, got)
			y.free()
		}
	})
}

const childEnv = "NNGPU_TEST_IMPORT" // the child's device

// TestExportToChild passes memory to a process of its own, which reads and writes it.
func TestExportToChild(t *testing.T) {
	if selector := os.Getenv(childEnv); selector != "" {
		importInChild(t, selector)
		return
	}
	for _, selector := range []string{Lavapipe, SwiftShader} {
		t.Run(selector, func(t *testing.T) {
			d := openOrSkip(t, selector, Options{Validation: true})
			t.Cleanup(func() { require.NoError(t, d.Close()) })
			x, m := newShared(t, d, 3<<12)
			require.NoError(t, x.fill(0x05050505))
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestExportToChild$", "-test.count=1")
			text, err := json.Marshal(m)
			require.NoError(t, err)
			cmd.Env = append(os.Environ(), childEnv+"="+selector, childEnv+"_HANDLE="+string(text))
			cmd.ExtraFiles = []*os.File{os.NewFile(uintptr(dup(t, m.FD)), "memory")} // 3 in the child
			defer cmd.ExtraFiles[0].Close()
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			got, err := x.ends()
			require.NoError(t, err)
			require.Equal(t, [2]byte{6, 6}, got)
		})
	}
}

func dup(t *testing.T, fd int) int {
	t.Helper()
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	require.NoError(t, err)
	return n
}

func importInChild(t *testing.T, selector string) {
	var m backend.External
	require.NoError(t, json.Unmarshal([]byte(os.Getenv(childEnv+"_HANDLE")), &m))
	m.FD = 3
	d, err := Open(selector, Options{})
	require.NoError(t, err)
	defer d.Close()
	b, err := d.importFD(m)
	require.NoError(t, err)
	defer b.free()
	got, err := b.ends()
	require.NoError(t, err)
	require.Equal(t, [2]byte{5, 5}, got)
	require.NoError(t, b.fill(0x06060606))
}

// TestImportFDRefuses changes one thing at a time of memory that would do.
func TestImportFDRefuses(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *Device) {
		_, good := newShared(t, d, 1<<14)
		plain, err := unix.MemfdCreate("nngpu-test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		require.NoError(t, err)
		defer unix.Close(plain)
		require.NoError(t, unix.Ftruncate(plain, 1<<13))
		for name, change := range map[string]func(m *backend.External){
			"another device":      func(m *backend.External) { m.DeviceUUID[3] ^= 1 },
			"another driver":      func(m *backend.External) { m.DriverUUID[3] ^= 1 },
			"another memory type": func(m *backend.External) { m.MemoryType = 5 },
			"no type":             func(m *backend.External) { m.MemoryType = math.MaxUint32 },
			"empty":               func(m *backend.External) { m.Allocation = 0 },
			"negative":            func(m *backend.External) { m.Allocation = -1 << 14 },
			"less than a quantum": func(m *backend.External) { m.Allocation = plan.Align - 1 },
			"huge":                func(m *backend.External) { m.Allocation = 1 << 62 },
			"wrong size":          func(m *backend.External) { m.Allocation = 1 << 20 },
			"short file":          func(m *backend.External) { m.FD = plain },
			"closed":              func(m *backend.External) { m.FD = -1 },
			"not trusted":         func(m *backend.External) { m.Trusted = false },
			"unknown kind":        func(m *backend.External) { m.Kind = 0 },
			"a dma-buf?":          func(m *backend.External) { m.Kind, m.FD = backend.DMABuf, plain },
		} {
			m := good
			change(&m)
			b, err := d.importFD(m)
			require.ErrorIs(t, err, backend.ErrNotImported, name)
			require.Nil(t, b)
		}
		b, err := d.importFD(good)
		require.NoError(t, err)
		b.free()
	})
}

func TestExportFails(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *Device) {
		_, _, limit := d.Memory()
		_, err := d.newExportable(min(limit, 1<<61)+1, 0, "test")
		require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(err))
		_, err = d.newExportable(1<<13, 1<<12, "test")
		require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(err))
		for _, c := range []vk.Call{vk.CallNewBuffer, vk.CallAllocate} {
			d.Inject(&vk.Faults{Calls: map[vk.Call]vk.Fault{c: {Result: vk.ResultOutOfDeviceMemory}}})
			_, err := d.newExportable(1<<13, 0, "test")
			require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(err))
		}
		d.Inject(nil)
		d.info.External.Export = false
		_, err = d.newExportable(1<<13, 0, "test")
		require.ErrorIs(t, err, vk.ErrNotSupported)
		used, _, _ := d.Memory()
		require.Zero(t, used)
	})
}
