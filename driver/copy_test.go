package driver_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// openBuffer is a buffer of unknown height for a model that leaves it open.
func openBuffer(t *testing.T, dims nn.Dims) (*null.Backend, *driver.PreparedModel, *driver.Buffer) {
	t.Helper()
	b := &null.Backend{}
	_, c := open(t, b)
	pm := prepareOn(t, c, openModel(nn.Dims{0, 3}, nn.Dims{0, 3}))
	return b, pm, allocate(t, c, dims, roleOf(pm, 0), roleOf(pm, 0))
}

// read returns the buffer's value.
func read(t *testing.T, b *driver.Buffer, n int) []byte {
	t.Helper()
	out := make(nn.HostMemory, n)
	require.NoError(t, b.CopyTo(t.Context(), out))
	return out
}

func TestM10CopyFromOfAnotherSize(t *testing.T) {
	_, c, pm := domain(t)
	static := allocate(t, c, nil, roleOf(pm, 0), nil)
	_, _, dynamic := openBuffer(t, nil)
	for _, n := range []int{3, 12, 5, 7, 0} {
		requireStatus(t, nn.StatusInvalidArgument, static.CopyFrom(t.Context(), make(nn.HostMemory, n), nil))
		requireStatus(t, nn.StatusInvalidArgument, static.CopyFrom(t.Context(), make(nn.HostMemory, n), nn.Dims{2, 3}))
		requireStatus(t, nn.StatusInvalidArgument, dynamic.CopyFrom(t.Context(), make(nn.HostMemory, n), nn.Dims{2, 3}))
	}
	for _, m := range []nn.Memory{nil, static.Token(), nn.BufferToken(0)} {
		requireStatus(t, nn.StatusInvalidArgument, static.CopyFrom(t.Context(), m, nil))
		requireStatus(t, nn.StatusGeneralFailure, static.CopyTo(t.Context(), m)) // it is not initialised either
	}
}

func TestM11CopyFromDimensions(t *testing.T) {
	_, c, pm := domain(t)
	static := allocate(t, c, nil, roleOf(pm, 0), nil)
	six := make(nn.HostMemory, 6)
	for _, d := range []nn.Dims{{6}, {2, 3, 1}, {3, 2}, {1, 6}, {0, 3}, {2, 0}, {0, 0}} {
		requireStatus(t, nn.StatusInvalidArgument, static.CopyFrom(t.Context(), six, d))
	}
	require.NoError(t, static.CopyFrom(t.Context(), six, nil))
	require.NoError(t, static.CopyFrom(t.Context(), six, nn.Dims{}))
	require.NoError(t, static.CopyFrom(t.Context(), six, nn.Dims{2, 3}))

	_, _, dynamic := openBuffer(t, nil)
	for _, d := range []nn.Dims{nil, {}, {0, 3}, {6}, {3, 2}, {4, 3}} { // the last needs more bytes
		requireStatus(t, nn.StatusInvalidArgument, dynamic.CopyFrom(t.Context(), six, d))
	}
	require.NoError(t, dynamic.CopyFrom(t.Context(), six, nn.Dims{2, 3}))
	require.NoError(t, dynamic.CopyFrom(t.Context(), six[:3], nn.Dims{1, 3}))
	_, _, described := openBuffer(t, nn.Dims{2, 0})
	require.NoError(t, described.CopyFrom(t.Context(), six, nil), "the description has made it known")
	requireStatus(t, nn.StatusInvalidArgument, described.CopyFrom(t.Context(), six[:3], nn.Dims{1, 3}))
}

func TestM12CopyTo(t *testing.T) {
	_, c, pm := domain(t)
	buffer := allocate(t, c, nil, roleOf(pm, 0), nil)
	requireStatus(t, nn.StatusGeneralFailure, buffer.CopyTo(t.Context(), make(nn.HostMemory, 6)))
	require.NoError(t, buffer.CopyFrom(t.Context(), nn.HostMemory("abcdef"), nil))
	for _, n := range []int{3, 12, 0} {
		requireStatus(t, nn.StatusInvalidArgument, buffer.CopyTo(t.Context(), make(nn.HostMemory, n)))
	}
	requireStatus(t, nn.StatusInvalidArgument, buffer.CopyTo(t.Context(), nil))
	requireStatus(t, nn.StatusInvalidArgument, buffer.CopyTo(t.Context(), &sharedPool{data: make([]byte, 6), readOnly: true}))
	require.Equal(t, "abcdef", string(read(t, buffer, 6)))
}

