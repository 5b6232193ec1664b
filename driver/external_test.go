package driver_test

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/gpu/null"
	"github.com/nngpu/nngpu/memory"
)

// onDevices runs f on both software devices, or those of NNGPU_DEVICE.
func onDevices(t *testing.T, f func(t *testing.T, name string)) {
	t.Helper()
	for _, name := range nntest.Devices() {
		t.Run(name, func(t *testing.T) { f(t, name) })
	}
}

// openVulkan opens a device that may be absent, with validation.
func openVulkan(t *testing.T, name string, opts ...driver.DeviceOption) (*gpu.Backend, *driver.Device, *driver.Client) {
	t.Helper()
	b, err := gpu.Open(name, gpu.Options{})
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("NNGPU_REQUIRE"), ","), name) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	d := driver.NewDevice(b, append(opts, driver.WithCache(driver.CacheOptions{Off: true}))...)
	t.Cleanup(func() {
		require.Empty(t, b.ValidationMessages())
		require.NoError(t, d.Close())
	})
	c, err := d.NewClient("test")
	require.NoError(t, err)
	return b, d, c
}

const (
	externalWidth = 64 // floats, 256 bytes: a multiple of every device's alignment
	externalBytes = 4 * externalWidth
)

// externalModel is y = RELU(x) of externalWidth floats.
func externalModel() *nn.Model {
	d := nn.Dims{1, externalWidth}
	return reluModel(nn.TensorFloat32, 0, 0, d, d)
}

// ramp has the floats first, first+1, …
func ramp(first float32) nn.HostMemory {
	b := make(nn.HostMemory, externalBytes)
	for i := range externalWidth {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(first+float32(i)))
	}
	return b
}

// externalRequest reads from pool in at one offset, and writes to pool out at another.
func externalRequest(in nn.Memory, from uint32, out nn.Memory, to uint32) *nn.Request {
	at := func(m nn.Memory, pool, offset uint32) nn.RequestArgument {
		a := nn.RequestArgument{Location: nn.Location{PoolIndex: pool, Offset: offset, Length: externalBytes}}
		if _, ok := m.(nn.BufferToken); ok {
			a.Location.Length = 0
		}
		return a
	}
	return &nn.Request{
		Inputs: []nn.RequestArgument{at(in, 0, from)}, Outputs: []nn.RequestArgument{at(out, 1, to)},
		Pools: []nn.Memory{in, out},
	}
}

// exportable allocates a buffer that stands for input and output of p.
func exportable(t *testing.T, c *driver.Client, p *driver.PreparedModel) *driver.Buffer {
	t.Helper()
	b, err := c.Allocate(driver.BufferDesc{Exportable: true}, roleOf(p, 0), roleOf(p, 0))
	require.NoError(t, err)
	return b
}

