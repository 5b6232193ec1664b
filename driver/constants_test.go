package driver_test

import (
	"bytes"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/gpu/null"
	"github.com/nngpu/nngpu/memory"
)

// growModel is y = PAD(x) of x [1, 6] of bytes, whose amounts lie in a pool: the third is how many rows come first.
func growModel(amounts nn.Memory) *nn.Model {
	var b nn.Builder
	x := b.Input(nn.TensorQuant8Asymm, nn.Dims{1, 6}, 1, 0)
	pads := b.Const(nn.TensorInt32, nn.Dims{2, 2}, 0, 0, make([]byte, 16))
	y := b.Temp(nn.TensorQuant8Asymm, nn.Dims{0, 6}, 1, 0)
	b.Op(nn.OpPad, []uint32{x, pads}, []uint32{y})
	b.Output(y)
	m := nntest.Build(&b)
	o := &m.Main.Operands[pads]
	o.Lifetime, o.Location = nn.ConstantReference, nn.Location{Length: o.Location.Length}
	m.Values, m.Pools = nil, []nn.Memory{amounts}
	return m
}

// planned is a null backend that knows, as one that computes does, how large it compiled the output of growModel, and
// fills what it is given for it.
func planned(t *testing.T) *null.Backend {
	var size atomic.Int64
	return &null.Backend{
		Model: func(m *nn.Model) {
			dims, err := validate.Shapes(m)
			require.NoError(t, err)
			size.Store(6 * int64(dims[m.Main.Outputs[0]][0]))
		},
		Compute: func(_, outputs [][]byte) error {
			if len(outputs[0]) != int(size.Load()) {
				t.Errorf("room of %d bytes for an output that was compiled to %d", len(outputs[0]), size.Load())
			}
			for i := range outputs[0] {
				outputs[0][i] = 0xee
			}
			return nil
		},
	}
}

// ashmem is shared memory that is closed with the test, and its bytes.
func ashmem(t *testing.T, size int64) (*memory.Mapped, []byte) {
	t.Helper()
	p, err := memory.NewAshmem("nngpu-test", size)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	data, err := p.Bytes()
	require.NoError(t, err)
	return p, data
}

// runGrown runs growModel into the middle of a pool that is used in place, and requires all but the output to stay.
func runGrown(t *testing.T, pm *driver.PreparedModel) (rows uint32, status nn.Status) {
	t.Helper()
	const at, room = 256, 12
	pool, data := ashmem(t, 1024)
	for i := range data {
		data[i] = 0xc5
	}
	res, err := pm.Execute(t.Context(), &nn.Request{
		Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: 6}}},
		Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Offset: at, Length: room}}},
		Pools:   []nn.Memory{make(nn.HostMemory, 6), pool},
	})
	status = nn.StatusOf(err)
	written := 0
	if status == nn.StatusNone {
		rows = res.Shapes[0].Dims[0]
		written = 6 * int(rows)
		require.LessOrEqual(t, written, room)
	}
	for i, v := range data {
		want := byte(0xc5)
		if i >= at && i < at+written {
			want = 0xee
		}
		if v != want {
			t.Fatalf("%v: byte %d of the pool is %#x, not %#x; the output is at [%d, %d)", status, i, v, want, at, at+written)
		}
	}
	return rows, status
}

// TestConstantsChangeLater: what a model was checked with is what runs, whenever it is compiled.
func TestConstantsChangeLater(t *testing.T) {
	for name, opts := range map[string][]driver.Option{
		"at once": nil, "delayed": {driver.WithDelayedCompilation()}, "staged": {driver.WithStagedCompilation(1)},
		"both": {driver.WithDelayedCompilation(), driver.WithStagedCompilation(1)},
	} {
		t.Run(name, func(t *testing.T) {
			pool, amounts := ashmem(t, 16)
			_, c := open(t, planned(t))
			pm, err := c.PrepareModel(t.Context(), growModel(pool), opts...)
			require.NoError(t, err)
			amounts[0] = 15
			for range 3 {
				rows, status := runGrown(t, pm)
				require.Equal(t, nn.StatusNone, status)
				require.EqualValues(t, 1, rows)
			}
			require.NoError(t, pm.Close())
			require.Zero(t, c.Memory())
		})
	}
}

