package nn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func roundTrip[E Element](t *testing.T, want []byte, v ...E) {
	t.Helper()
	b := Bytes(v)
	require.Equal(t, want, b)
	got, err := Values[E](append([]byte{9}, b...)[1:]) // not aligned
	require.NoError(t, err)
	require.Equal(t, v, got)
	empty, err := Values[E](nil)
	require.NoError(t, err)
	require.Empty(t, empty)
}

func TestBytesAndValues(t *testing.T) {
	roundTrip(t, []byte{0, 0, 0x80, 0x3f, 0, 0, 0x80, 0xff}, 1, float32(math.Inf(-1)))
	roundTrip(t, []byte{0, 0x3c, 0, 0xc0}, HalfOf(1.0), HalfOf(-2.0))
	roundTrip(t, []byte{0xfe, 255, 255, 255}, int32(-2))
	roundTrip(t, []byte{1, 0, 0, 0x80}, uint32(1<<31+1))
	roundTrip(t, []byte{0xff, 0xff}, int16(-1))
	roundTrip(t, []byte{0xff, 0xff}, uint16(65535))
	roundTrip(t, []byte{0x80, 1}, int8(-128), 1)
	roundTrip(t, []byte{128, 1}, uint8(128), 1)
	roundTrip(t, []byte{1, 0}, true, false)
	_, err := Values[float32](make([]byte, 7))
	require.ErrorContains(t, err, "7 bytes")
}
