package differential

import (
	"fmt"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// eachType runs one case on every device for every element type of types.
func eachType(t *testing.T, types []nn.OperandType, f func(t *testing.T, d *driver.Device, typ nn.OperandType)) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, typ := range types {
			t.Run(typ.String(), func(t *testing.T) { f(t, d, typ) })
		}
	})
}

var asymmTypes = append(floatTypes[:2:2], quantTypes...)

// moveOne runs an operation that moves the elements of one tensor; nothing is computed, so results are
// exact. args adds its other operands.
func moveOne(t *testing.T, d *driver.Device, op nn.OperationType, typ nn.OperandType, in, out nn.Dims, args func(b *nn.Builder) []uint32) {
	var b nn.Builder
	scale, zero := quant(typ, 0)
	x := b.Input(typ, in, scale, zero)
	y := b.Temp(typ, out, scale, zero)
	b.Op(op, append([]uint32{x}, args(&b)...), []uint32{y})
	b.Output(y)
	Compare(t, d, nntest.Build(&b), Exact, 1)
}

func ints(d nn.Dims) []int32 {
	var v []int32
	for _, x := range d {
		v = append(v, int32(x))
	}
	return v
}

func TestReshape(t *testing.T) {
	for _, c := range [][2]nn.Dims{
		{{2, 3, 5, 7}, {7, 30}},
		{{4, 6}, {24}},
		{{5, 3}, {3, 5}},
		{{1, 7, 7, 3}, {147}},
		{{9}, {9, 1}},
		{{6, 1}, {2, 3}},
		{{4, 4}, {16}},
		{{8, 3}, {2, 4, 3}},
		{{33, 3}, {11, 9}},
		{{101, 7}, {7, 101}},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			eachType(t, append(asymmTypes, nn.TensorInt32), func(t *testing.T, d *driver.Device, typ nn.OperandType) {
				moveOne(t, d, nn.OpReshape, typ, c[0], c[1], func(b *nn.Builder) []uint32 {
					return []uint32{b.Ints(nn.Dims{uint32(len(c[1]))}, ints(c[1])...)}
				})
			})
		})
	}
}

func TestTranspose(t *testing.T) {
	for _, c := range []struct {
		in   nn.Dims
		perm []int32
	}{
		{nn.Dims{2, 3, 5, 7}, []int32{0, 3, 1, 2}},
		{nn.Dims{2, 5, 6, 8}, []int32{0, 2, 3, 1}},
		{nn.Dims{5, 7}, []int32{1, 0}},
		{nn.Dims{1, 9, 1, 7}, []int32{0, 2, 1, 3}},
		{nn.Dims{3, 4, 5, 6}, []int32{3, 2, 1, 0}},
		{nn.Dims{2, 3, 4, 5}, []int32{1, 0, 2, 3}},
		{nn.Dims{2, 3, 4, 8}, []int32{0, 2, 1, 3}},
		{nn.Dims{1, 5, 7, 1}, []int32{0, 3, 1, 2}},
		{nn.Dims{1, 1, 5, 7}, []int32{0, 2, 3, 1}},
		{nn.Dims{6, 1, 1, 3}, []int32{1, 0, 3, 2}},
		{nn.Dims{4, 4, 16}, []int32{1, 0, 2}},
		{nn.Dims{41, 37, 11}, []int32{2, 0, 1}},
		{nn.Dims{7}, []int32{0}},
		{nn.Dims{523, 571}, []int32{1, 0}}, // runs of more blocks, of which the last has fewer
		{nn.Dims{544, 592}, []int32{1, 0}}, // the same of 16 by 16 bytes
		{nn.Dims{3, 160, 272}, []int32{0, 2, 1}},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			out := make(nn.Dims, len(c.in))
			for i, p := range c.perm {
				out[i] = c.in[p]
			}
			eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
				moveOne(t, d, nn.OpTranspose, typ, c.in, out, func(b *nn.Builder) []uint32 {
					return []uint32{b.Ints(nn.Dims{uint32(len(c.perm))}, c.perm...)}
				})
			})
		})
	}
}

type padCase struct {
	in   nn.Dims
	pads [][2]int32
}

// operand adds the paddings; out is the shape of the result.
func (c *padCase) operand(b *nn.Builder) uint32 {
	var v []int32
	for _, p := range c.pads {
		v = append(v, p[0], p[1])
	}
	return b.Ints(nn.Dims{uint32(len(c.pads)), 2}, v...)
}

func (c *padCase) out() nn.Dims {
	out := make(nn.Dims, len(c.in))
	for i, n := range c.in {
		out[i] = n + uint32(c.pads[i][0]+c.pads[i][1])
	}
	return out
}

