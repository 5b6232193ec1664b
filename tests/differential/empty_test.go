package differential

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/internal/devices"
)

// everyBox selects all boxes of scores above a half: none overlaps another.
var everyBox = ops.BoxNMS{Score: 0.5, Limit: -1, Overlap: 2}

// selection adds a BOX_WITH_NMS_LIMIT of n boxes of one class, all of them the same, whose scores are an input, and returns the
// scores of those that it selects, [K], the boxes and their images.
func selection(b *layers.Builder, n uint32) (scores, boxes, images uint32) {
	both := make([]float32, 8*n)
	for i := range both {
		both[i] = float32(i % 4 / 2) // from 0, 0 to 1, 1
	}
	scores, boxes, _, images = b.NonMaxSuppression(b.Input(nn.TensorFloat32, nn.Dims{n, 2}, 0, 0),
		b.Floats(nn.Dims{n, 8}, both...), b.Ints(nn.Dims{n}, make([]int32, n)...), everyBox)
	return scores, boxes, images
}

// chosen are scores of which `of` of n boxes have such that they are selected: 1, then a little less each time.
func chosen(n, of int) (input []byte, want []float32) {
	var v []float64
	for i := range n {
		s := 0.25
		if i < of {
			s = 1 - float64(i)/64
			want = append(want, float32(s))
		}
		v = append(v, 0, s)
	}
	return floatsOf(nn.TensorFloat32, v...), want
}

func float32sOf(b []byte, n int) (list []float32) {
	for i := range n {
		list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return list
}

// open adds an operation with a result of unknown dimensions of this rank.
func open(b *nn.Builder, op nn.OperationType, t nn.OperandType, rank int, in ...uint32) uint32 {
	y := b.Temp(t, make(nn.Dims, rank), 0, 0)
	b.Op(op, in, []uint32{y})
	return y
}

// TestNothingIsSelected: everything behind runs on nothing, and on something in the next execution.
func TestNothingIsSelected(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		f32 := nn.TensorFloat32
		var b layers.Builder
		image := b.Input(f32, nn.Dims{1, 4, 4, 3}, 0, 0)
		scores, boxes, images := selection(&b, 5)
		one, two, zero, nchw := b.Scalar(float32(1)), b.Scalar(2), b.Scalar(0), b.Scalar(false)
		cells := open(&b.Builder, nn.OpRoiAlign, f32, 4, image, boxes, images, two, two, one, one, two, two, nchw)
		filter, bias := make([]float32, 5*3), make([]float32, 5)
		for i := range filter {
			filter[i] = float32(i%4) - 1
		}
		y := open(&b.Builder, nn.OpConv2D, f32, 4, cells, b.Floats(nn.Dims{5, 1, 1, 3}, filter...), b.Floats(nn.Dims{5}, bias...),
			b.Scalar(1), b.Scalar(1), b.Scalar(1), zero)
		y = open(&b.Builder, nn.OpMaxPool2D, f32, 4, y, b.Scalar(2), two, two, two, two, zero)
		weights := b.Floats(nn.Dims{7, 5}, make([]float32, 35)...)
		y = open(&b.Builder, nn.OpFullyConnected, f32, 2, y, weights, b.Floats(nn.Dims{7}, 1, 2, 3, 4, 5, 6, 7), zero)
		y = open(&b.Builder, nn.OpSoftmax, f32, 2, y, one)
		all := open(&b.Builder, nn.OpConcatenation, f32, 2, y, b.Floats(nn.Dims{1, 7}, 1, 1, 1, 1, 1, 1, 1), y, zero)
		for _, y := range []uint32{y, all, scores, open(&b.Builder, nn.OpRelu, f32, 1, scores), boxes} {
			b.Output(y)
		}
		m := nntest.Build(&b.Builder)
		pm, _ := prepared(t, d, m)
		pixels := make([]byte, 4*4*4*3)
		for i := range pixels {
			pixels[i] = byte(i*7) & 0x3f
		}
		for _, n := range []int{0, 3, 0, 1, 5, 0} {
			in, _ := chosen(5, n)
			dims := compareUnknown(t, pm, m, [][]byte{pixels, in}, 1<<10, ToleranceOf(f32))
			require.Equal(t, nn.Dims{uint32(n), 7}, dims[0])
			require.Equal(t, nn.Dims{uint32(2*n + 1), 7}, dims[1])
		}
	})
}