// export opens a buffer's memory as a pool for the time of a test.
func export(t *testing.T, b *driver.Buffer) memory.Pool {
	t.Helper()
	h, err := b.Export()
	require.NoError(t, err)
	defer h.Close()
	p, err := memory.Open(h)
	require.NoError(t, err)
	require.Implements(t, (*memory.External)(nil), p)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func execute(t *testing.T, p *driver.PreparedModel, r *nn.Request) int64 {
	t.Helper()
	res, err := p.Execute(t.Context(), r)
	require.NoError(t, err)
	return res.Traffic.Copied
}

// TestExportedMemoryInPlace: what one execution leaves in a buffer, another one reads and writes as a pool, for
// another client too, and in copies.
func TestExportedMemoryInPlace(t *testing.T) {
	t.Setenv("NNGPU_VALIDATION", "1")
	onDevices(t, func(t *testing.T, name string) {
		b, d, c := openVulkan(t, name)
		pm := prepareOn(t, c, externalModel())
		other, err := d.NewClient("other")
		require.NoError(t, err)
		theirs := prepareOn(t, other, externalModel())
		buffer := exportable(t, c, pm)
		pool := export(t, buffer)
		require.Equal(t, int64(externalBytes), pool.Size())
		require.Equal(t, make([]byte, externalBytes), read(t, buffer, externalBytes), "cleared, and known as such")

		execute(t, pm, externalRequest(ramp(1), 0, buffer.Token(), 0))
		imports := b.Counters().Imports
		for range 3 {
			out := make(nn.HostMemory, externalBytes)
			require.Equal(t, int64(externalBytes), execute(t, theirs, externalRequest(pool, 0, out, 0)), "the output alone")
			require.Equal(t, ramp(1), out)
		}
		require.Equal(t, imports+1, b.Counters().Imports)

		second := exportable(t, c, pm)
		from := export(t, second)
		require.NoError(t, second.CopyFrom(t.Context(), ramp(5), nil))
		require.Zero(t, execute(t, theirs, externalRequest(from, 0, pool, 0)))
		require.Equal(t, []byte(ramp(5)), read(t, buffer, externalBytes))

		// By copies of buffers, which go through the device.
		require.NoError(t, second.CopyFrom(t.Context(), ramp(9), nil))
		require.NoError(t, second.CopyTo(t.Context(), pool))
		require.Equal(t, []byte(ramp(9)), read(t, buffer, externalBytes))
		plain := allocate(t, c, nil, roleOf(pm, 0), nil)
		require.NoError(t, plain.CopyFrom(t.Context(), pool, nil))
		require.Equal(t, []byte(ramp(9)), read(t, plain, externalBytes))

		burst := theirs.Burst()
		for i := range 3 {
			require.NoError(t, second.CopyFrom(t.Context(), ramp(float32(i)), nil))
			res, err := burst.Execute(t.Context(), externalRequest(from, 0, pool, 0), []int32{0, 1})
			require.NoError(t, err)
			require.Zero(t, res.Traffic.Copied)
			require.Equal(t, []byte(ramp(float32(i))), read(t, buffer, externalBytes))
		}
	})
}

// TestExportedMemoryAside: a tensor at an offset that the device cannot bind is copied by it, and nothing beside it
// is touched.
func TestExportedMemoryAside(t *testing.T) {
	t.Setenv("NNGPU_VALIDATION", "1")
	onDevices(t, func(t *testing.T, name string) {
		_, _, c := openVulkan(t, name)
		pm := prepareOn(t, c, externalModel())
		d := nn.Dims{4, externalWidth}
		wide := prepareOn(t, c, reluModel(nn.TensorFloat32, 0, 0, d, d))
		buffer := exportable(t, c, wide)
		pool := export(t, buffer)
		content := slices.Concat(ramp(1), ramp(100), ramp(200), ramp(300))
		require.NoError(t, buffer.CopyFrom(t.Context(), content, nil))
		for _, offsets := range [][2]uint32{{4, 2*externalBytes + 8}, {1, 3 * externalBytes}, {externalBytes, 2*externalBytes + 3}} {
			want := slices.Clone(content)
			copy(want[offsets[1]:], want[offsets[0]:offsets[0]+externalBytes])
			moved := execute(t, pm, externalRequest(pool, offsets[0], pool, offsets[1]))
			require.Positive(t, moved)
			got := read(t, buffer, len(content))
			if offsets[0]%4 == 0 {
				require.Equal(t, []byte(want), got)
			} else { // no floats to compare
				require.Equal(t, []byte(want[:offsets[1]]), got[:offsets[1]])
				require.Equal(t, []byte(want[offsets[1]+externalBytes:]), got[offsets[1]+externalBytes:])
			}
			require.NoError(t, buffer.CopyFrom(t.Context(), content, nil))
		}
		// R10: a tensor on top of another one, also by way of another handle.
		_, err := pm.Execute(t.Context(), externalRequest(pool, 4, pool, 8))
		requireStatus(t, nn.StatusInvalidArgument, err)
		_, err = pm.Execute(t.Context(), externalRequest(pool, 4, export(t, buffer), 8))
		requireStatus(t, nn.StatusInvalidArgument, err)
		_, err = pm.Execute(t.Context(), externalRequest(pool, 0, pool, 3*externalBytes+1))
		requireStatus(t, nn.StatusInvalidArgument, err)
	})
}

const externalChild = "NNGPU_TEST_EXTERNAL" // the child's device

// TestExportToChild: a process of its own writes what the parent's executions read.
func TestExportToChild(t *testing.T) {
	if name := os.Getenv(externalChild); name != "" {
		writeInChild(t, name)
		return
	}
	onDevices(t, func(t *testing.T, name string) {
		_, _, c := openVulkan(t, name)
		pm := prepareOn(t, c, externalModel())
		buffer := exportable(t, c, pm)
		pool := export(t, buffer)
		h, err := pool.Handle()
		require.NoError(t, err)
		defer h.Close()
		text, err := h.MarshalBinary()
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestExportToChild$", "-test.count=1")
		cmd.Env = append(os.Environ(), externalChild+"="+name, externalChild+"_HANDLE="+hex.EncodeToString(text))
		cmd.ExtraFiles = h.Files // 3 in the child
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, []byte(ramp(7)), read(t, buffer, externalBytes))
		for _, in := range []nn.Memory{pool, buffer.Token()} {
			got := make(nn.HostMemory, externalBytes)
			execute(t, pm, externalRequest(in, 0, got, 0))
			require.Equal(t, ramp(7), got)
		}
	})
}