func TestCopiesOfEveryKindOfPool(t *testing.T) {
	_, c, pm := domain(t)
	buffer := allocate(t, c, nil, roleOf(pm, 0), nil)
	for name, kind := range pools {
		t.Run(name, func(t *testing.T) {
			value := []byte("of " + name)
			value = append(value, "123"...)[:6]
			require.NoError(t, buffer.CopyFrom(t.Context(), kind(value), nil))
			got := make([]byte, 6)
			m := kind(got)
			require.NoError(t, buffer.CopyTo(t.Context(), m))
			require.Equal(t, value, got)
			if p, ok := m.(*pinnedPool); ok {
				require.Zero(t, p.users())
			}
		})
	}
}

func TestM13FailuresMakeUninitialised(t *testing.T) {
	fail := false
	b := &null.Backend{Compute: func(inputs, outputs [][]byte) error {
		if fail {
			return errors.New("the device is on fire")
		}
		return add(inputs, outputs)
	}}
	_, c := open(t, b)
	pm := prepareOn(t, c, addModel())
	buffer := allocate(t, c, nil, nil, roleOf(pm, 0))
	initialised := func() bool { return buffer.CopyTo(t.Context(), make(nn.HostMemory, 6)) == nil }
	set := func() { require.NoError(t, buffer.CopyFrom(t.Context(), make(nn.HostMemory, 6), nil)) }
	require.False(t, initialised())
	set()
	require.True(t, initialised())

	t.Run("copy", func(t *testing.T) {
		short := newFile(make([]byte, 4))
		short.size = 6
		closed := newPinned(make([]byte, 6))
		closed.Close()
		for _, m := range []nn.Memory{make(nn.HostMemory, 5), nil, short, closed} {
			set()
			require.Error(t, buffer.CopyFrom(t.Context(), m, nil))
			require.False(t, initialised())
		}
		set()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, buffer.CopyFrom(ctx, make(nn.HostMemory, 6), nil), context.Canceled)
		require.False(t, initialised())
	})
	r := bufferRequest(nil, nil, buffer)
	t.Run("execution", func(t *testing.T) {
		set()
		fail = true
		_, err := pm.Execute(t.Context(), r)
		require.ErrorContains(t, err, "on fire")
		require.False(t, initialised())
		fail = false
		_, err = pm.Execute(t.Context(), r)
		require.NoError(t, err)
		require.True(t, initialised())
	})
	t.Run("refused request", func(t *testing.T) {
		set()
		bad := bufferRequest(nil, nil, buffer)
		bad.Inputs[0].Location.Length = 5
		_, err := pm.Execute(t.Context(), bad)
		requireStatus(t, nn.StatusInvalidArgument, err)
		bad = bufferRequest(nil, nil, buffer)
		bad.Pools[0] = brokenMemory{}
		_, err = pm.Execute(t.Context(), bad)
		requireStatus(t, nn.StatusGeneralFailure, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = pm.Execute(ctx, bufferRequest(nil, nil, buffer))
		require.ErrorIs(t, err, context.Canceled)
		require.True(t, initialised(), "nothing ran")
	})
}

// TestM13FileOutputs: the execution has failed when one of its outputs cannot be written.
func TestM13FileOutputs(t *testing.T) {
	b := &null.Backend{}
	_, c := open(t, b)
	m := addModel()
	m.Main.Operands = append(m.Main.Operands, nn.Operand{Type: nn.TensorQuant8Asymm, Dims: nn.Dims{2, 3}, Scale: 1, Lifetime: nn.SubgraphOutput})
	last := uint32(len(m.Main.Operands) - 1)
	m.Main.Operations = append(m.Main.Operations, nn.Operation{Type: nn.OpRelu, Inputs: []uint32{0}, Outputs: []uint32{last}})
	m.Main.Outputs = append(m.Main.Outputs, last)
	pm := prepareOn(t, c, m)
	buffer := allocate(t, c, nil, nil, roleOf(pm, 1))
	r := addRequest()
	f := newFile(make([]byte, 6))
	r.Pools = append(r.Pools, f, buffer.Token())
	r.Outputs = []nn.RequestArgument{
		{Location: nn.Location{PoolIndex: 1, Length: 6}}, {Location: nn.Location{PoolIndex: 2}},
	}
	_, err := pm.Execute(t.Context(), r)
	require.NoError(t, err)
	read(t, buffer, 6)
	f.full = true
	_, err = pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusGeneralFailure, err)
	requireStatus(t, nn.StatusGeneralFailure, buffer.CopyTo(t.Context(), make(nn.HostMemory, 6)))
}

