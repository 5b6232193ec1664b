package driver_test

import (
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
	"github.com/nngpu/nngpu/memory"
)

// importing is a backend that imports memory of devices by mapping its descriptor.
type importing struct {
	*null.Backend
	mu     sync.Mutex
	fail   error              // guarded by mu; of the next imports
	seen   []backend.External // guarded by mu
	mapped [][]byte           // guarded by mu
}

func (b *importing) ImportExternal(x backend.External) (backend.Memory, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = append(b.seen, x)
	if b.fail != nil {
		return nil, b.fail
	}
	p, err := unix.Mmap(x.FD, 0, int(x.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	b.mapped = append(b.mapped, p)
	return b.Import(p, x.ReadOnly)
}

func (b *importing) AllocateExportable(nn.OperandType, nn.Dims, int64) (backend.Exportable, error) {
	return nil, nn.Errorf(nn.StatusGeneralFailure, "memory", "nothing is exported")
}

func (b *importing) failWith(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = err
}

func (b *importing) attempts() []backend.External {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen
}

// openImporting returns a device on an importing backend that computes what the null backend is told to.
func openImporting(t *testing.T, b *null.Backend) (*importing, *driver.Device, *driver.Client) {
	t.Helper()
	x := &importing{Backend: b}
	d := driver.NewDevice(x, driver.WithCache(driver.CacheOptions{Off: true}))
	t.Cleanup(func() {
		require.NoError(t, d.Close())
		for _, p := range x.mapped {
			require.NoError(t, unix.Munmap(p))
		}
	})
	c, err := d.NewClient("test")
	require.NoError(t, err)
	return x, d, c
}

// fakeExternal is memory of a device that the host cannot map, in a memfd; fakeDMABuf is one that it can map.
type (
	fakeExternal struct {
		sharedPool // its data are not what the device sees
		file       *os.File
		source     memory.Source
	}
	fakeDMABuf struct{ *fakeExternal }
	fakeOpaque struct{ hidden }
)

// hidden leaves out what makes memory nn.Shared.
type hidden interface {
	Descriptor() memory.Descriptor
	Allocation() int64
	DupFD() (int, error)
	Hold() (func(), error)
	OnRelease(f func())
	Fixed() bool
	Regular() bool
	Size() int64
}

func (fakeOpaque) Bytes() ([]byte, error) { return nil, errors.New("the host cannot map it") }

func (x *fakeExternal) Descriptor() memory.Descriptor { return memory.Descriptor{Source: x.source} }
func (x *fakeExternal) Allocation() int64             { return 1 << 12 }
func (x *fakeExternal) DupFD() (int, error)           { return unix.Dup(int(x.file.Fd())) }
func (x *fakeExternal) Hold() (func(), error)         { return x.Acquire() }
func (x *fakeExternal) Fixed() bool                   { return true }
func (x *fakeExternal) Regular() bool                 { return false }
func (x *fakeExternal) OnRelease(f func()) {
	x.mu.Lock()
	x.onClose = append(x.onClose, f)
	x.mu.Unlock()
	x.end()
}

func newFakeExternal(t *testing.T, data []byte, s memory.Source) *fakeExternal {
	t.Helper()
	x := &fakeExternal{sharedPool: sharedPool{data: data}, file: memfd(t, 1<<12), source: s}
	_, err := x.file.WriteAt(data, 0)
	require.NoError(t, err)
	return x
}

// onHost and onDevice are the result of addRequest in x, as each of them sees it.
func (x *fakeExternal) onHost() []byte { return x.data[16:22] }

func (x *fakeExternal) onDevice(t *testing.T) []byte {
	t.Helper()
	b := make([]byte, 6)
	_, err := x.file.ReadAt(b, 16)
	require.NoError(t, err)
	return b
}

// newFakes returns a new dma-buf and new opaque memory with the bytes of addRequest.
func newFakes(t *testing.T) map[string]struct {
	*fakeExternal
	pool nn.Memory
} {
	t.Helper()
	bytes := func() []byte { return addRequest().Pools[0].(nn.HostMemory) }
	buf, opaque := newFakeExternal(t, bytes(), memory.SourceDMABuf), newFakeExternal(t, bytes(), memory.SourceOpaque)
	return map[string]struct {
		*fakeExternal
		pool nn.Memory
	}{"dma-buf": {buf, fakeDMABuf{buf}}, "opaque fd": {opaque, fakeOpaque{opaque}}}
}

// TestExternalMemoryIsImportedOnce, used in place, and let go with the pool.
func TestExternalMemoryIsImportedOnce(t *testing.T) {
	for name, x := range newFakes(t) {
		t.Run(name, func(t *testing.T) {
			b, _, c := openImporting(t, &null.Backend{Compute: add})
			pm := prepareOn(t, c, addModel())
			r := addRequest()
			r.Pools[0] = x.pool
			burst := pm.Burst()
			for i := range 4 {
				var res *driver.Result
				var err error
				if i%2 == 0 {
					res, err = pm.Execute(t.Context(), r)
				} else {
					res, err = burst.Execute(t.Context(), r, []int32{0})
				}
				require.NoError(t, err)
				require.Zero(t, res.Traffic.Copied)
			}
			require.Equal(t, addResult, x.onDevice(t))
			require.NotEqual(t, addResult, x.onHost())
			require.Len(t, b.attempts(), 1)
			seen := b.attempts()[0]
			require.Equal(t, int64(24), seen.Size)
			require.Equal(t, int64(1<<12), seen.Allocation)
			require.False(t, seen.Trusted)
			require.Equal(t, 1, count(b.Calls(), "import"))

			b.Lose()
			_, err := burst.Execute(t.Context(), r, []int32{0})
			require.NoError(t, err)
			require.Equal(t, 2, count(b.Calls(), "import"), "again, on the device that came back")
			require.Zero(t, x.users())
			x.Close()
			require.Equal(t, 2, count(b.Calls(), "free memory"))
			_, err = pm.Execute(t.Context(), r)
			requireStatus(t, nn.StatusInvalidArgument, err)
		})
	}
}

// TestM28ExternalMemoryThatIsNotImported is copied where the host can map it, else the request fails.
func TestM28ExternalMemoryThatIsNotImported(t *testing.T) {
	for name, x := range newFakes(t) {
		t.Run(name, func(t *testing.T) {
			b, d, c := openImporting(t, &null.Backend{Compute: add})
			pm := prepareOn(t, c, addModel())
			b.failWith(backend.ErrNotImported)
			r := addRequest()
			r.Pools[0] = x.pool
			for range 2 {
				res, err := pm.Execute(t.Context(), r)
				if name == "opaque fd" {
					requireStatus(t, nn.StatusGeneralFailure, err)
					continue
				}
				require.NoError(t, err)
				require.EqualValues(t, 18, res.Traffic.Copied)
				require.Equal(t, addResult, x.onHost())
				require.Len(t, b.attempts(), 1)
			}
			// A backend that knows nothing of such memory.
			plain := prepare(t, &null.Backend{Compute: add}, addModel())
			_, err := plain.Execute(t.Context(), r)
			// As constants, which the host reads.
			supported, reasons, cerr := d.SupportedOperations(constantModel(x.pool))
			require.NoError(t, cerr)
			_, perr := c.PrepareModel(t.Context(), constantModel(x.pool))
			if name == "opaque fd" {
				requireStatus(t, nn.StatusGeneralFailure, err)
				require.Equal(t, []bool{false}, supported)
				requireStatus(t, nn.StatusGeneralFailure, reasons[0])
				requireStatus(t, nn.StatusGeneralFailure, perr)
				b.failWith(nil)
				_, err = pm.Execute(t.Context(), r)
				require.NoError(t, err, "nothing is remembered")
			} else {
				require.NoError(t, errors.Join(err, perr))
				require.Equal(t, []bool{true}, supported)
			}
			require.Zero(t, x.users())

			other := newFakes(t)[name]
			r.Pools[0] = other.pool
			b.failWith(nn.Errorf(nn.StatusDeviceUnavailable, "device", "is lost"))
			_, err = pm.Execute(t.Context(), r)
			requireStatus(t, nn.StatusDeviceUnavailable, err)
			b.failWith(nil)
			_, err = pm.Execute(t.Context(), r)
			require.NoError(t, err)
			require.Zero(t, other.users())
		})
	}
}

// TestExternalMemoryChecks: rules that do not depend on what memory a pool is.
func TestExternalMemoryChecks(t *testing.T) {
	for name, x := range newFakes(t) {
		t.Run(name, func(t *testing.T) {
			b, _, c := openImporting(t, &null.Backend{Compute: add})
			pm := prepareOn(t, c, addModel())
			r := addRequest()
			r.Pools[0] = x.pool
			r.Outputs[0].Location.Offset = 3 // R10
			_, err := pm.Execute(t.Context(), r)
			requireStatus(t, nn.StatusInvalidArgument, err)
			r.Outputs[0].Location.Offset = 19
			_, err = pm.Execute(t.Context(), r)
			requireStatus(t, nn.StatusInvalidArgument, err)
			if name == "opaque fd" {
				return
			}
			x = newFakes(t)[name]
			x.readOnly, r.Pools[0] = true, x.pool
			r.Outputs[0].Location.Offset = 16
			_, err = pm.Execute(t.Context(), r)
			requireStatus(t, nn.StatusInvalidArgument, err)
			r.Pools = append(r.Pools, make(nn.HostMemory, 6))
			r.Outputs[0].Location = nn.Location{PoolIndex: 1, Length: 6}
			_, err = pm.Execute(t.Context(), r)
			require.NoError(t, err)
			seen := b.attempts()
			require.True(t, seen[len(seen)-1].ReadOnly)
		})
	}
}

// TestExternalImages: the texels are read in place.
func TestExternalImages(t *testing.T) {
	texels := make([]byte, 40)
	for i := range texels {
		texels[i] = byte(i)
	}
	for name, source := range map[string]memory.Source{"dma-buf": memory.SourceDMABuf, "opaque fd": memory.SourceOpaque} {
		t.Run(name, func(t *testing.T) {
			b, _, c := openImporting(t, &null.Backend{Compute: copyOut})
			pm := prepareOn(t, c, imageModel(nn.TensorQuant8Asymm, 2))
			x := newFakeExternal(t, texels, source)
			var pool nn.Memory = fakeOpaque{x}
			if source == memory.SourceDMABuf {
				pool = fakeDMABuf{x}
			}
			r := imageRequest(picture{pictureLayout, pool})
			res, err := pm.Execute(t.Context(), r)
			require.NoError(t, err)
			require.EqualValues(t, 12, res.Traffic.Copied, "the output alone")
			require.Equal(t, []byte{0, 1, 4, 5, 8, 9, 20, 21, 24, 25, 28, 29}, []byte(r.Pools[1].(nn.HostMemory)))
			require.Len(t, b.attempts(), 1)
			require.Zero(t, x.users())
		})
	}
}

// TestOutputOfUnknownSize: the room of a pool is bound in place. A backend that does not say what it wrote there fails.
func TestOutputOfUnknownSize(t *testing.T) {
	for name, x := range newFakes(t) {
		t.Run(name, func(t *testing.T) {
			b, _, c := openImporting(t, &null.Backend{Compute: copyOut})
			pm := prepareOn(t, c, shapedModel(nn.Dims{6}, nil, 1))
			r := shapedRequest(2, 3, 8)
			r.Pools[2] = x.pool
			_, err := pm.Execute(t.Context(), r)
			requireStatus(t, nn.StatusGeneralFailure, err)
			require.ErrorContains(t, err, "nobody knows")
			require.Equal(t, 1, count(b.Calls(), "finish"))
			require.Zero(t, x.users())
		})
	}
}

// TestDeviceClosesBeforeExternalPools: nothing is left for the pool to undo.
func TestDeviceClosesBeforeExternalPools(t *testing.T) {
	for name, x := range newFakes(t) {
		t.Run(name, func(t *testing.T) {
			b, d, c := openImporting(t, &null.Backend{Compute: add})
			pm := prepareOn(t, c, addModel())
			r := addRequest()
			r.Pools[0] = x.pool
			_, err := pm.Execute(t.Context(), r)
			require.NoError(t, err)
			require.NoError(t, d.Close())
			require.Equal(t, 1, count(b.Calls(), "free memory"))
			x.Close()
			require.Equal(t, 1, count(b.Calls(), "free memory"))
		})
	}
}

// TestExternalMemoryConcurrently: executions overlap, and pools are closed under them.
func TestExternalMemoryConcurrently(t *testing.T) {
	b, _, c := openImporting(t, &null.Backend{Compute: copyOut})
	d := nn.Dims{2, 3}
	pm := prepareOn(t, c, reluModel(nn.TensorQuant8Asymm, 1, 0, d, d))
	for range 20 {
		for _, x := range newFakes(t) {
			before := len(b.attempts())
			var wg sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				wg.Go(func() {
					for range 10 {
						r := &nn.Request{
							Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: 6}}},
							Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: 6}}},
							Pools:   []nn.Memory{x.pool, make(nn.HostMemory, 6)},
						}
						if _, err := pm.Execute(t.Context(), r); err != nil {
							errs[i] = err
							return
						}
						if i == 0 {
							x.Close()
						}
					}
				})
			}
			wg.Wait()
			for _, err := range errs {
				if err != nil {
					requireStatus(t, nn.StatusInvalidArgument, err)
				}
			}
			require.Error(t, errs[0])
			require.Len(t, b.attempts(), before+1)
			require.Zero(t, x.users())
		}
	}
	require.Equal(t, count(b.Calls(), "import"), count(b.Calls(), "free memory"))
}
