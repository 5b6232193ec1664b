package compile

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// minLength is the least that a vector is divided by. From kEpsilon of packages/modules/NeuralNetworks,
// common/operations/L2Normalization.cpp.
const minLength = 1e-6

// expandL2Normalization divides vectors by the roots of their sums of squares.
//
// Numerics: float32, rounded only at the end. The scale of stored integers cancels, and counts as 1.
func expandL2Normalization(x *expansion, n *ir.Node) error {
	if err := x.checkRoom(9); err != nil {
		return err
	}
	if err := x.takeConstants(2); err != nil {
		return err
	}
	in := n.In[0]
	if t := *x.graph.T(in); t.Type.IsQuant8() {
		t.Scale, t.Const = 1, nil
		in = x.into(x.graph.Add(t), nn.OpReshape, nil, in)
	}
	a, axis := x.float32(in), n.Attrs.(ops.L2Normalization).Axis
	size := x.constant(1, float32(x.graph.T(a).Shape[axis]))
	length := x.like(nn.OpSqrt, nil, x.mul(x.mean(x.mul(a, a), axis), size))
	length = x.like(nn.OpMaximum, nil, length, x.constant(1, minLength))
	x.finish(n.Out[0], x.like(nn.OpDiv, ops.Arithmetic{}, a, length))
	return nil
}

// expandInstanceNormalization normalises each channel of each image, [n, h, w, c].
//
// Numerics: float32; float16 is rounded only at the end.
func expandInstanceNormalization(x *expansion, n *ir.Node) error {
	if err := x.checkRoom(len(x.nodes) + 11); err != nil {
		return err
	}
	if err := x.takeConstants(3); err != nil {
		return err
	}
	a := n.Attrs.(ops.InstanceNormalization)
	centred, scale := x.normalise(x.float32(n.In[0]), x.constant(1, float32(a.Epsilon)), 1, 2)
	y := x.mul(centred, x.mul(scale, x.constant(1, float32(a.Gamma))))
	x.finish(n.Out[0], x.add(y, x.constant(1, float32(a.Beta))))
	return nil
}
