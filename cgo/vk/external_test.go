package vk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// swiftShaderManifest is where SwiftShader usually lies; "" if it does not.
func swiftShaderManifest() string {
	folders := []string{os.Getenv("NNGPU_SWIFTSHADER"), "/usr/lib/chromium"}
	if home, err := os.UserHomeDir(); err == nil {
		folders = append(folders, filepath.Join(home, ".local/share/nngpu"))
	}
	for _, dir := range folders {
		path := filepath.Join(dir, "vk_swiftshader_icd.json")
		if _, err := os.Stat(path); err == nil && filepath.IsAbs(path) {
			return path
		}
	}
	return ""
}

// eachCPU runs f on every software device that the loader and swiftShaderManifest give.
func eachCPU(t *testing.T, f func(t *testing.T, d *Device, p *Properties)) {
	t.Helper()
	inst := openAll(t)
	list, err := inst.PhysicalDevices()
	require.NoError(t, err)
	found := false
	for _, p := range list {
		props, err := p.Properties()
		require.NoError(t, err)
		if props.Type != TypeCPU || !props.Timeline {
			continue
		}
		found = true
		t.Run(props.Name+" "+props.DriverInfo, func(t *testing.T) {
			d, err := NewDevice(p, props, Queues{}, props.ExternalFeatures())
			require.NoError(t, err)
			t.Cleanup(func() {
				require.NoError(t, d.WaitIdle())
				d.Close()
				require.Empty(t, inst.Messages())
			})
			f(t, d, props)
		})
	}
	if !found {
		skip(t, errors.New("no software device"))
	}
}

// openAll makes an instance with the validation layer, where there is one, and SwiftShader.
func openAll(t *testing.T) *Instance {
	t.Helper()
	if _, err := Load([]Library{{Path: "libvulkan.so.1"}}); err != nil {
		skip(t, err)
	}
	var env []Env
	if path := swiftShaderManifest(); path != "" && os.Getenv("VK_DRIVER_FILES") == "" {
		env = append(env, Env{"VK_ADD_DRIVER_FILES", path})
	}
	inst, err := NewInstance(InstanceOptions{Validation: ValidateCore | ValidateSync, Env: env})
	if errors.Is(err, ErrNoLayer) {
		inst, err = NewInstance(InstanceOptions{Env: env})
	}
	if errors.Is(err, ErrIncompatibleDriver) {
		skip(t, err)
	}
	require.NoError(t, err)
	t.Cleanup(inst.Close)
	return inst
}

// memfd maps a new memfd of n bytes with words that count.
func memfd(t *testing.T, n int, prot int) []byte {
	t.Helper()
	fd, err := unix.MemfdCreate("nngpu-test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	require.NoError(t, err)
	defer unix.Close(fd)
	content := make([]byte, n)
	for i := range n / 4 {
		binary.LittleEndian.PutUint32(content[4*i:], uint32(i+1))
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

// run records, submits and waits; the timeline must be below value.
func run(t *testing.T, d *Device, value uint64, c *Commands) {
	t.Helper()
	pool, err := d.NewCommandPool()
	require.NoError(t, err)
	defer Destroy(d, pool)
	cmds, err := d.NewCommandBuffers(pool, 1)
	require.NoError(t, err)
	require.NoError(t, d.Record(cmds[0], c))
	require.NoError(t, d.Submit(0, cmds, value))
	ok, err := d.Wait(0, value, 10*time.Second)
	require.NoError(t, err)
	require.True(t, ok)
}

func TestImportHost(t *testing.T) {
	eachCPU(t, func(t *testing.T, d *Device, p *Properties) {
		require.True(t, p.HostImport)
		value := uint64(0)
		for _, n := range []int{1 << 12, 3 << 12, 1 << 20, 1<<20 + 1<<12} {
			b := memfd(t, n, unix.PROT_READ|unix.PROT_WRITE)
			buffer, memory, err := d.ImportHost(b, externalUsage)
			require.NoError(t, err)
			back := newTestBuffer(t, d, p, int64(n))
			value++
			var c Commands
			c.Copy(buffer, 0, back.buffer, 0, int64(n))
			c.Barrier(StageTransfer, AccessTransferRead, StageTransfer, AccessTransferWrite)
			c.Fill(buffer, int64(n)-8, 8, 0x01020304) // the device writes the client's page
			c.Barrier(StageTransfer, AccessTransferWrite, StageHost, AccessHostRead)
			run(t, d, value, &c)
			require.Equal(t, uint32(1), binary.LittleEndian.Uint32(back.bytes))
			require.Equal(t, b[:n-8], back.bytes[:n-8])
			require.Equal(t, []byte{4, 3, 2, 1, 4, 3, 2, 1}, b[n-8:])
			d.DestroyBuffer(buffer)
			d.Free(memory)
			require.Equal(t, byte(1), b[0], "freeing leaves the mapping alone")
		}
	})
}

// TestImportReadOnly copies out of a mapping that cannot be written.
func TestImportReadOnly(t *testing.T) {
	eachCPU(t, func(t *testing.T, d *Device, p *Properties) {
		b := memfd(t, 1<<13, unix.PROT_READ)
		buffer, memory, err := d.ImportHost(b, externalUsage)
		require.NoError(t, err)
		back := newTestBuffer(t, d, p, 1<<13)
		var c Commands
		c.Copy(buffer, 0, back.buffer, 0, 1<<13)
		c.Barrier(StageTransfer, AccessTransferWrite, StageHost, AccessHostRead)
		run(t, d, 1, &c)
		require.True(t, bytes.Equal(b, back.bytes))
		d.DestroyBuffer(buffer)
		d.Free(memory)
	})
}

func TestImportHostRefuses(t *testing.T) {
	eachCPU(t, func(t *testing.T, d *Device, p *Properties) {
		b := memfd(t, 4<<12, unix.PROT_READ|unix.PROT_WRITE)
		align := int(p.HostAlign)
		for _, bad := range [][]byte{nil, b[:0], b[:1], b[4 : 4+align], b[:align-4], b[align/2 : align/2+align]} {
			_, _, err := d.ImportHost(bad, externalUsage)
			require.ErrorIs(t, err, ErrNotSupported)
		}
		for _, c := range []Call{CallAllocate, CallNewBuffer} {
			Inject(d, &Faults{Calls: map[Call]Fault{c: {Result: ResultOutOfDeviceMemory}}})
			_, _, err := d.ImportHost(b, externalUsage)
			require.ErrorIs(t, err, ErrOutOfMemory)
		}
		Inject(d, nil)
	})
	inst := openAll(t)
	list, err := inst.PhysicalDevices()
	require.NoError(t, err)
	i := slices.IndexFunc(list, func(p Physical) bool { props, err := p.Properties(); return err == nil && props.Type == TypeCPU })
	if i < 0 {
		skip(t, errors.New("no software device"))
	}
	props, err := list[i].Properties()
	require.NoError(t, err)
	d, err := NewDevice(list[i], props, Queues{}, 0)
	require.NoError(t, err)
	defer d.Close()
	_, _, err = d.ImportHost(memfd(t, 1<<12, unix.PROT_READ), externalUsage)
	require.ErrorIs(t, err, ErrNotSupported, "not switched on")
}
