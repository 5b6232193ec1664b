package differential

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// matrixCases fill enough of a tile that products by cooperative matrices are chosen on GPUs, and end tiles and steps early.
var matrixCases = []convCase{
	{name: "whole tiles", in: nn.Dims{1, 8, 8, 32}, co: 64, kh: 1, kw: 1, stride: 1, dilation: 1},
	{name: "pixels end early", in: nn.Dims{1, 5, 11, 16}, co: 64, kh: 1, kw: 1, stride: 1, dilation: 1, act: nn.ActRelu6},
	{name: "channels end within a quad", in: nn.Dims{1, 5, 7, 20}, co: 61, kh: 1, kw: 1, stride: 1, dilation: 1, act: nn.ActRelu},
	{name: "one input", in: nn.Dims{1, 8, 8, 1}, co: 48, kh: 1, kw: 1, stride: 1, dilation: 1},
	{name: "one pixel of each batch", in: nn.Dims{256, 3, 3, 67}, co: 67, kh: 3, kw: 3, stride: 1, dilation: 1},
	{name: "batches", in: nn.Dims{3, 5, 7, 13}, co: 67, kh: 3, kw: 3, stride: 1, dilation: 1, same: true},
	{name: "stride", in: nn.Dims{1, 23, 19, 10}, co: 130, kh: 3, kw: 3, stride: 2, dilation: 1, same: true, act: nn.ActRelu1},
	{name: "dilation", in: nn.Dims{2, 17, 13, 6}, co: 41, kh: 5, kw: 2, stride: 1, dilation: 3, same: true},
	{name: "valid", in: nn.Dims{1, 41, 9, 3}, co: 59, kh: 2, kw: 7, stride: 1, dilation: 1},
}

// matrixTolerance: floats of 32 bits, between -2 and 2, are rounded to 11 bits before they are multiplied, and errors of
// products add up like random ones; 8 bits are exact.
func matrixTolerance(c *convCase, f format) Tolerance {
	tol := ToleranceOf(f.data)
	if f.data == nn.TensorFloat32 {
		tol = Float16Tol
		tol.Abs += 4 * math.Ldexp(1, -11) * math.Sqrt(float64(c.kh*c.kw)*float64(c.in[3]))
	}
	return tol
}

// TestConvByMatrices: what devices that list cooperative matrices choose when they count as GPUs. Floats of 32 bits take
// part where the model permits it, and else do not.
func TestConvByMatrices(t *testing.T) {
	t.Setenv("NNGPU_CLASS", "gpu")
	t.Setenv("NNGPU_SELFTEST", "off") // all variants at once
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		half := matrixCases[0].model(formats[1], false, rand.New(rand.NewPCG(1, 1)))
		if !nntest.Required("matrix") && !strings.Contains(strings.Join(kernelsOf(t, d, half, 1), " "), "conv_matrix_") {
			t.Skip("no cooperative matrices; tools/setup.sh matrix unpacks a lavapipe that has them")
		}
		for i, tc := range matrixCases {
			for _, f := range formats {
				t.Run(tc.name+"/"+f.name, func(t *testing.T) {
					m := tc.model(f, false, rand.New(rand.NewPCG(uint64(i), 1)))
					if f.data == nn.TensorFloat32 {
						require.NotContains(t, strings.Join(kernelsOf(t, d, m, uint64(i)), " "), "_matrix_")
						m.RelaxFloat32 = true
					}
					require.Contains(t, strings.Join(kernelsOf(t, d, m, uint64(i)), " "), "conv_matrix_")
					Compare(t, d, m, matrixTolerance(&tc, f), uint64(i))
				})
			}
		}
	})
}

// TestWithoutMatrices: of devices whose matrices were taken away none is used.
func TestWithoutMatrices(t *testing.T) {
	t.Setenv("NNGPU_CLASS", "gpu")
	t.Setenv("NNGPU_SELFTEST", "off")
	t.Setenv("NNGPU_WITHOUT", "matrix")
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for i, f := range formats {
			t.Run(fmt.Sprint(f.name), func(t *testing.T) {
				c := &matrixCases[i]
				m := c.model(f, false, rand.New(rand.NewPCG(uint64(i), 1)))
				m.RelaxFloat32 = f.data == nn.TensorFloat32
				require.NotContains(t, strings.Join(kernelsOf(t, d, m, uint64(i)), " "), "_matrix_")
				Compare(t, d, m, convTolerance(c, f), uint64(i))
			})
		}
	})
}
