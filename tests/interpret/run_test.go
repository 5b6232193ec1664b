package interpret

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// kernels lists every kernel but Copy.
func kernels() []shaders.Kernel {
	var list []shaders.Kernel
	for k := shaders.Kernel(1); ; k++ {
		if _, ok := shaders.ByName(k.String()); !ok {
			return list
		}
		list = append(list, k)
	}
}

// TestZeroPushConstants: the executor warms pipelines with zeroes as push constants; kernels return at once.
func TestZeroPushConstants(t *testing.T) {
	list := kernels()
	require.Greater(t, len(list), 300)
	for _, k := range list {
		info := k.Info()
		bindings := make([]Binding, len(info.Bindings))
		w, err := Run(k, make([]uint32, info.PushWords), bindings, At(0, 64), 1000)
		if info.Needs.Matrix != (family.Matrix{}) { // the interpreter knows none
			require.Error(t, err, "%v", k)
			continue
		}
		if info.Needs.Float16 { // none that a network is made of
			require.ErrorContains(t, err, "a type of 16 bits", "%v", k)
			continue
		}
		require.NoError(t, err, "%v", k)
		require.Zero(t, w.Writes, "%v", k)
	}
}

func TestBounds(t *testing.T) {
	buffers := func(x, y int64) []Binding { return []Binding{{Size: x}, {Size: y}} }
	push := []uint32{100, 10, 40, 0, 0}
	_, err := Run(shaders.UnaryAbsF32, push, buffers(1600, 1600), At(99, 64), 1000)
	require.NoError(t, err)
	_, err = Run(shaders.UnaryAbsF32, push, buffers(1599, 1600), At(99, 64), 1000)
	require.ErrorContains(t, err, "16 bytes at 1584 of 1599 at binding 0")
	_, err = Run(shaders.UnaryAbsF32, push, buffers(1600, 1599), At(99, 64), 1000)
	require.ErrorContains(t, err, "at binding 1")
	w, err := Run(shaders.UnaryAbsF32, push, buffers(0, 0), At(100, 64), 1000)
	require.NoError(t, err)
	require.Zero(t, w.Writes)
}

// TestLoops counts iterations and stops long ones.
func TestLoops(t *testing.T) {
	const quads = 1000
	push := []uint32{1, quads, 4 * quads, 0x3f800000}
	b := []Binding{{Size: 16 * quads}, {Size: 16 * quads}}
	w, err := Run(shaders.SoftmaxRowF32, push, b, At(0, 64), 1e6)
	require.NoError(t, err)
	require.InDelta(t, 2*quads/2, w.Loops, 10) // each row twice, two quads an iteration
	require.Equal(t, quads, w.Writes)
	_, err = Run(shaders.SoftmaxRowF32, push, b, At(0, 64), 1e4)
	require.ErrorIs(t, err, ErrLong)
}

// TestFaults: what is no access.
func TestFaults(t *testing.T) {
	push := []uint32{1, 1, 4, 0, 0, 0, 0}
	b := []Binding{{Size: 4}, {Size: 16}, {Size: 16}}
	_, err := Run(shaders.DequantizeF32, push, b, At(0, 64), 1000)
	require.ErrorContains(t, err, "by zero")
}
