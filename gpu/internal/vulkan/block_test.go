package vulkan

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/nn"
)

// TestStaging uploads to memory that the host cannot see, as on a discrete device.
func TestStaging(t *testing.T) {
	for _, selector := range []string{Lavapipe, SwiftShader} {
		t.Run(selector, func(t *testing.T) {
			d := openOrSkip(t, selector, Options{Validation: true})
			defer func() {
				require.Empty(t, d.ValidationMessages())
				require.NoError(t, d.Close())
			}()
			for _, n := range []int64{4, 256, stagingBytes, stagingBytes + 4, 2*stagingBytes + 1020, mappedBytes + 4} {
				b, err := d.newBlock(n, 0, weightsBlock, "test")
				require.NoError(t, err)
				b.host = nil
				back, err := d.newBlock(n, 0, hostBlock, "test")
				require.NoError(t, err)
				data := make([]byte, n-4) // the rest must be zero
				for i := range len(data) / 4 {
					binary.LittleEndian.PutUint32(data[4*i:], uint32(i+1))
				}
				require.NoError(t, b.upload(t.Context(), bytes.NewReader(data), n-4, 0))
				var c vk.Commands
				c.Copy(b.buffer, 0, back.buffer, 0, b.bytes)
				c.Barrier(vk.StageTransfer, vk.AccessTransferWrite, vk.StageHost, vk.AccessHostRead)
				require.NoError(t, d.runOnce(&c))
				require.Equal(t, data, back.host[:len(data)])
				require.Equal(t, make([]byte, b.bytes-n+4), back.host[n-4:])
				require.Error(t, b.upload(t.Context(), bytes.NewReader(make([]byte, b.bytes+1)), b.bytes+1, 0))
				for _, cached := range []bool{true, false} {
					for _, from := range []*block{b, back} {
						from.cached = cached
						again := make([]byte, len(data))
						require.NoError(t, from.download(again, 0))
						require.Equal(t, data, again)
					}
				}
				b.free()
				back.free()
			}
			used, _, _ := d.Memory()
			require.Zero(t, used)
		})
	}
}

func TestAccount(t *testing.T) {
	a := account{limit: 1000}
	require.NoError(t, a.take(600, 0, "a"))
	require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(a.take(401, 0, "b")))
	require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(a.take(1001, 0, "b")))
	require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(a.take(400, 900, "b")))
	require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(a.take(301, 300, "b")))
	require.NoError(t, a.take(400, 5000, "b"))
	a.give(600)
	used, peak := a.read()
	require.Equal(t, int64(400), used)
	require.Equal(t, int64(1000), peak)
	require.Panics(t, func() { a.give(401) })
}

func TestMemoryTypes(t *testing.T) {
	const L, H, C, K = vk.DeviceLocal, vk.HostVisible, vk.HostCoherent, vk.HostCached
	for _, tc := range []struct {
		name         string
		types        []vk.MemoryFlags
		device, host int
		unified      bool
	}{
		{"one type", []vk.MemoryFlags{L | H | C | K}, 0, 0, true},
		{"discrete", []vk.MemoryFlags{0, L, H | C, H | C | K, L | H | C}, 1, 3, false},
		{"discrete, no cached", []vk.MemoryFlags{L, H | C, L | H | C}, 0, 1, false},
		{"integrated", []vk.MemoryFlags{L | H | C, L | H | C | K}, 0, 1, true},
		{"not coherent", []vk.MemoryFlags{L | H | K, H | C}, 0, 1, false},
		{"protected first", []vk.MemoryFlags{L | vk.Protected, L | vk.LazilyAllocated, L, H | C}, 2, 3, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &vk.Properties{}
			for _, f := range tc.types {
				p.MemoryTypes = append(p.MemoryTypes, vk.MemoryType{Flags: f})
			}
			require.Equal(t, tc.device, deviceMemory(p, ^uint32(0)))
			require.Equal(t, tc.host, hostMemory(p, ^uint32(0)))
			require.Equal(t, tc.unified, unified(p))
		})
	}
}

func TestChoose(t *testing.T) {
	list := []DeviceInfo{
		{Name: "llvmpipe (LLVM 15)", Properties: &vk.Properties{Name: "llvmpipe (LLVM 15)", Type: vk.TypeCPU}},
		{Name: "SwiftShader Device", Properties: &vk.Properties{Name: "SwiftShader Device", Type: vk.TypeCPU}},
		{Name: "Old Discrete", Properties: &vk.Properties{Type: vk.TypeDiscrete}, Unusable: vk.ErrIncompatibleDriver},
		{Name: "Integrated", Properties: &vk.Properties{Type: vk.TypeIntegrated}},
		{Name: "New Discrete", Properties: &vk.Properties{Type: vk.TypeDiscrete}},
	}
	for i := range list {
		list[i].Index = i
	}
	for _, tc := range []struct {
		selector string
		n        int // devices of the list that are there
		want     int
		is       error
	}{
		{"", 5, 4, nil}, {"", 4, 3, nil}, {"", 3, 0, nil}, {"", 1, 0, nil}, {"", 0, 0, ErrUnknownDevice},
		{"discrete", 5, 4, nil}, {"DISCRETE", 3, 0, vk.ErrIncompatibleDriver}, {"2", 5, 0, vk.ErrIncompatibleDriver},
		{"1", 5, 1, nil}, {"5", 5, 0, ErrUnknownDevice}, {"lavapipe", 5, 0, nil}, {"SwiftShader", 5, 1, nil},
		{"x", 5, 0, ErrUnknownDevice},
	} {
		t.Run(tc.selector, func(t *testing.T) {
			i, err := choose(list[:tc.n], tc.selector)
			require.ErrorIs(t, err, tc.is)
			if tc.is == nil {
				require.Equal(t, tc.want, i)
			}
		})
	}
	devices := list[1:2]
	devices = append([]DeviceInfo{}, devices...)
	devices = append(devices, list[0])
	devices[0].Index, devices[1].Index = 0, 1
	i, err := choose(devices, "")
	require.NoError(t, err)
	require.Equal(t, 1, i, "lavapipe before SwiftShader")
}
