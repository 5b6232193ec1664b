package differential

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/devices"
)

// programShapes are those of a result, of an operand that repeats behind its first dimensions, and of one that has an element
// for each row.
var programShapes = []struct{ z, repeats, rows nn.Dims }{
	{nn.Dims{1}, nn.Dims{1}, nn.Dims{1}},
	{nn.Dims{7}, nn.Dims{7}, nn.Dims{1}},
	{nn.Dims{41, 37}, nn.Dims{37}, nn.Dims{41, 1}},
	{nn.Dims{5, 3}, nn.Dims{1, 3}, nn.Dims{5, 1}},
	{nn.Dims{2, 3, 5, 8}, nn.Dims{1, 1, 1, 8}, nn.Dims{2, 3, 5, 1}},
	{nn.Dims{3, 5, 6}, nn.Dims{6}, nn.Dims{3, 5, 1}},
}

// programs are networks of elementwise operations on x, like y, of operands that broadcast to them, and of s, a number.
var programs = map[string]func(b *layers.Builder, x, y, repeats, rows, s uint32){
	"normalisation": func(b *layers.Builder, x, y, repeats, rows, s uint32) {
		d := b.Sub(x, rows, nn.ActNone)
		b.Output(b.Add(b.Mul(d, repeats, nn.ActNone), repeats, nn.ActRelu6))
	},
	"cell": func(b *layers.Builder, x, y, repeats, rows, s uint32) {
		c := b.Add(b.Mul(b.Logistic(x), y, nn.ActNone), b.Mul(b.Logistic(y), b.Tanh(x), nn.ActNone), nn.ActNone)
		c = b.Minimum(b.Maximum(c, s), b.Exp(y))
		b.Output(c)
		b.Output(b.Mul(b.Logistic(b.Add(x, repeats, nn.ActNone)), b.Tanh(c), nn.ActNone))
	},
	"functions": func(b *layers.Builder, x, y, repeats, rows, s uint32) {
		v := b.Sqrt(b.Abs(x))
		v = b.Div(v, b.Add(b.Exp(b.Neg(b.Abs(y))), s, nn.ActNone), nn.ActRelu1)
		b.Output(b.HardSwish(b.Sub(b.SquaredDifference(v, y), b.Relu(x), nn.ActNone)))
	},
	"a number that is an input": func(b *layers.Builder, x, y, repeats, rows, s uint32) {
		v := b.Input(b.Operand(x).Type, nn.Dims{1}, 0, 0)
		b.Output(b.Mul(b.Add(v, x, nn.ActNone), b.Prelu(y, repeats), nn.ActRelu))
	},
}

// TestProgram: what GPUs do at once, of small tensors.
func TestProgram(t *testing.T) {
	t.Setenv("NNGPU_CLASS", "gpu")
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for name, make := range programs {
			for i, shapes := range programShapes {
				for _, typ := range floatTypes {
					t.Run(fmt.Sprintf("%s of %v %v", name, typ, shapes.z), func(t *testing.T) {
						var b layers.Builder
						x, y := b.Input(typ, shapes.z, 0, 0), b.Input(typ, shapes.z, 0, 0)
						s := b.Floats(nn.Dims{1}, 0.75)
						if typ == nn.TensorFloat16 {
							s = b.Const(typ, nn.Dims{1}, 0, 0, nn.Bytes([]nn.Half{nn.HalfOf(0.75)}))
						}
						make(&b, x, y, b.Input(typ, shapes.repeats, 0, 0), b.Input(typ, shapes.rows, 0, 0), s)
						m, err := b.Build()
						require.NoError(t, err)
						kernels := strings.Join(kernelsOf(t, d, m, uint64(i)), " ")
						require.Contains(t, kernels, "program_")
						require.NotContains(t, kernels, "binary_")
						Compare(t, d, m, ToleranceOf(typ), uint64(i))
					})
				}
			}
		}
	})
}
