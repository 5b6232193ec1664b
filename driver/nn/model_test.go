package nn

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestElementsOverflowIsAnError(t *testing.T) {
	for _, tc := range []struct {
		dims Dims
		want uint32
		ok   bool
	}{
		{nil, 1, true},
		{Dims{7}, 7, true},
		{Dims{1, 5, 7, 3}, 105, true},
		{Dims{3, 0, 5}, 0, true},
		{Dims{0}, 0, true},
		{Dims{math.MaxUint32}, math.MaxUint32, true},
		{Dims{65537, 65535}, math.MaxUint32, true},
		{Dims{1, math.MaxUint32, 1, 1}, math.MaxUint32, true},
		{Dims{65536, 65536}, 0, false},
		{Dims{math.MaxUint32, 2}, 0, false},
		{Dims{1 << 31, 1 << 31, 4}, 0, false}, // 2^64: wraps to 0
		{Dims{math.MaxUint32, math.MaxUint32, math.MaxUint32, math.MaxUint32, math.MaxUint32}, 0, false},
	} {
		n, err := tc.dims.Elements()
		require.Equal(t, tc.ok, err == nil, tc.dims)
		require.Equal(t, tc.want, n, tc.dims)
	}
}

func TestByteSizeOverflowIsAnError(t *testing.T) {
	size := func(ty OperandType, dims ...uint32) (uint32, error) {
		o := Operand{Type: ty, Dims: dims}
		return o.ByteSize()
	}
	for _, tc := range []struct {
		t    OperandType
		dims Dims
		want uint32
		ok   bool
	}{
		{TensorFloat32, Dims{2, 3}, 24, true},
		{TensorFloat16, Dims{5}, 10, true},
		{TensorQuant8Asymm, Dims{math.MaxUint32}, math.MaxUint32, true},
		{Int32, nil, 4, true},
		{Bool, nil, 1, true},
		{TensorFloat32, Dims{0, 9}, 0, true},
		{TensorFloat32, Dims{1 << 30}, 0, false},
		{TensorFloat16, Dims{1 << 31}, 0, false},
		{TensorFloat32, Dims{1 << 16, 1 << 16}, 0, false},
		{OperandType(99), Dims{4}, 0, true},
	} {
		n, err := size(tc.t, tc.dims...)
		require.Equal(t, tc.ok, err == nil, "%v%v", tc.t, tc.dims)
		require.Equal(t, tc.want, n, "%v%v", tc.t, tc.dims)
	}
}

func TestDimsKnownAndEqual(t *testing.T) {
	require.True(t, Dims(nil).Known())
	require.True(t, Dims{1, 2}.Known())
	require.False(t, Dims{1, 0}.Known())
	require.True(t, Dims(nil).Equal(Dims{}))
	require.True(t, Dims{1, 2}.Equal(Dims{1, 2}))
	require.False(t, Dims{1, 2}.Equal(Dims{2, 1}))
	require.False(t, Dims{1, 2}.Equal(Dims{1, 2, 1}))
}

// goneMemory cannot be mapped.
type goneMemory struct{}

var errGone = errors.New("gone")

func (goneMemory) Size() int64            { return 8 }
func (goneMemory) Bytes() ([]byte, error) { return nil, errGone }

func TestValueStaysInItsPool(t *testing.T) {
	m := &Model{
		Values: []byte{0, 1, 2, 3, 4, 5, 6, 7},
		Pools:  []Memory{HostMemory{10, 11, 12}, goneMemory{}, nil},
	}
	for _, tc := range []struct {
		name string
		l    Lifetime
		at   Location
		want []byte
		ok   bool
	}{
		{"copy", ConstantCopy, Location{Offset: 2, Length: 3}, []byte{2, 3, 4}, true},
		{"all", ConstantCopy, Location{Length: 8}, m.Values, true},
		{"nothing, at the end", ConstantCopy, Location{Offset: 8}, []byte{}, true},
		{"a byte too far", ConstantCopy, Location{Offset: 6, Length: 3}, nil, false},
		{"offset outside", ConstantCopy, Location{Offset: 9}, nil, false},
		{"offset and length wrap around", ConstantCopy, Location{Offset: math.MaxUint32, Length: 2}, nil, false},
		{"reference", ConstantReference, Location{Offset: 1, Length: 2}, []byte{11, 12}, true},
		{"reference too far", ConstantReference, Location{Offset: 1, Length: 3}, nil, false},
		{"pool out of range", ConstantReference, Location{PoolIndex: 3}, nil, false},
		{"pool far out of range", ConstantReference, Location{PoolIndex: math.MaxUint32}, nil, false},
		{"pool that cannot be mapped", ConstantReference, Location{PoolIndex: 1, Length: 1}, nil, false},
		{"no pool", ConstantReference, Location{PoolIndex: 2, Length: 1}, nil, false},
		{"an input", SubgraphInput, Location{Length: 3}, nil, true},
		{"a temporary", Temporary, Location{Offset: 99}, nil, true},
		{"without a value", NoValue, Location{}, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := m.Value(&Operand{Lifetime: tc.l, Location: tc.at})
			require.Equal(t, tc.ok, err == nil, "%v", err)
			require.Equal(t, tc.want, v)
			if v != nil {
				require.Equal(t, len(v), cap(v), "appending must not reach what follows")
			}
		})
	}
	_, err := m.Value(&Operand{Lifetime: ConstantReference, Location: Location{PoolIndex: 1}})
	require.ErrorIs(t, err, errGone)
}

func TestHostMemoryIsItself(t *testing.T) {
	m := HostMemory{1, 2, 3}
	b, err := m.Bytes()
	require.NoError(t, err)
	require.EqualValues(t, 3, m.Size())
	b[1] = 9
	require.Equal(t, HostMemory{1, 9, 3}, m)
}