func TestPad(t *testing.T) {
	for _, c := range []padCase{
		{nn.Dims{2, 3}, [][2]int32{{1, 2}, {3, 1}}},
		{nn.Dims{1, 5, 7, 3}, [][2]int32{{0, 0}, {2, 1}, {0, 3}, {0, 0}}},
		{nn.Dims{2, 3, 4, 5}, [][2]int32{{1, 0}, {0, 0}, {0, 2}, {4, 3}}},
		{nn.Dims{7}, [][2]int32{{2, 9}}},
		{nn.Dims{2, 2, 2, 6}, [][2]int32{{0, 0}, {0, 0}, {0, 0}, {0, 1}}},
		{nn.Dims{2, 2, 2, 8}, [][2]int32{{0, 0}, {0, 0}, {0, 0}, {8, 3}}},
		{nn.Dims{2, 2}, [][2]int32{{0, 0}, {0, 0}}},
		{nn.Dims{2, 3, 4, 4}, [][2]int32{{1, 1}, {1, 1}, {1, 1}, {1, 1}}},
		{nn.Dims{1, 37, 41, 9}, [][2]int32{{0, 0}, {3, 2}, {1, 2}, {0, 0}}},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
				moveOne(t, d, nn.OpPad, typ, c.in, c.out(), func(b *nn.Builder) []uint32 { return []uint32{c.operand(b)} })
				moveOne(t, d, nn.OpPadV2, typ, c.in, c.out(), func(b *nn.Builder) []uint32 {
					switch typ {
					case nn.TensorFloat32:
						return []uint32{c.operand(b), b.Scalar(-9.5)}
					case nn.TensorFloat16:
						return []uint32{c.operand(b), b.Const(nn.Float16, nil, 0, 0, []byte{0xc0, 0xc8})} // -9.5
					}
					return []uint32{c.operand(b), b.Scalar(77)}
				})
			})
		})
	}
}

func TestMirrorPad(t *testing.T) {
	for _, c := range []padCase{
		{nn.Dims{2, 4}, [][2]int32{{1, 1}, {3, 1}}},
		{nn.Dims{1, 5, 7, 3}, [][2]int32{{0, 0}, {2, 1}, {0, 3}, {0, 0}}},
		{nn.Dims{2, 3, 4, 5}, [][2]int32{{1, 0}, {0, 0}, {0, 2}, {4, 3}}},
		{nn.Dims{10}, [][2]int32{{2, 9}}},
		{nn.Dims{3, 3, 3, 3, 3}, [][2]int32{{1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}}},
		{nn.Dims{2, 2, 2, 2, 2, 2, 3, 2}, [][2]int32{{1, 1}, {0, 1}, {1, 0}, {1, 1}, {0, 0}, {1, 1}, {1, 1}, {1, 1}}}, // in steps
	} {
		for mode := range 2 {
			t.Run(fmt.Sprint(c, mode), func(t *testing.T) {
				eachType(t, append(asymmTypes, nn.TensorInt32), func(t *testing.T, d *driver.Device, typ nn.OperandType) {
					moveOne(t, d, nn.OpMirrorPad, typ, c.in, c.out(), func(b *nn.Builder) []uint32 {
						return []uint32{c.operand(b), b.Scalar(mode)}
					})
				})
			})
		}
	}
}

func TestConcatenation(t *testing.T) {
	for _, c := range []struct {
		axis int
		in   []nn.Dims
	}{
		{1, []nn.Dims{{2, 3}, {2, 5}, {2, 1}, {2, 2}, {2, 4}}},
		{3, []nn.Dims{{1, 3, 2, 8}, {1, 3, 2, 4}, {1, 3, 2, 3}}},
		{0, []nn.Dims{{2, 3}, {1, 3}}},
		{1, []nn.Dims{{2, 3, 4, 5}, {2, 1, 4, 5}}},
		{2, []nn.Dims{{1, 1, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 7}}},
		{3, []nn.Dims{{1, 2, 2, 16}, {1, 2, 2, 32}}},
		{0, []nn.Dims{{1}, {2}, {3}}},
		{3, []nn.Dims{{1, 41, 37, 5}, {1, 41, 37, 11}}},
	} {
		for _, rescale := range []bool{false, true} {
			t.Run(fmt.Sprint(c, rescale), func(t *testing.T) {
				eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
					if rescale && !typ.IsQuant8() {
						t.Skip("only for 8-bit types")
					}
					var b nn.Builder
					var args []uint32
					out := append(nn.Dims(nil), c.in[0]...)
					out[c.axis] = 0
					for i, dims := range c.in {
						k := 0
						if rescale {
							k = i % 3
						}
						scale, zero := quant(typ, k)
						args = append(args, b.Input(typ, dims, scale, zero))
						out[c.axis] += dims[c.axis]
					}
					scale, zero := quant(typ, 0)
					y := b.Temp(typ, out, scale, zero)
					b.Op(nn.OpConcatenation, append(args, b.Scalar(c.axis)), []uint32{y})
					b.Output(y)
					Compare(t, d, nntest.Build(&b), Exact, 2)
				})
			})
		}
	}
}
