package differential

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// renames are operations that leave the elements as they are, so that their output may be the memory of
// their input. z is the shape of the result.
var renames = []struct {
	name string
	op   nn.OperationType
	z    func(x nn.Dims) nn.Dims
	args func(b *nn.Builder, x, z nn.Dims, typ nn.OperandType) []uint32
}{
	{"RESHAPE to rows", nn.OpReshape, func(x nn.Dims) nn.Dims { return nn.Dims{uint32(elements(x)) / x[3], x[3]} }, shapeArg},
	{"RESHAPE flat", nn.OpReshape, func(x nn.Dims) nn.Dims { return nn.Dims{uint32(elements(x))} }, shapeArg},
	{"RESHAPE to a column", nn.OpReshape, func(x nn.Dims) nn.Dims { return nn.Dims{uint32(elements(x)), 1} }, shapeArg},
	{"EXPAND_DIMS", nn.OpExpandDims, func(x nn.Dims) nn.Dims { return slices.Insert(slices.Clone(x), 1, 1) },
		func(b *nn.Builder, _, _ nn.Dims, _ nn.OperandType) []uint32 { return []uint32{b.Scalar(1)} }},
	{"TRANSPOSE of nothing", nn.OpTranspose, slices.Clone[nn.Dims],
		func(b *nn.Builder, _, _ nn.Dims, _ nn.OperandType) []uint32 {
			return []uint32{b.Ints(nn.Dims{4}, 0, 1, 2, 3)}
		}},
	{"PAD of nothing", nn.OpPad, slices.Clone[nn.Dims],
		func(b *nn.Builder, _, _ nn.Dims, _ nn.OperandType) []uint32 {
			return []uint32{b.Ints(nn.Dims{4, 2}, 0, 0, 0, 0, 0, 0, 0, 0)}
		}},
	{"RESIZE to the same size", nn.OpResizeBilinear, slices.Clone[nn.Dims],
		func(b *nn.Builder, x, _ nn.Dims, _ nn.OperandType) []uint32 {
			return scalars(b, int(x[2]), int(x[1]))
		}},
	{"CAST to the same type", nn.OpCast, slices.Clone[nn.Dims],
		func(*nn.Builder, nn.Dims, nn.Dims, nn.OperandType) []uint32 { return nil }},
	{"MEAN of nothing", nn.OpMean, func(x nn.Dims) nn.Dims { return x[1:] },
		func(b *nn.Builder, _, _ nn.Dims, _ nn.OperandType) []uint32 {
			return []uint32{b.Ints(nn.Dims{1}, 0), b.Scalar(0)}
		}},
	{"CONCATENATION of one", nn.OpConcatenation, slices.Clone[nn.Dims],
		func(b *nn.Builder, _, _ nn.Dims, _ nn.OperandType) []uint32 { return []uint32{b.Scalar(2)} }},
}

func shapeArg(b *nn.Builder, _, z nn.Dims, _ nn.OperandType) []uint32 {
	return []uint32{b.Ints(nn.Dims{uint32(len(z))}, ints(z)...)}
}

// TestRenames puts each operation that may cost nothing between an input, a computed tensor or a constant and
// one or more outputs.
func TestRenames(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, r := range renames {
			for _, typ := range asymmTypes {
				for _, x := range []nn.Dims{{1, 3, 5, 7}, {1, 3, 5, 8}, {1, 1, 1, 7}, {1, 5, 3, 1}} {
					t.Run(fmt.Sprint(r.name, " ", typ, " ", x), func(t *testing.T) {
						var b nn.Builder
						scale, zero := quant(typ, 0)
						z := r.z(x)
						rename := func(from uint32) uint32 {
							to := b.Temp(typ, z, scale, zero)
							b.Op(r.op, append([]uint32{from}, r.args(&b, x, z, typ)...), []uint32{to})
							return to
						}
						relu := func(from uint32, dims nn.Dims) uint32 {
							to := b.Temp(typ, dims, scale, zero)
							b.Op(nn.OpRelu, []uint32{from}, []uint32{to})
							return to
						}
						in := b.Input(typ, x, scale, zero)
						b.Output(rename(in)) // an input
						computed := relu(in, x)
						b.Output(computed) // an output, and its other name
						b.Output(rename(computed))
						hidden := relu(in, x)
						b.Output(rename(hidden)) // two names of one tensor
						b.Output(rename(hidden))
						b.Output(relu(rename(hidden), z)) // in the middle
						fixed := b.Const(typ, x, scale, zero, slices.Repeat([]byte{0x11, 0x3c}, elements(x)*2)[:elements(x)*typ.Bytes()])
						b.Output(rename(fixed)) // a constant
						Compare(t, d, nntest.Build(&b), Exact, 8)
					})
				}
			}
		}
	})
}
