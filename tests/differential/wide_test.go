package differential

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/devices"
)

// TestWideBytes: kernels that move bytes by groups of 16, in whole rows and in rows that end within a group.
func TestWideBytes(t *testing.T) {
	for name, tc := range map[string]struct {
		in     nn.Dims
		kernel string // that processors choose; sums of columns and transpositions are wide where subgroups are
		tol    Tolerance
		model  func(l *layers.Builder, x uint32) uint32
	}{
		"largest of columns": {nn.Dims{5, 37, 1024}, "fold_max_column_q8_q8_wide", Exact,
			func(l *layers.Builder, x uint32) uint32 { return l.ReduceMax(x, []int{1}, true) }},
		"smallest of columns that end within a group": {nn.Dims{5, 37, 1021}, "fold_min_column_q8_q8_wide", Exact,
			func(l *layers.Builder, x uint32) uint32 { return l.ReduceMin(x, []int{1}, true) }},
		"largest of segments of columns": {nn.Dims{1300, 256}, "fold_max_column_q8_q8_wide", Exact,
			func(l *layers.Builder, x uint32) uint32 { return l.ReduceMax(x, []int{0}, true) }},
		"smallest of rows that end within a quad": {nn.Dims{1100, 45}, "fold_min_row_q8_q8_wide", Exact,
			func(l *layers.Builder, x uint32) uint32 { return l.ReduceMin(x, []int{1}, true) }},
		"largest of rows": {nn.Dims{1100, 64}, "fold_max_row_q8_q8_wide", Exact,
			func(l *layers.Builder, x uint32) uint32 { return l.ReduceMax(x, []int{1}, true) }},
		"place in columns": {nn.Dims{5, 37, 1021}, "fold_place_column_q8_i32_wide", Exact,
			func(l *layers.Builder, x uint32) uint32 { return l.ArgMax(x, 1) }},
		"place in segments of columns": {nn.Dims{1300, 256}, "fold_place_column_q8_key_wide", Exact,
			func(l *layers.Builder, x uint32) uint32 { return l.ArgMin(x, 0) }},
		"place in rows that end within a quad": {nn.Dims{1100, 47}, "fold_place_row_q8_i32_wide", Exact,
			func(l *layers.Builder, x uint32) uint32 { return l.ArgMin(x, 1) }},
		"mean of columns": {nn.Dims{5, 300, 1024}, "sum_column_q8_q8", Exact,
			func(l *layers.Builder, x uint32) uint32 { return l.Mean(x, []int{1}, true) }},
		"mean of an image": {nn.Dims{1, 36, 36, 256}, "sum_column_q8_i32", Exact,
			func(l *layers.Builder, x uint32) uint32 { return l.Mean(x, []int{1, 2}, true) }},
		"mean of rows that end within a quad": {nn.Dims{1100, 1373}, "sum_row_q8_q8_wide", Exact,
			func(l *layers.Builder, x uint32) uint32 { return l.Mean(x, []int{1}, true) }},
		"softmax": {nn.Dims{300, 48}, "softmax_row_q8_wide", OneStep,
			func(l *layers.Builder, x uint32) uint32 { return l.Softmax(x, 1, -1) }},
		"matrices": {nn.Dims{3, 160, 176}, "data_transpose_", Exact,
			func(l *layers.Builder, x uint32) uint32 { return l.Transpose(x, 0, 2, 1) }},
		"channels first": {nn.Dims{2, 16, 16, 160}, "data_transpose_", Exact,
			func(l *layers.Builder, x uint32) uint32 { return l.Transpose(x, 0, 3, 1, 2) }},
		"five dimensions": {nn.Dims{3, 2, 5, 16, 160}, "data_transpose_", Exact,
			func(l *layers.Builder, x uint32) uint32 { return l.Transpose(x, 2, 4, 0, 1, 3) }},
		"resized": {nn.Dims{1, 9, 11, 48}, "resize_bilinear_q8_wide", OneStep,
			func(l *layers.Builder, x uint32) uint32 {
				return l.ResizeBilinear(x, layers.Resize{Height: 20, Width: 17, HalfPixel: true})
			}},
	} {
		t.Run(name, func(t *testing.T) {
			devices.Each(t, func(t *testing.T, d *driver.Device) {
				for _, typ := range []nn.OperandType{nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned} {
					t.Run(typ.String(), func(t *testing.T) {
						var l layers.Builder
						scale, zero := quant(typ, 0)
						l.Output(tc.model(&l, l.Input(typ, tc.in, scale, zero)))
						m, err := l.Build()
						require.NoError(t, err)
						require.Contains(t, strings.Join(kernelsOf(t, d, m, 1), " "), tc.kernel)
						Compare(t, d, m, tc.tol, 1)
					})
				}
			})
		})
	}
}