// TestConstantsChangeMeanwhile: a client that writes to a constant while the model is prepared gets either of two
// models, whole.
func TestConstantsChangeMeanwhile(t *testing.T) {
	pool, amounts := ashmem(t, 16)
	stop := make(chan struct{})
	var writing sync.WaitGroup
	defer writing.Wait()
	defer close(stop)
	writing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				amounts[0] = byte(i % 2 * 15)
			}
		}
	})
	_, c := open(t, planned(t))
	seen := map[nn.Status]int{}
	for i := range 1000 {
		var opts []driver.Option
		if i%2 == 1 {
			opts = append(opts, driver.WithDelayedCompilation())
		}
		pm, err := c.PrepareModel(t.Context(), growModel(pool), opts...)
		require.NoError(t, err)
		_, status := runGrown(t, pm)
		seen[status]++
		require.NoError(t, pm.Close())
	}
	require.Len(t, seen, 2, "%v", seen)
	require.Positive(t, seen[nn.StatusNone])
	require.Positive(t, seen[nn.StatusOutputInsufficientSize])
}

// manyConstants adds constants to addModel that lie in its pools: bytes [offset, offset+n) of pool i.
func manyConstants(pools []nn.Memory, places ...nn.Location) *nn.Model {
	m := addModel()
	m.Pools = pools
	for _, l := range places {
		m.Main.Operands = append(m.Main.Operands, nn.Operand{
			Type: nn.TensorQuant8Asymm, Scale: 1, Dims: nn.Dims{l.Length}, Lifetime: nn.ConstantReference, Location: l,
		})
	}
	return m
}

// TestConstantsAreCopiedOnce: each byte that is a constant's, and no other, however many constants it is a part of.
func TestConstantsAreCopiedOnce(t *testing.T) {
	const size = 1 << 20
	at := func(pool, offset, length uint32) nn.Location {
		return nn.Location{PoolIndex: pool, Offset: offset, Length: length}
	}
	pool, data := ashmem(t, size)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	h, err := pool.Handle()
	require.NoError(t, err)
	again, err := memory.Open(h)
	require.NoError(t, err)
	require.NoError(t, h.Close())
	defer again.Close()
	var nested []nn.Location
	for i := range uint32(1000) {
		nested = append(nested, at(0, i, 100_000))
	}
	for name, tc := range map[string]struct {
		pools  []nn.Memory
		places []nn.Location
		want   int64
	}{
		"none":             {[]nn.Memory{pool}, nil, 0},
		"one":              {[]nn.Memory{pool}, []nn.Location{at(0, 5, 7)}, 7},
		"twice the same":   {[]nn.Memory{pool}, []nn.Location{at(0, 5, 7), at(0, 5, 7)}, 7},
		"far apart":        {[]nn.Memory{pool}, []nn.Location{at(0, size-7, 7), at(0, 0, 9)}, 16},
		"neighbours":       {[]nn.Memory{pool}, []nn.Location{at(0, 12, 5), at(0, 5, 7)}, 12},
		"within":           {[]nn.Memory{pool}, []nn.Location{at(0, 5, 100), at(0, 20, 7), at(0, 90, 30)}, 115},
		"nested, and far":  {[]nn.Memory{pool}, append(nested, at(0, size-1, 1)), 999 + 100_000 + 1},
		"a pool twice":     {[]nn.Memory{pool, pool}, []nn.Location{at(0, 5, 10), at(1, 10, 10)}, 15},
		"two of one file":  {[]nn.Memory{pool, again}, []nn.Location{at(0, 5, 10), at(1, 10, 10)}, 15},
		"two pools":        {[]nn.Memory{pool, newPinned(make([]byte, 100))}, []nn.Location{at(0, 5, 10), at(1, 10, 10)}, 20},
		"the caller's own": {[]nn.Memory{make(nn.HostMemory, 100)}, []nn.Location{at(0, 5, 10)}, 0},
		"a file":           {[]nn.Memory{newFile(make([]byte, 100))}, []nn.Location{at(0, 5, 10), at(0, 10, 10)}, 15},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[int][]byte{}
			m := manyConstants(tc.pools, tc.places...)
			for i := range m.Main.Operands {
				o := &m.Main.Operands[i]
				if data, err := m.Pools[o.Location.PoolIndex].Bytes(); err == nil && o.Lifetime == nn.ConstantReference {
					want[i] = bytes.Clone(data[o.Location.Offset:][:o.Location.Length])
				}
			}
			_, c := open(t, &null.Backend{Model: func(m *nn.Model) {
				for i, value := range want {
					got, err := m.Value(&m.Main.Operands[i])
					require.NoError(t, err)
					require.True(t, bytes.Equal(value, got), "operand %d", i)
				}
			}})
			pm, err := c.PrepareModel(t.Context(), m, driver.WithDelayedCompilation())
			require.NoError(t, err)
			require.Equal(t, tc.want, c.Memory())
			require.NoError(t, pm.Ready(t.Context()))
			require.Zero(t, c.Memory(), "compiled")
			pm, err = c.PrepareModel(t.Context(), m, driver.WithDelayedCompilation())
			require.NoError(t, err)
			require.NoError(t, pm.Close())
			require.Zero(t, c.Memory(), "closed before it was compiled")
		})
	}
}

