package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// TestRefusals: what a check lets through, lowering must manage; these it must not let through.
func TestRefusals(t *testing.T) {
	f32 := func(shape ...int) ir.Tensor { return ir.Tensor{Type: nn.TensorFloat32, Shape: shape} }
	f16 := func(shape ...int) ir.Tensor { return ir.Tensor{Type: nn.TensorFloat16, Shape: shape} }
	u8 := func(scale float32, shape ...int) ir.Tensor {
		return ir.Tensor{Type: nn.TensorQuant8Asymm, Shape: shape, Scale: scale}
	}
	window := func(y, x int) ops.Attrs { return ops.Pool{Window: [2]int{y, x}, Stride: [2]int{1, 1}} }
	facts := plan.Facts{Class: plan.ClassCPU, MaxStorageRange: 128 << 20}
	for _, tc := range []struct {
		name  string
		op    nn.OperationType
		attrs ops.Attrs
		in    ir.Tensor
		out   ir.Tensor
	}{
		{"elements change", nn.OpReshape, nil, f32(2, 3), f32(7)},
		{"type changes", nn.OpReshape, nil, f32(4), u8(1, 4)},
		{"larger than a binding", nn.OpTranspose, ops.Transpose{Perm: []int{1, 0}}, f32(1<<13, 1<<13), f32(1<<13, 1<<13)},
		{"no permutation", nn.OpTranspose, ops.Transpose{Perm: []int{0, 0}}, f32(2, 2), f32(2, 2)},
		{"seven dimensions", nn.OpTranspose, ops.Transpose{Perm: []int{6, 5, 4, 3, 2, 1, 0}}, f32(2, 2, 2, 2, 2, 2, 2), f32(2, 2, 2, 2, 2, 2, 2)},
		{"mirror beyond the edge", nn.OpMirrorPad, ops.MirrorPadding{Pads: [][2]int{{4, 0}}}, f32(4), f32(8)},
		{"negative padding", nn.OpPad, ops.Padding{Pads: [][2]int{{-1, 1}}}, f32(4), f32(4)},
		{"axis outside", nn.OpSoftmax, ops.Softmax{Axis: 1, Beta: 1}, f32(4), f32(4)},
		{"log softmax of bytes", nn.OpLogSoftmax, ops.Softmax{Axis: 0, Beta: 1}, u8(1, 4), u8(1, 4)},
		{"a row too long", nn.OpSoftmax, ops.Softmax{Axis: 0, Beta: 1}, f32(400_000), f32(400_000)},
		{"a column too long", nn.OpSoftmax, ops.Softmax{Axis: 0, Beta: 1}, f32(30_000, 2), f32(30_000, 2)},
		{"response along no axis", nn.OpLocalResponseNormalization, ops.LocalResponse{Axis: 1}, f32(4), f32(4)},
		{"response of another shape", nn.OpLocalResponseNormalization, ops.LocalResponse{}, f32(4, 1), f32(4)},
		{"response of bytes", nn.OpLocalResponseNormalization, ops.LocalResponse{}, u8(1, 4), u8(1, 4)},
		{"negative radius", nn.OpLocalResponseNormalization, ops.LocalResponse{Radius: -1}, f32(4), f32(4)},
		{"radius too long", nn.OpLocalResponseNormalization, ops.LocalResponse{Radius: 30_000}, f32(70_000, 2), f32(70_000, 2)},
		{"radius too long in a row", nn.OpLocalResponseNormalization, ops.LocalResponse{Radius: 120_000}, f32(250_000), f32(250_000)},
		{"too many windows", nn.OpLocalResponseNormalization, ops.LocalResponse{Axis: 1, Radius: 240_000}, f16(270, 240_000), f16(270, 240_000)},
		{"shape of another mean", nn.OpMean, ops.Mean{Axes: []int{0}}, f32(4, 3), f32(4)},
		{"mean of integers", nn.OpMean, ops.Mean{Axes: []int{0}}, ir.Tensor{Type: nn.TensorInt32, Shape: []int{4}}, ir.Tensor{Type: nn.TensorInt32, Shape: []int{1}}},
		{"sum beyond int32", nn.OpMean, ops.Mean{Axes: []int{0}}, u8(1, 1<<24), u8(1, 1)},
		{"shape of another sum", nn.OpReduceSum, ops.Mean{Axes: []int{0}}, f32(4, 3), f32(4)},
		{"sum of bytes", nn.OpReduceSum, ops.Mean{Axes: []int{0}}, u8(1, 4), u8(1, 1)},
		{"product of bytes", nn.OpReduceProd, ops.Mean{Axes: []int{0}}, u8(1, 4), u8(1, 1)},
		{"scale of the largest", nn.OpReduceMax, ops.Mean{Axes: []int{0}}, u8(1, 4), u8(2, 1)},
		{"all of floats", nn.OpReduceAll, ops.Mean{Axes: []int{0}}, f32(4), f32(1)},
		{"axis that is none", nn.OpReduceAny, ops.Mean{Axes: []int{1}}, ir.Tensor{Type: nn.TensorBool8, Shape: []int{4}}, ir.Tensor{Type: nn.TensorBool8, Shape: []int{1}}},
		{"places as floats", nn.OpArgmax, ops.Arg{}, f32(4), f32(1)},
		{"places of another shape", nn.OpArgmax, ops.Arg{}, f32(4, 3), ir.Tensor{Type: nn.TensorInt32, Shape: []int{4}}},
		{"window too large", nn.OpAveragePool2D, window(300, 300), f32(1, 301, 300, 1), f32(1, 2, 1, 1)},
		{"windows beyond the image", nn.OpMaxPool2D, window(3, 3), f32(1, 4, 4, 1), f32(1, 3, 3, 1)},
		{"L2 of bytes", nn.OpL2Pool2D, window(1, 1), u8(1, 1, 1, 1, 1), u8(1, 1, 1, 1, 1)},
		{"channels change", nn.OpResizeBilinear, ops.Resize{}, f32(1, 2, 2, 3), f32(1, 4, 4, 4)},
		{"scale changes", nn.OpResizeNearestNeighbor, ops.Resize{}, u8(1, 1, 2, 2, 3), u8(2, 1, 4, 4, 3)},
		{"concatenation too short", nn.OpConcatenation, ops.Concatenation{Axis: 0}, f32(4), f32(5)},
		{"no scale", nn.OpConcatenation, ops.Concatenation{Axis: 0}, u8(0, 4), u8(0, 4)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := singleNode(ir.Node{Op: tc.op, Attrs: tc.attrs}, tc.out, tc.in)
			require.Error(t, Check(&facts, g, &g.Nodes[0]))
		})
	}
}

