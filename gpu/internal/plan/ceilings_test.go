package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/shaders"
)

// TestCeilings: what bounds a step of much arithmetic is the unit that its kernel computes with.
func TestCeilings(t *testing.T) {
	c := Ceilings{F32: 1e9, Dot: 2e9, MatrixF16: 4e9, MatrixInt8: 8e9}
	for kernel, want := range map[string]struct {
		name  string
		least time.Duration
	}{
		"conv_gemm_f16_8x8":                     {"f32", 8 * time.Second},
		"conv_gemm_q8_dot_shared_64x64":         {"int8 dot", 4 * time.Second},
		"conv_matrix_f16_16x16x16_64x64":        {"f16 matrix", 2 * time.Second},
		"conv_matrix_f32_16x16x16_64x64":        {"f16 matrix", 2 * time.Second},
		"conv_matrix_window_q8_16x16x32_64x64":  {"int8 matrix", time.Second},
		"conv_matrix_window_q8_8x8x8_32x32_wzp": {"int8 matrix", time.Second},
	} {
		k, ok := shaders.ByName(kernel)
		require.True(t, ok, kernel)
		name, least := c.Of(&Facts{Class: ClassGPU}, &Step{Kernel: k, FLOP: 8e9})
		require.Equal(t, want.name, name, kernel)
		require.Equal(t, want.least, least, kernel)
	}
}