// TestConstantsInTheBudget: the copy counts as long as it is held, and what does not fit is not copied.
func TestConstantsInTheBudget(t *testing.T) {
	const size = 1 << 16
	d, _ := open(t, &null.Backend{Weights: size, Quick: true})
	pool, _ := ashmem(t, size)
	m := manyConstants([]nn.Memory{pool}, nn.Location{Length: size})
	client := func(budget int64) *driver.Client {
		c, err := d.NewClient("test", driver.WithClientBudget(budget))
		require.NoError(t, err)
		return c
	}
	c := client(size)
	pm := prepareOn(t, c, m)
	require.EqualValues(t, size, c.Memory(), "the weights alone")
	_, err := c.PrepareModel(t.Context(), m)
	requireStatus(t, nn.StatusResourceExhaustedTransient, err)
	require.NoError(t, pm.Close())
	require.Zero(t, c.Memory())
	_, err = client(size-1).PrepareModel(t.Context(), m)
	requireStatus(t, nn.StatusResourceExhaustedPersistent, err)

	// A failure gives back what was taken.
	wrong := manyConstants([]nn.Memory{pool}, nn.Location{Length: size})
	wrong.Main.Operations[0].Inputs = wrong.Main.Operations[0].Inputs[1:]
	_, err = c.PrepareModel(t.Context(), wrong)
	requireStatus(t, nn.StatusInvalidArgument, err)
	require.Zero(t, c.Memory())
	short := newFile(make([]byte, size))
	short.data = nil
	_, err = c.PrepareModel(t.Context(), manyConstants([]nn.Memory{short}, nn.Location{Length: size}))
	requireStatus(t, nn.StatusGeneralFailure, err)
	require.Zero(t, c.Memory())

	// Until the optimised form was compiled the copy is there beside the quick one.
	pm, err = client(2*size).PrepareModel(t.Context(), m, driver.WithStagedCompilation(1000))
	require.NoError(t, err)
	require.NoError(t, pm.Close())
	_, err = c.PrepareModel(t.Context(), m, driver.WithStagedCompilation(1000))
	requireStatus(t, nn.StatusResourceExhaustedPersistent, err)
	require.Zero(t, c.Memory())
}