// TestSelectionOfASelection: of none, too.
func TestSelectionOfASelection(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		f32 := nn.TensorFloat32
		var b layers.Builder
		scores, boxes, images := selection(&b, 5)
		column := open(&b.Builder, nn.OpReshape, f32, 2, scores, b.Ints(nn.Dims{2}, -1, 1))
		two := open(&b.Builder, nn.OpConcatenation, f32, 2, column, column, b.Scalar(1))
		wide := open(&b.Builder, nn.OpConcatenation, f32, 2, boxes, boxes, b.Scalar(1))
		outputs := []uint32{b.Temp(f32, nn.Dims{0}, 0, 0), b.Temp(f32, nn.Dims{0, 4}, 0, 0), b.Temp(nn.TensorInt32, nn.Dims{0}, 0, 0), b.Temp(nn.TensorInt32, nn.Dims{0}, 0, 0)}
		b.Op(nn.OpBoxWithNmsLimit, []uint32{two, wide, images, b.Scalar(float32(0.97)), b.Scalar(-1), b.Scalar(0), b.Scalar(float32(2)), b.Scalar(float32(0)), b.Scalar(float32(0))}, outputs)
		for _, y := range outputs {
			b.Output(y)
		}
		m := nntest.Build(&b.Builder)
		pm, _ := prepared(t, d, m)
		for _, n := range []int{0, 1, 5, 0, 2} {
			in, _ := chosen(5, n)
			dims := compareUnknown(t, pm, m, [][]byte{in}, 1<<10, Exact)
			require.Equal(t, nn.Dims{uint32(min(n, 2))}, dims[0])
		}
	})
}

// TestNothingInBuffers: a buffer holds what has no elements, gives it away, and is no input; then it holds something again.
func TestNothingInBuffers(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		var b layers.Builder
		scores, _, _ := selection(&b, 5)
		b.Output(scores)
		pm, client := prepared(t, d, nntest.Build(&b.Builder))
		var next layers.Builder
		next.Output(open(&next.Builder, nn.OpRelu, nn.TensorFloat32, 1, next.Input(nn.TensorFloat32, nn.Dims{0}, 0, 0)))
		reader, err := client.PrepareModel(t.Context(), nntest.Build(&next.Builder))
		require.NoError(t, err)
		buffer, err := client.Allocate(driver.BufferDesc{Dims: nn.Dims{0}}, nil, []driver.BufferRole{{Model: pm, Probability: 1}})
		require.NoError(t, err)
		defer buffer.Close() // the test has ended, or failed
		for _, n := range []int{3, 0, 0, 2, 0} {
			in, want := chosen(5, n)
			whole := nn.RequestArgument{Location: nn.Location{Length: uint32(len(in))}}
			res, err := pm.Execute(t.Context(), &nn.Request{
				Inputs: []nn.RequestArgument{whole}, Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1}}},
				Pools: []nn.Memory{nn.HostMemory(in), buffer.Token()},
			})
			require.NoError(t, err)
			require.Equal(t, nn.Dims{uint32(n)}, res.Shapes[0].Dims)
			room := make(nn.HostMemory, max(4*n, 1))
			require.NoError(t, buffer.CopyTo(t.Context(), room[:max(4*n, 1)]))
			require.Equal(t, want, float32sOf(room, n))
			if n == 0 {
				_, err = reader.Execute(t.Context(), &nn.Request{
					Inputs:  []nn.RequestArgument{{Location: nn.Location{}}},
					Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: 64}}},
					Pools:   []nn.Memory{buffer.Token(), make(nn.HostMemory, 64)},
				})
				require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%v", err)
			}
		}
	})
}