// TestMultinomialRefusals: rows of classes that are too long for the loops of a kernel, and shapes that do not go together.
func TestMultinomialRefusals(t *testing.T) {
	facts := plan.Facts{Class: plan.ClassCPU, MaxStorageRange: 128 << 20}
	f32 := func(shape ...int) ir.Tensor { return ir.Tensor{Type: nn.TensorFloat32, Shape: shape} }
	i32 := func(shape ...int) ir.Tensor { return ir.Tensor{Type: nn.TensorInt32, Shape: shape} }
	for _, tc := range []struct {
		name  string
		x     ir.Tensor
		seeds ir.Tensor
		y     ir.Tensor
		runs  bool
	}{
		{"many classes", f32(2, 120_000), i32(2), i32(2, 9), true},
		{"too many classes", f32(2, 120_001), i32(2), i32(2, 9), false},
		{"sums of half floats beyond a binding", ir.Tensor{Type: nn.TensorFloat16, Shape: []int{400, 100_000}}, i32(2), i32(400, 9), false},
		{"three seeds", f32(2, 5), i32(3), i32(2, 9), false},
		{"fewer samples", f32(2, 5), i32(2), i32(2, 8), false},
		{"other rows", f32(2, 5), i32(2), i32(3, 9), false},
		{"samples of floats", f32(2, 5), i32(2), f32(2, 9), false},
		{"classes of bytes", ir.Tensor{Type: nn.TensorQuant8Asymm, Shape: []int{2, 5}, Scale: 1}, i32(2), i32(2, 9), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := singleNode(ir.Node{Op: nn.OpRandomMultinomial, Attrs: ops.Multinomial{Samples: 9}}, tc.y, tc.x, tc.seeds)
			if err := Check(&facts, g, &g.Nodes[0]); tc.runs {
				require.NoError(t, err)
			} else {
				require.Error(t, err)
			}
		})
	}
}

