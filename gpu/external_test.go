package gpu

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// newExported returns memory for n bytes, a multiple of 4, and what it is exported as; the test closes both.
func newExported(t *testing.T, b *Backend, n int) (backend.Exportable, backend.Exported) {
	t.Helper()
	m, err := b.AllocateExportable(nn.TensorQuant8Asymm, nn.Dims{uint32(n)}, 0)
	require.NoError(t, err)
	x, err := m.Export()
	require.NoError(t, err)
	require.True(t, x.Dense)
	x.Trusted = true
	t.Cleanup(func() {
		require.NoError(t, m.Close())
		require.NoError(t, unix.Close(x.FD))
	})
	return m, x
}

// importAt imports all of x from offset on for the time of a test.
func importAt(t *testing.T, b *Backend, x backend.Exported, offset int64) backend.Memory {
	t.Helper()
	y := x.External
	y.Offset, y.Size = y.Offset+offset, y.Size-offset
	m, err := b.ImportExternal(y)
	require.NoError(t, err)
	require.Zero(t, m.Bytes())
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

// TestExternalBindings binds inputs and outputs in another device memory, at aligned and other offsets of a part of
// it. The results are those with host memory, and nothing beside them changes.
func TestExternalBindings(t *testing.T) {
	const from, gap = 256, 512
	eachBackend(t, func(t *testing.T, b *Backend) {
		for name, text := range graphs {
			for _, s := range shapes {
				t.Run(name+s.kind.String()+s.shape, func(t *testing.T) {
					text := strings.ReplaceAll(strings.ReplaceAll(text, " T ", " "+s.kind.String()+" "), " S", " "+s.shape)
					p := compileGraph(t, b, text)
					list := append(append([]tensor{}, p.in...), p.out...)
					room := (list[0].bytes() + gap + 255) / 256 * 256
					total := from + len(list)*room
					m, x := newExported(t, b, total)
					in := importAt(t, b, x, from)
					rng := rand.New(rand.NewPCG(4, 4))
					for _, odd := range []int{0, 4, 3} {
						content := bytes.Repeat([]byte{0xa5}, total)
						bindings := make([]backend.Binding, len(list))
						values := make([][]byte, len(p.in))
						for i := range list {
							bindings[i] = backend.Binding{Memory: in, Offset: int64(i*room + odd)}
							if i < len(p.in) {
								values[i] = list[i].random(rng)
								copy(content[from+i*room+odd:], values[i])
							}
						}
						require.NoError(t, m.Write(t.Context(), content))
						want := p.host(t, values)
						moved, err := p.execute(t.Context(), bindings[:len(p.in)], bindings[len(p.in):])
						require.NoError(t, err)
						for i, w := range want {
							copy(content[from+(len(p.in)+i)*room+odd:], w)
						}
						if odd != 0 {
							require.Positive(t, moved.Copied)
						}
						got := make([]byte, total)
						require.NoError(t, m.Read(t.Context(), got))
						require.True(t, bytes.Equal(content, got), "offset %d", odd)
					}
				})
			}
		}
	})
}

// TestExternalInPlace: nothing is copied of a tensor that the device can bind, but on devices with memory of their own,
// which copy both the input and the output.
func TestExternalInPlace(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openBackend(t, selector, Options{})
			p := compileGraph(t, b, "input %0 TENSOR_FLOAT32 [64,64]\n%1 TENSOR_FLOAT32 [64,64] = RELU %0\noutput %1")
			m, x := newExported(t, b, 1<<16)
			in := importAt(t, b, x, 0)
			value := p.in[0].random(rand.New(rand.NewPCG(8, 8)))
			content := make([]byte, 1<<16)
			copy(content, value)
			require.NoError(t, m.Write(t.Context(), content))
			for range 3 {
				moved, err := p.execute(t.Context(), []backend.Binding{{Memory: in}}, []backend.Binding{{Memory: in, Offset: 1 << 15}})
				require.NoError(t, err)
				if b.facts.Unified {
					require.Zero(t, moved)
				} else {
					require.Equal(t, backend.Traffic{Copied: 2 * int64(len(value))}, moved)
				}
			}
			require.NoError(t, m.Read(t.Context(), content))
			require.True(t, bytes.Equal(p.host(t, [][]byte{value})[0], content[1<<15:1<<15+len(value)]))
		})
	}
}

// TestExternalReadWrite moves the first bytes of a part.
func TestExternalReadWrite(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *Backend) {
		const n = 1 << 14
		m, x := newExported(t, b, n)
		part := importAt(t, b, x, 100)
		want := make([]byte, n)
		for _, k := range []int{0, 1, 3, 777, n - 100} {
			value := bytes.Repeat([]byte{byte(k + 1)}, k)
			require.NoError(t, part.Write(t.Context(), value))
			copy(want[100:], value)
			got := make([]byte, n)
			require.NoError(t, m.Read(t.Context(), got))
			require.True(t, bytes.Equal(want, got), "%d bytes", k)
			require.NoError(t, part.Read(t.Context(), got[:k]))
			require.Equal(t, value, got[:k])
		}
		require.Error(t, part.Read(t.Context(), make([]byte, n-99)))
		require.Error(t, part.Write(t.Context(), make([]byte, n-99)))
		x.ReadOnly = true
		require.Error(t, importAt(t, b, x, 0).Write(t.Context(), make([]byte, 4)))
	})
}