// untouched is a large file that must not be read.
type untouched struct{ nn.File }

func (untouched) Size() int64                       { return 1 << 30 }
func (untouched) ReadAt([]byte, int64) (int, error) { panic("the file was read") }

// TestCopyBeyondTheBudget: what the device has no room for the host does not read either.
func TestCopyBeyondTheBudget(t *testing.T) {
	d, _ := open(t, &null.Backend{})
	c, err := d.NewClient("small", driver.WithClientBudget(100))
	require.NoError(t, err)
	pm := prepareOn(t, c, openModel(nil, nil))
	buffer := allocate(t, c, nil, roleOf(pm, 0), nil)
	err = buffer.CopyFrom(t.Context(), untouched{}, nn.Dims{1 << 15, 1 << 15})
	requireStatus(t, nn.StatusResourceExhaustedPersistent, err)
	require.Zero(t, c.Memory())
}

func TestResizing(t *testing.T) {
	b, pm, buffer := openBuffer(t, nil)
	require.Zero(t, b.Used(), "late")
	require.NoError(t, buffer.CopyFrom(t.Context(), nn.HostMemory("abcdef"), nn.Dims{2, 3}))
	require.EqualValues(t, 6, b.Used())
	require.NoError(t, buffer.CopyFrom(t.Context(), nn.HostMemory("ghijkl"), nn.Dims{2, 3}))
	require.Equal(t, 1, count(b.Calls(), "allocate"))
	require.NoError(t, buffer.CopyFrom(t.Context(), nn.HostMemory("mno"), nn.Dims{1, 3}))
	require.EqualValues(t, 3, b.Used())
	require.Equal(t, "mno", string(read(t, buffer, 3)))
	requireStatus(t, nn.StatusInvalidArgument, buffer.CopyTo(t.Context(), make(nn.HostMemory, 6)))

	// An execution whose output has another size.
	r := openRequest()
	r.Pools = append(r.Pools, buffer.Token())
	r.Outputs[0] = nn.RequestArgument{Location: nn.Location{PoolIndex: 1}}
	res, err := pm.Execute(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{2, 3}, IsSufficient: true}}, res.Shapes)
	require.EqualValues(t, 6, b.Used())
	read(t, buffer, 6)
	require.NoError(t, buffer.Close())
	require.Zero(t, b.Used())
}

func TestClosedBuffers(t *testing.T) {
	b, c, pm := domain(t)
	buffer := allocate(t, c, nil, nil, roleOf(pm, 0))
	require.NoError(t, buffer.Close())
	for _, err := range []error{
		buffer.CopyFrom(t.Context(), make(nn.HostMemory, 6), nil), buffer.CopyTo(t.Context(), make(nn.HostMemory, 6)),
	} {
		require.ErrorIs(t, err, driver.ErrClosed)
		requireStatus(t, nn.StatusGeneralFailure, err)
	}
	_, err := pm.Execute(t.Context(), bufferRequest(nil, nil, buffer))
	requireStatus(t, nn.StatusInvalidArgument, err)

	left := allocate(t, c, nil, nil, roleOf(pm, 0))
	require.NoError(t, c.Close())
	require.Zero(t, b.Used(), "freed with the client")
	require.NoError(t, left.Close())
	require.ErrorIs(t, left.CopyTo(t.Context(), make(nn.HostMemory, 6)), driver.ErrClosed)
	_, err = c.Allocate(driver.BufferDesc{}, nil, roleOf(pm, 0))
	require.ErrorIs(t, err, driver.ErrClosed)
}