// TestBoxRefusals: what boxes of any size could make loop too long, and shapes that do not go together.
func TestBoxRefusals(t *testing.T) {
	facts := plan.Facts{Class: plan.ClassCPU, MaxStorageRange: 128 << 20}
	roi := func(h, w int) ops.Roi { return ops.Roi{Size: [2]int{h, w}, Ratio: [2]float32{1, 1}} }
	f32 := func(shape ...int) ir.Tensor { return ir.Tensor{Type: nn.TensorFloat32, Shape: shape} }
	i32 := func(n int) ir.Tensor { return ir.Tensor{Type: nn.TensorInt32, Shape: []int{n}} }
	for _, tc := range []struct {
		name  string
		op    nn.OperationType
		attrs ops.Attrs
		in    []ir.Tensor
		out   ir.Tensor
		runs  bool
	}{
		{"as many samples as pixels", nn.OpRoiAlign, ops.RoiAlign{Roi: roi(1, 1)}, []ir.Tensor{f32(1, 300, 300, 1), f32(3, 4), i32(3)}, f32(3, 1, 1, 1), true},
		{"of a large image", nn.OpRoiAlign, ops.RoiAlign{Roi: roi(1, 1)}, []ir.Tensor{f32(1, 400, 400, 1), f32(3, 4), i32(3)}, f32(3, 1, 1, 1), false},
		{"few samples of it", nn.OpRoiAlign, ops.RoiAlign{Roi: roi(1, 1), Samples: [2]int{9, 9}}, []ir.Tensor{f32(1, 2000, 2000, 1), f32(3, 4), i32(3)}, f32(3, 1, 1, 1), true},
		{"more samples than there are pixels", nn.OpRoiAlign, ops.RoiAlign{Roi: roi(1, 1), Samples: [2]int{1 << 30, 1 << 30}},
			[]ir.Tensor{f32(1, 9, 9, 1), f32(3, 4), i32(3)}, f32(3, 1, 1, 1), true},
		{"maxima of a large image", nn.OpRoiPooling, ops.RoiPooling{Roi: roi(1, 1)}, []ir.Tensor{f32(1, 700, 700, 1), f32(3, 4), i32(3)}, f32(3, 1, 1, 1), false},
		{"of bytes", nn.OpRoiPooling, ops.RoiPooling{Roi: roi(1, 1)}, []ir.Tensor{{Type: nn.TensorQuant8Asymm, Shape: []int{1, 7, 7, 1}, Scale: 1}, f32(3, 4), i32(3)}, f32(3, 1, 1, 1), false},
		{"other boxes", nn.OpRoiPooling, ops.RoiPooling{Roi: roi(1, 1)}, []ir.Tensor{f32(1, 7, 7, 1), f32(2, 4), i32(3)}, f32(3, 1, 1, 1), false},
		{"other cells", nn.OpRoiPooling, ops.RoiPooling{Roi: roi(1, 2)}, []ir.Tensor{f32(1, 7, 7, 1), f32(3, 4), i32(3)}, f32(3, 1, 1, 1), false},
		{"deltas of others", nn.OpAxisAlignedBboxTransform, nil, []ir.Tensor{f32(3, 4), f32(2, 4), i32(3), f32(1, 2)}, f32(2, 4), false},
		{"boxes of integers", nn.OpAxisAlignedBboxTransform, nil, []ir.Tensor{i32(12), f32(3, 4), i32(3), f32(1, 2)}, f32(3, 4), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := singleNode(ir.Node{Op: tc.op, Attrs: tc.attrs}, tc.out, tc.in...)
			if err := Check(&facts, g, &g.Nodes[0]); tc.runs {
				require.NoError(t, err)
			} else {
				require.Error(t, err)
			}
		})
	}
}