// TestNothingThroughGraphs: a selection stands in a branch, and what it gives, nothing perhaps, is the state of a loop that appends
// to it.
func TestNothingThroughGraphs(t *testing.T) {
	f32, i32, one := nn.TensorFloat32, nn.TensorInt32, nn.Dims{1}
	then, otherwise, condition, body, main := &layers.Builder{}, &nn.Builder{}, &nn.Builder{}, &nn.Builder{}, &nn.Builder{}
	selected, _, _ := selection(then, 5)
	then.Output(selected)
	x := otherwise.Input(f32, nn.Dims{5, 2}, 0, 0)
	otherwise.Output(open(otherwise, nn.OpReshape, f32, 1, x, otherwise.Ints(one, -1)))
	_, k, n := condition.Input(f32, nn.Dims{0}, 0, 0), condition.Input(i32, one, 0, 0), condition.Input(i32, one, 0, 0)
	less := condition.Temp(nn.TensorBool8, one, 0, 0)
	condition.Op(nn.OpLess, []uint32{k, n}, []uint32{less})
	condition.Output(less)
	s, k, _ := body.Input(f32, nn.Dims{0}, 0, 0), body.Input(i32, one, 0, 0), body.Input(i32, one, 0, 0)
	body.Output(open(body, nn.OpConcatenation, f32, 1, s, body.Floats(one, 7), body.Scalar(0)))
	more := body.Temp(i32, one, 0, 0)
	body.Op(nn.OpAdd, []uint32{k, body.Ints(one, 1), body.Scalar(0)}, []uint32{more})
	body.Output(more)
	which, scores, count := main.Input(nn.TensorBool8, one, 0, 0), main.Input(f32, nn.Dims{5, 2}, 0, 0), main.Input(i32, one, 0, 0)
	a, e, c, g := main.Scalar(0), main.Scalar(0), main.Scalar(0), main.Scalar(0)
	y := open(main, nn.OpIf, f32, 1, which, a, e, scores)
	z := open(main, nn.OpWhile, f32, 1, c, g, y, main.Ints(one, 0), count)
	main.Output(y)
	main.Output(z)
	m := nntest.Join(nntest.Graph{B: main, Refer: map[uint32]uint32{a: 0, e: 1, c: 2, g: 3}},
		nntest.Graph{B: &then.Builder}, nntest.Graph{B: otherwise}, nntest.Graph{B: condition}, nntest.Graph{B: body})
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		pm, _ := prepared(t, d, m)
		for _, tc := range []struct {
			taken         byte
			n, iterations int
		}{{1, 0, 0}, {1, 0, 2}, {0, 3, 1}, {1, 3, 0}, {1, 3, 3}, {1, 0, 1}} {
			t.Run(fmt.Sprint(tc), func(t *testing.T) {
				in, want := chosen(5, tc.n)
				if tc.taken == 0 {
					want = float32sOf(in, 10)
				}
				dims, got := runUnknown(t, pm, [][]byte{{tc.taken}, in, int32Bytes([]int32{int32(tc.iterations)})}, 256)
				require.Equal(t, nn.Dims{uint32(len(want))}, dims[0])
				require.Equal(t, want, float32sOf(got[0], len(want)))
				for range tc.iterations {
					want = append(want, 7)
				}
				require.Equal(t, nn.Dims{uint32(len(want))}, dims[1])
				require.Equal(t, want, float32sOf(got[1], len(want)))
			})
		}
	})
}

// TestWhatTakesNoNothing: an operation that needs elements ends the execution that has none, and the next one is right.
func TestWhatTakesNoNothing(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		var b layers.Builder
		scores, _, _ := selection(&b, 5)
		b.Output(open(&b.Builder, nn.OpReduceMax, nn.TensorFloat32, 1, scores, b.Ints(nn.Dims{1}, 0), b.Scalar(true)))
		m := nntest.Build(&b.Builder)
		pm, _ := prepared(t, d, m)
		for range 2 {
			in, _ := chosen(5, 0)
			_, err := pm.Execute(t.Context(), &nn.Request{
				Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: uint32(len(in))}}},
				Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: 64}}},
				Pools:   []nn.Memory{nn.HostMemory(in), make(nn.HostMemory, 64)},
			})
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%v", err)
			in, _ = chosen(5, 2)
			compareUnknown(t, pm, m, [][]byte{in}, 64, Exact)
		}
	})
}