func writeInChild(t *testing.T, name string) {
	text, err := hex.DecodeString(os.Getenv(externalChild + "_HANDLE"))
	require.NoError(t, err)
	var h memory.Handle
	require.NoError(t, h.UnmarshalBinary(text))
	h.Files = []*os.File{os.NewFile(3, "memory")}
	pool, err := memory.Open(h)
	require.NoError(t, err)
	defer pool.Close()

	_, _, careful := openVulkan(t, name)
	_, err = prepareOn(t, careful, externalModel()).Execute(t.Context(), externalRequest(ramp(3), 0, pool, 0))
	requireStatus(t, nn.StatusGeneralFailure, err) // nobody here vouches for it

	_, _, c := openVulkan(t, name, driver.WithTrustedExternalMemory())
	pm := prepareOn(t, c, externalModel())
	require.Zero(t, execute(t, pm, externalRequest(ramp(7), 0, pool, 0))-externalBytes)
	require.NoError(t, pool.Close())
}

// TestForeignMemoryIsRefused: each mistake is an execution's GENERAL_FAILURE, and the next execution works.
func TestForeignMemoryIsRefused(t *testing.T) {
	t.Setenv("NNGPU_VALIDATION", "1")
	onDevices(t, func(t *testing.T, name string) {
		_, d, c := openVulkan(t, name)
		_, _, trusting := openVulkan(t, name, driver.WithTrustedExternalMemory())
		pm, theirs := prepareOn(t, c, externalModel()), prepareOn(t, trusting, externalModel())
		buffer := exportable(t, c, pm)
		h, err := buffer.Export()
		require.NoError(t, err)
		defer h.Close()
		good := export(t, buffer)
		plain := memfd(t, h.Buffer.Allocation+1<<16)
		unsure := "a plain file" // lavapipe knows its own files, for SwiftShader any will do
		for what, change := range map[string]func(h *memory.Handle){
			"another device":  func(h *memory.Handle) { h.Buffer.DeviceUUID[0] ^= 1 },
			"another driver":  func(h *memory.Handle) { h.Buffer.DriverUUID[0] ^= 1 },
			"memory type":     func(h *memory.Handle) { h.Buffer.MemoryType = 31 },
			"smaller":         func(h *memory.Handle) { h.Buffer.Allocation -= 256 },
			"no room":         func(h *memory.Handle) { h.Buffer.Allocation = externalBytes; h.Files = []*os.File{plain} },
			unsure:            func(h *memory.Handle) { h.Files = []*os.File{plain} },
			"far too large":   func(h *memory.Handle) { h.Buffer.Allocation = 1 << 62 },
			"less than whole": func(h *memory.Handle) { h.Size, h.Buffer.Width = 4, 4 },
		} {
			bad := h
			change(&bad)
			p, err := memory.Open(bad)
			if err != nil {
				requireStatus(t, nn.StatusGeneralFailure, err)
				continue
			}
			r := externalRequest(p, 0, make(nn.HostMemory, externalBytes), 0)
			_, err = pm.Execute(t.Context(), r)
			if what == "less than whole" {
				requireStatus(t, nn.StatusInvalidArgument, err) // the argument does not fit
			} else {
				requireStatus(t, nn.StatusGeneralFailure, err)
			}
			if what != unsure && what != "smaller" && what != "no room" {
				_, err = theirs.Execute(t.Context(), r)
				require.Error(t, err, what)
			}
			require.Error(t, buffer.CopyTo(t.Context(), p), what)
			require.NoError(t, p.Close())
			_, err = pm.Execute(t.Context(), r)
			require.Error(t, err, "closed")
			execute(t, pm, externalRequest(good, 0, make(nn.HostMemory, externalBytes), 0))
		}
		// As constants.
		m := constantFloats(good)
		supported, reasons, err := d.SupportedOperations(m)
		require.NoError(t, err)
		require.Equal(t, []bool{false}, supported)
		requireStatus(t, nn.StatusGeneralFailure, reasons[0])
		_, err = c.PrepareModel(t.Context(), m)
		requireStatus(t, nn.StatusGeneralFailure, err)

		// Trust ends with the buffer; what was imported by then stays.
		fresh := export(t, buffer)
		require.NoError(t, buffer.Close())
		execute(t, pm, externalRequest(good, 0, make(nn.HostMemory, externalBytes), 0))
		_, err = pm.Execute(t.Context(), externalRequest(fresh, 0, make(nn.HostMemory, externalBytes), 0))
		requireStatus(t, nn.StatusGeneralFailure, err)
		execute(t, theirs, externalRequest(fresh, 0, make(nn.HostMemory, externalBytes), 0))
	})
}