// TestParametersAreKeptOnce: those from which the shapes of requests follow, in the client's account.
func TestParametersAreKeptOnce(t *testing.T) {
	pool, data := ashmem(t, 1<<16)
	copy(data, padAmounts)
	m := padModel(pool)
	for range 1000 {
		m.Main.Operands = append(m.Main.Operands, nn.Operand{
			Type: nn.TensorInt32, Dims: nn.Dims{1024}, Lifetime: nn.ConstantReference, Location: nn.Location{Offset: 8, Length: 4096},
		})
	}
	_, c := open(t, &null.Backend{})
	pm := prepareOn(t, c, m)
	require.EqualValues(t, 4096+8, c.Memory())
	require.NoError(t, pm.Close())
	require.Zero(t, c.Memory())
}

// sealed opens a memfd of 16 zeroes that has seals. mapping, where the client wants one, is from before it was sealed.
func sealed(t *testing.T, seals int, mapped bool) (pool memory.Pool, mapping []byte) {
	t.Helper()
	made, err := memory.NewAshmem("nngpu-test", 16)
	require.NoError(t, err)
	h, err := made.Handle()
	require.NoError(t, err)
	require.NoError(t, made.Close()) // its mapping keeps the file from being sealed
	defer h.Close()
	fd := int(h.Files[0].Fd())
	if mapped {
		mapping, err = unix.Mmap(fd, 0, 16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, unix.Munmap(mapping)) })
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
		require.ErrorIs(t, err, unix.EBUSY, "the kernel keeps what Sealed relies on")
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	require.NoError(t, err)
	pool, err = memory.Open(h)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return pool, mapping
}

// TestSealedConstants are not copied where nobody can write them, by a mapping that he has from before either.
func TestSealedConstants(t *testing.T) {
	pool, _ := sealed(t, unix.F_SEAL_WRITE, false)
	_, c := open(t, planned(t))
	pm, err := c.PrepareModel(t.Context(), growModel(pool), driver.WithDelayedCompilation())
	require.NoError(t, err)
	require.Zero(t, c.Memory())
	require.NoError(t, pool.Close(), "the driver keeps it open")
	rows, status := runGrown(t, pm)
	require.Equal(t, nn.StatusNone, status)
	require.EqualValues(t, 1, rows)

	pool, mapping := sealed(t, unix.F_SEAL_FUTURE_WRITE, true)
	pm, err = c.PrepareModel(t.Context(), growModel(pool), driver.WithDelayedCompilation())
	require.NoError(t, err)
	require.EqualValues(t, 16, c.Memory())
	binary.LittleEndian.PutUint32(mapping, 15)
	rows, status = runGrown(t, pm)
	require.Equal(t, nn.StatusNone, status)
	require.EqualValues(t, 1, rows)
}

// TestNullRefusesOtherSizes, whatever the driver believes.
func TestNullRefusesOtherSizes(t *testing.T) {
	b := &null.Backend{}
	exe, err := b.Compile(t.Context(), addModel(), backend.Options{})
	require.NoError(t, err)
	m, err := b.Import(make([]byte, 64), false)
	require.NoError(t, err)
	good := []backend.Binding{{Host: make([]byte, 6)}, {Memory: m, Offset: 58, Length: 6}}
	for name, out := range map[string]backend.Binding{
		"less": {Memory: m, Length: 5}, "more": {Memory: m, Length: 7}, "none": {Memory: m}, "less of the host": {Host: make([]byte, 5)},
		"behind the end": {Memory: m, Offset: 59, Length: 6}, "before": {Memory: m, Offset: -1, Length: 6},
	} {
		_, err := exe.Begin(t.Context(), good, []backend.Binding{out})
		require.Error(t, err, name)
		require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err), name)
	}
	x, err := exe.Begin(t.Context(), good, []backend.Binding{{Memory: m, Length: 6}})
	require.NoError(t, err)
	x.Release()
	require.NoError(t, m.Close(), "nobody borrows it")
}