// TestImportExternalRefuses parts that are not there, and what is no such memory.
func TestImportExternalRefuses(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *Backend) {
		_, good := newExported(t, b, 1<<12)
		for name, change := range map[string]func(x *backend.External){
			"kind":            func(x *backend.External) { x.Kind = 0 },
			"not trusted":     func(x *backend.External) { x.Trusted = false },
			"another device":  func(x *backend.External) { x.DeviceUUID[15]++ },
			"another driver":  func(x *backend.External) { x.DriverUUID[15]++ },
			"memory type":     func(x *backend.External) { x.MemoryType = 1 << 31 },
			"closed":          func(x *backend.External) { x.FD = -1 },
			"empty":           func(x *backend.External) { x.Size = 0 },
			"negative":        func(x *backend.External) { x.Size = -4 },
			"before it":       func(x *backend.External) { x.Offset = -4 },
			"behind it":       func(x *backend.External) { x.Offset = x.Allocation },
			"far behind it":   func(x *backend.External) { x.Offset = 1<<63 - 1 },
			"beyond its end":  func(x *backend.External) { x.Size = x.Allocation + 4 },
			"far beyond":      func(x *backend.External) { x.Size = 1<<63 - 1 },
			"no allocation":   func(x *backend.External) { x.Allocation = 0 },
			"huge allocation": func(x *backend.External) { x.Allocation = 1<<63 - 1 },
		} {
			x := good.External
			change(&x)
			_, err := b.ImportExternal(x)
			require.ErrorIs(t, err, backend.ErrNotImported, name)
		}
		importAt(t, b, good, 0)
	})
}

// TestExternalForm: what an exported tensor looks like, in the description.
func TestExternalForm(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *Backend) {
		for _, tc := range []struct {
			kind  nn.OperandType
			dims  nn.Dims
			bytes int64
			dense bool
		}{
			{nn.TensorFloat32, nn.Dims{3, 8}, 96, true},
			{nn.TensorFloat16, nn.Dims{5, 4}, 40, true},
			{nn.TensorQuant8Asymm, nn.Dims{1, 1, 7, 12}, 84, true},
			{nn.TensorFloat32, nn.Dims{3, 3}, 48, false},
			{nn.TensorFloat32, nn.Dims{1, 5}, 32, false}, // dense, but the last lanes are the device's
			{nn.TensorQuant8AsymmSigned, nn.Dims{2, 3}, 8, false},
		} {
			m, err := b.AllocateExportable(tc.kind, tc.dims, 0)
			require.NoError(t, err)
			x, err := m.Export()
			require.NoError(t, err)
			require.NoError(t, unix.Close(x.FD))
			require.Equal(t, tc.dense, x.Dense, "%v%v", tc.kind, tc.dims)
			require.Equal(t, tc.bytes, x.Size)
			require.GreaterOrEqual(t, x.Allocation, x.Size)
			require.GreaterOrEqual(t, m.Bytes(), x.Size)
			require.NoError(t, m.Close())
			_, err = m.Export()
			require.Error(t, err)
		}
		plain, ok := allocate(t, b, tensor{nn.TensorFloat32, nn.Dims{4}}).(backend.Exportable)
		require.True(t, ok)
		_, err := plain.Export()
		require.ErrorIs(t, err, vk.ErrNotSupported)
		_, err = b.AllocateExportable(nn.TensorFloat32, nn.Dims{1 << 20}, 1<<10)
		require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(err))
	})
}

// TestExternalCopiesFail, on the way in and on the way out, and the next execution works.
func TestExternalCopiesFail(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *Backend) {
		p := compileGraph(t, b, "input %0 TENSOR_FLOAT32 [2,4]\n%1 TENSOR_FLOAT32 [2,4] = RELU %0\noutput %1")
		_, x := newExported(t, b, 1<<12)
		m := importAt(t, b, x, 0)
		in, out := []backend.Binding{{Memory: m, Offset: 4}}, []backend.Binding{{Memory: m, Offset: 2052}}
		d := b.devices.now()
		for after := range 3 { // the copy in, the work, the copy out
			d.Inject(&vk.Faults{Calls: map[vk.Call]vk.Fault{vk.CallSubmit: {Result: vk.ResultOutOfDeviceMemory, After: after, Times: 1}}})
			_, err := p.execute(t.Context(), in, out)
			d.Inject(nil)
			require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(err), "%d: %v", after, err)
			moved, err := p.execute(t.Context(), in, out)
			require.NoError(t, err)
			require.GreaterOrEqual(t, moved.Copied, int64(64))
		}
	})
}
