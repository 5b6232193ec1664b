package lower

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// TestRunLengths: how many quads an invocation handles depends on the class of the device, what comes out
// does not. The software devices are of one class; the plans for the other run on them too.
func TestRunLengths(t *testing.T) {
	type nodeCase struct {
		name    string
		op      nn.OperationType
		attrs   ops.Attrs
		in, out []int
	}
	cases := []nodeCase{
		{"image", nn.OpReshape, nil, []int{1, 31, 33, 3}, []int{31, 99}},
		{"short rows", nn.OpReshape, nil, []int{101, 7}, []int{707}},
		{"transposition of rows", nn.OpTranspose, ops.Transpose{Perm: []int{1, 0, 2}}, []int{5, 7, 40}, []int{7, 5, 40}},
		{"padding", nn.OpPad, ops.Padding{Pads: [][2]int{{}, {1, 2}, {2, 1}, {}}}, []int{1, 9, 11, 5}, []int{1, 12, 14, 5}},
		{"mirrors", nn.OpMirrorPad, ops.MirrorPadding{Pads: [][2]int{{}, {1, 2}, {2, 1}, {}}}, []int{1, 9, 11, 5}, []int{1, 12, 14, 5}},
		{"bilinear", nn.OpResizeBilinear, ops.Resize{HalfPixel: true}, []int{1, 7, 5, 41}, []int{1, 13, 11, 41}},
		{"nearest", nn.OpResizeNearestNeighbor, ops.Resize{}, []int{1, 7, 5, 72}, []int{1, 13, 11, 72}},
	}
	types := []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16, nn.TensorQuant8Asymm}
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		for _, tc := range cases {
			for _, typ := range types {
				t.Run(tc.name+" "+typ.String(), func(t *testing.T) {
					x := ir.Tensor{Type: typ, Shape: tc.in, Scale: 1}
					y := ir.Tensor{Type: typ, Shape: tc.out, Scale: 1}
					data := make([]byte, x.Elements()*typ.Bytes())
					rng := rand.New(rand.NewPCG(3, 4))
					for i := range data {
						data[i] = byte(rng.IntN(60)) // a finite number of any type
					}
					var got [2][]byte
					for i, class := range []plan.Class{plan.ClassCPU, plan.ClassGPU} {
						g := singleNode(ir.Node{Op: tc.op, Attrs: tc.attrs}, y, x)
						f := d.Facts()
						f.Class = class
						got[i] = runAs(t, d, &f, g, data)
					}
					require.Equal(t, got[0], got[1])
				})
			}
		}
	})
}

// runAs runs g on d with a plan for the facts f and returns its output.
func runAs(t *testing.T, d *vulkan.Device, f *plan.Facts, g *ir.Graph, input []byte) []byte {
	t.Helper()
	p, weights := lowerFor(t, *f, g)
	return runPlan(t, d, p, weights, [][]byte{input})[0]
}
