package driver_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// changing is a storing backend that calls change before it compiles: another process at work.
type changing struct {
	*storing
	change func()
}

func (b *changing) Compile(ctx context.Context, m *nn.Model, o backend.Options) (backend.Executable, error) {
	b.change()
	return b.storing.Compile(ctx, m, o)
}

// inShared moves the constants of m to p, which has as many bytes.
func inShared(t *testing.T, p nn.Memory, m *nn.Model) *nn.Model {
	t.Helper()
	data, err := p.Bytes()
	require.NoError(t, err)
	require.Len(t, data, len(m.Values))
	copy(data, m.Values)
	for i := range m.Main.Operands {
		if o := &m.Main.Operands[i]; o.Lifetime == nn.ConstantCopy {
			o.Lifetime = nn.ConstantReference
		}
	}
	m.Values, m.Pools = nil, []nn.Memory{p}
	return m
}

// TestCacheChangingConstants: a client that changes constants in shared memory while they are compiled gets what it
// asked for, and nobody else finds that in the cache under the key of what it showed first.
func TestCacheChangingConstants(t *testing.T) {
	honest := func() *nn.Model { return binaryModel(nn.OpAdd, 3) }
	for name, opts := range map[string][]driver.Option{"whole": nil, "staged": {driver.WithStagedCompilation(1000)}, "delayed": {driver.WithDelayedCompilation()}} {
		t.Run(name, func(t *testing.T) {
			var warned atomic.Int32
			o := cacheOptions(t, &warned)
			p := newPinned(make([]byte, len(honest().Values)))
			b := &changing{&storing{}, func() {
				for i, v := range p.data {
					if v == 3 {
						p.data[i] = 100
					}
				}
			}}
			c := openStoring(t, b, o)
			pm, err := c.PrepareModel(t.Context(), inShared(t, p, honest()), opts...)
			require.NoError(t, err)
			runBinary(t, pm)
			require.NoError(t, pm.Close())
			require.True(t, bytes.Contains(p.data, []byte{100}), "the pool was changed")

			status, result := prepareCached(t, &storing{}, o, honest(), opts...)
			require.Equal(t, byte(10), result, "the cache was poisoned (%s)", status)
		})
	}
}

// TestCacheOverlappingConstants: thousands of constants that are the same bytes are not hashed each; the model is
// prepared without the cache.
func TestCacheOverlappingConstants(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), &storing{}
	m := binaryModel(nn.OpAdd, 3)
	const size = 1 << 20
	place := len(m.Values)
	m.Values = append(m.Values, make([]byte, size)...)
	for range 50_000 { // 50 GB
		m.Main.Operands = append(m.Main.Operands, nn.Operand{
			Type: nn.TensorQuant8Asymm, Scale: 1, Dims: nn.Dims{size}, Lifetime: nn.ConstantCopy,
			Location: nn.Location{Offset: uint32(place), Length: size},
		})
	}
	status, result := prepareCached(t, b, o, m)
	require.Equal(t, driver.CacheOff, status)
	require.Equal(t, byte(10), result)
	require.Zero(t, warned.Load())
}

// TestInvalidConstantsAreNotRead: a constant that is longer than its operand costs neither memory nor reading, however
// large the file is that a client made without writing to it.
func TestInvalidConstantsAreNotRead(t *testing.T) {
	d, c := open(t, &null.Backend{})
	m := constantModel(untouched{})
	m.Main.Operands[1].Location = nn.Location{Length: 1 << 30}
	_, err := c.PrepareModel(t.Context(), m)
	requireStatus(t, nn.StatusInvalidArgument, err)
	_, _, err = d.SupportedOperations(m)
	requireStatus(t, nn.StatusInvalidArgument, err)
}
