package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

func TestGatherRefusals(t *testing.T) {
	typed := func(t nn.OperandType, shape ...int) ir.Tensor { return ir.Tensor{Type: t, Shape: shape} }
	index := typed(nn.TensorInt32, 7)
	for name, tc := range map[string]struct {
		op      nn.OperationType
		axis    int
		in      []ir.Tensor
		out     []ir.Tensor
		allowed bool
	}{
		"gather":            {nn.OpGather, 1, []ir.Tensor{floatTensor(4, 3), index}, []ir.Tensor{floatTensor(4, 7)}, true},
		"axis":              {nn.OpGather, 2, []ir.Tensor{floatTensor(4, 3), index}, []ir.Tensor{floatTensor(4, 3, 7)}, false},
		"negative axis":     {nn.OpGather, -1, []ir.Tensor{floatTensor(4, 3), index}, []ir.Tensor{floatTensor(4, 7)}, false},
		"float indices":     {nn.OpGather, 1, []ir.Tensor{floatTensor(4, 3), floatTensor(7)}, []ir.Tensor{floatTensor(4, 7)}, false},
		"output":            {nn.OpGather, 1, []ir.Tensor{floatTensor(4, 3), index}, []ir.Tensor{floatTensor(7, 4)}, false},
		"type":              {nn.OpGather, 1, []ir.Tensor{floatTensor(4, 3), index}, []ir.Tensor{typed(nn.TensorInt32, 4, 7)}, false},
		"scale":             {nn.OpGather, 1, []ir.Tensor{floatTensor(4, 3), index}, []ir.Tensor{{Type: nn.TensorFloat32, Shape: []int{4, 7}, Scale: 1}}, false},
		"hashtable":         {nn.OpHashtableLookup, 0, []ir.Tensor{index, typed(nn.TensorInt32, 4), floatTensor(4, 3)}, []ir.Tensor{floatTensor(7, 3), typed(nn.TensorQuant8Asymm, 7)}, true},
		"fewer keys":        {nn.OpHashtableLookup, 0, []ir.Tensor{index, typed(nn.TensorInt32, 3), floatTensor(4, 3)}, []ir.Tensor{floatTensor(7, 3), typed(nn.TensorQuant8Asymm, 7)}, false},
		"fewer hits":        {nn.OpHashtableLookup, 0, []ir.Tensor{index, typed(nn.TensorInt32, 4), floatTensor(4, 3)}, []ir.Tensor{floatTensor(7, 3), typed(nn.TensorQuant8Asymm, 3)}, false},
		"wide hits":         {nn.OpHashtableLookup, 0, []ir.Tensor{index, typed(nn.TensorInt32, 4), floatTensor(4, 3)}, []ir.Tensor{floatTensor(7, 3), typed(nn.TensorInt32, 7)}, false},
		"values of rank 1":  {nn.OpHashtableLookup, 0, []ir.Tensor{index, typed(nn.TensorInt32, 4), floatTensor(4)}, []ir.Tensor{floatTensor(7), typed(nn.TensorQuant8Asymm, 7)}, false},
		"select":            {nn.OpSelect, 0, []ir.Tensor{typed(nn.TensorBool8, 4, 3), floatTensor(4, 3), floatTensor(4, 3)}, []ir.Tensor{floatTensor(4, 3)}, true},
		"select by bytes":   {nn.OpSelect, 0, []ir.Tensor{typed(nn.TensorQuant8Asymm, 4, 3), floatTensor(4, 3), floatTensor(4, 3)}, []ir.Tensor{floatTensor(4, 3)}, false},
		"select of another": {nn.OpSelect, 0, []ir.Tensor{typed(nn.TensorBool8, 4, 3), floatTensor(4, 3), floatTensor(3)}, []ir.Tensor{floatTensor(4, 3)}, false},
		"mask of another":   {nn.OpSelect, 0, []ir.Tensor{typed(nn.TensorBool8, 3), floatTensor(4, 3), floatTensor(4, 3)}, []ir.Tensor{floatTensor(4, 3)}, false},
		"select of no type": {nn.OpSelect, 0, []ir.Tensor{typed(nn.TensorBool8, 4, 3), typed(nn.TensorInt32, 4, 3), floatTensor(4, 3)}, []ir.Tensor{floatTensor(4, 3)}, false},
		"no scale":          {nn.OpSelect, 0, []ir.Tensor{typed(nn.TensorBool8, 3), typed(nn.TensorQuant8Asymm, 3), typed(nn.TensorQuant8Asymm, 3)}, []ir.Tensor{typed(nn.TensorQuant8Asymm, 3)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := &ir.Graph{}
			n := ir.Node{Op: tc.op}
			if tc.op == nn.OpGather {
				n.Attrs = ops.Gather{Axis: tc.axis}
			}
			for _, x := range tc.in {
				n.In = append(n.In, g.Add(x))
			}
			for _, y := range tc.out {
				n.Out = append(n.Out, g.Add(y))
			}
			require.Equal(t, tc.allowed, Check(&softwareFacts, g, &n) == nil)
		})
	}
}
