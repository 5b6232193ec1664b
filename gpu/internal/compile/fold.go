package compile

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
)

// Folding may make foldedBytes times the bytes of the model's constants, and foldedRoom for small ones: as much as it
// takes to convert each once. More conversions, where many nodes read one constant, are left to the device.
const (
	foldedBytes = 4
	foldedRoom  = 1 << 20
)

// foldConstants computes nodes that only change the form of constants: CAST of float16 and DEQUANTIZE to
// float32, reshapes, and concatenations of whole runs.
//
// Requires: ir.Inferred.   Ensures: no node writes a constant.
// Numerics: exact; both conversions are products of one float32 multiplication at most.
func foldConstants(g *ir.Graph) error {
	f := folder{room: foldedRoom + foldedBytes*pack.ConstantBytes(g), made: map[conversion][]byte{}}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if len(n.In) == 0 || n.In[0] == ir.None || len(n.Out) != 1 {
			continue
		}
		x, y := g.T(n.In[0]), g.T(n.Out[0])
		if n.Op == nn.OpConcatenation {
			y.Const = f.joined(g, n)
			continue
		}
		if x.Const == nil || x.Elements() != y.Elements() {
			continue
		}
		switch n.Op {
		case nn.OpReshape, nn.OpSqueeze, nn.OpExpandDims:
			y.Const = x.Const
		case nn.OpCast:
			if x.Type == nn.TensorFloat16 {
				y.Const = f.toFloat32(x, y)
			}
		case nn.OpDequantize:
			y.Const = f.toFloat32(x, y)
		}
	}
	// A node whose output became a constant writes nothing any more.
	nodes := g.Nodes[:0]
	for i := range g.Nodes {
		if len(g.Nodes[i].Out) == 1 && g.T(g.Nodes[i].Out[0]).Const != nil {
			continue
		}
		nodes = append(nodes, g.Nodes[i])
	}
	g.Nodes = nodes
	return nil
}

// conversion names the constant that was converted to float32.
type conversion struct {
	from  *byte
	n     int
	typ   nn.OperandType
	scale float32
	zero  int32
}

// folder converts constants, each once.
type folder struct {
	room int64 // bytes that may still be made
	made map[conversion][]byte
}

// joined returns the inputs of concatenation n one after the other, or nil where that is not its result, or is left to
// the device.
func (f *folder) joined(g *ir.Graph, n *ir.Node) []byte {
	y := g.T(n.Out[0])
	size := int64(y.Elements() * y.Type.Bytes())
	if ir.Product(y.Shape[:n.Attrs.(ops.Concatenation).Axis]) != 1 || size > f.room {
		return nil
	}
	for _, id := range n.In {
		if x := g.T(id); x.Const == nil || x.Type != y.Type || !x.SameQuant(y) {
			return nil
		}
	}
	f.room -= size
	c := make([]byte, 0, size)
	for _, id := range n.In {
		c = append(c, g.T(id).Const...)
	}
	return c
}

// toFloat32 converts constant x to the type of y, or returns nil for what is left to the device.
func (f *folder) toFloat32(x, y *ir.Tensor) []byte {
	if y.Type != nn.TensorFloat32 || len(x.Const) == 0 {
		return nil
	}
	key := conversion{&x.Const[0], len(x.Const), x.Type, x.Scale, x.Zero}
	if c, ok := f.made[key]; ok {
		return c
	}
	size := int64(4 * x.Elements())
	if size > f.room {
		return nil
	}
	c := toFloat32(x)
	if c != nil {
		f.room -= size
		f.made[key] = c
	}
	return c
}

// toFloat32 converts constant x to float32, or returns nil for a type that is left to the device.
func toFloat32(x *ir.Tensor) []byte {
	values := make([]float32, x.Elements())
	switch x.Type {
	case nn.TensorFloat16:
		values = pack.Floats(x)
	case nn.TensorQuant8Asymm:
		for i := range values {
			values[i] = float32(int32(x.Const[i])-x.Zero) * x.Scale
		}
	case nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm:
		for i := range values {
			values[i] = float32(int32(int8(x.Const[i]))-x.Zero) * x.Scale
		}
	default:
		return nil
	}
	return pack.FloatBytes(values)
}