// TestShortenedMemory: a descriptor that was shortened after it was opened is refused, even of the device's own.
func TestShortenedMemory(t *testing.T) {
	onDevices(t, func(t *testing.T, name string) {
		_, _, c := openVulkan(t, name, driver.WithTrustedExternalMemory())
		pm := prepareOn(t, c, externalModel())
		buffer := exportable(t, c, pm)
		h, err := buffer.Export()
		require.NoError(t, err)
		defer h.Close()
		p, err := memory.Open(h)
		require.NoError(t, err)
		defer p.Close()
		if err := h.Files[0].Truncate(0); err != nil {
			t.Skipf("the implementation's files cannot be shortened: %v", err)
		}
		_, err = pm.Execute(t.Context(), externalRequest(p, 0, make(nn.HostMemory, externalBytes), 0))
		requireStatus(t, nn.StatusGeneralFailure, err)
		_, err = memory.Open(h)
		requireStatus(t, nn.StatusGeneralFailure, err)
	})
}

// TestExportRefuses what cannot leave the device as a dense tensor.
func TestExportRefuses(t *testing.T) {
	onDevices(t, func(t *testing.T, name string) {
		_, _, c := openVulkan(t, name)
		pm := prepareOn(t, c, externalModel())
		_, err := allocate(t, c, nil, roleOf(pm, 0), nil).Export()
		requireStatus(t, nn.StatusInvalidArgument, err)
		for _, dims := range []nn.Dims{{2, 3}, {1, 5}, {7}} {
			odd := exportable(t, c, prepareOn(t, c, reluModel(nn.TensorFloat32, 0, 0, dims, dims)))
			_, err = odd.Export()
			requireStatus(t, nn.StatusInvalidArgument, err)
			require.ErrorContains(t, err, "multiple of 4")
		}
		b := exportable(t, c, pm)
		require.NoError(t, b.Close())
		_, err = b.Export()
		require.ErrorIs(t, err, driver.ErrClosed)
	})
}

// TestExportableIsOfOneSize, and needs a device that exports.
func TestExportableIsOfOneSize(t *testing.T) {
	b := &null.Backend{}
	_, c := open(t, b)
	d := nn.Dims{0, 4}
	pm := prepareOn(t, c, reluModel(nn.TensorFloat32, 0, 0, d, d))
	_, err := c.Allocate(driver.BufferDesc{Exportable: true}, roleOf(pm, 0), nil)
	requireStatus(t, nn.StatusInvalidArgument, err)
	_, err = c.Allocate(driver.BufferDesc{Exportable: true, Dims: nn.Dims{3, 4}}, roleOf(pm, 0), nil)
	requireStatus(t, nn.StatusGeneralFailure, err)
	require.Zero(t, b.Used())
}

// TestExportLeavesNothingBehind counts descriptors, mappings and device memory over rounds.
func TestExportLeavesNothingBehind(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 50
	}
	t.Setenv("NNGPU_VALIDATION", "0")
	onDevices(t, func(t *testing.T, name string) {
		b, _, c := openVulkan(t, name)
		pm := prepareOn(t, c, externalModel())
		in, out := ramp(2), make(nn.HostMemory, externalBytes)
		round := func() {
			buffer := exportable(t, c, pm)
			h, err := buffer.Export()
			require.NoError(t, err)
			p, err := memory.Open(h)
			require.NoError(t, err)
			require.NoError(t, h.Close())
			_, err = pm.Execute(t.Context(), externalRequest(in, 0, p, 0))
			require.NoError(t, err)
			_, err = pm.Execute(t.Context(), externalRequest(p, 0, out, 0))
			require.NoError(t, err)
			require.Equal(t, in, out)
			require.NoError(t, buffer.Close())
			require.NoError(t, p.Close())
		}
		for range 20 {
			round()
		}
		files, maps, memory := openFiles(t), mappings(t), c.Memory()
		used, _, _ := b.Memory()
		for range rounds {
			round()
		}
		require.LessOrEqual(t, openFiles(t), files)
		require.LessOrEqual(t, mappings(t), maps+rounds/20) // of the Go heap, too
		require.Equal(t, memory, c.Memory())
		now, _, _ := b.Memory()
		require.Equal(t, used, now)
	})
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

func mappings(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return strings.Count(string(text), "\n")
}

// memfd is a memfd that can be shortened.
func memfd(t *testing.T, bytes int64) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("nngpu-test", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), "memfd")
	t.Cleanup(func() { f.Close() })
	require.NoError(t, f.Truncate(bytes))
	return f
}

// constantFloats is y = x + a constant in p.
func constantFloats(p nn.Memory) *nn.Model {
	var b nn.Builder
	d := nn.Dims{1, externalWidth}
	x := b.Input(nn.TensorFloat32, d, 0, 0)
	k := b.Reference(nn.TensorFloat32, d, 0, 0, nn.Location{PoolIndex: b.Pool(p), Length: externalBytes})
	act := b.Scalar(int32(0))
	y := b.Temp(nn.TensorFloat32, d, 0, 0)
	b.Op(nn.OpAdd, []uint32{x, k, act}, []uint32{y})
	b.Output(y)
	return nntest.Build(&b)
}
