package compile

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// chooser makes decisions of the bytes of a fuzzer; zero when they are used up.
type chooser struct{ rest []byte }

func (c *chooser) byte() int {
	if len(c.rest) == 0 {
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return int(b)
}

func pick[T any](c *chooser, list ...T) T { return list[c.byte()%len(list)] }

// dim is a dimension: mostly small, sometimes at an edge.
func (c *chooser) dim() uint32 {
	if b := c.byte(); b < 176 {
		return [...]uint32{1, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 100}[b%16]
	}
	return c.edge()
}

// edge is a large dimension.
func (c *chooser) edge() uint32 {
	return [...]uint32{
		255, 256, 257, 1000, 1023, 1025, 4095, 8191, 19999, 20001, 60000, 65535, 65536, 65537, 240001, 1 << 20, 1<<20 + 1,
		1 << 22, 1 << 23, 1<<23 + 1, 1 << 24, 1 << 25, 1<<26 - 1, 1 << 26, 1 << 27, 1<<28 - 1, 1 << 28, 1 << 29, 1 << 30,
		1<<31 - 1, 1 << 31, 1<<32 - 1,
	}[c.byte()%32]
}

// attr is an integer parameter.
func (c *chooser) attr() int32 {
	b := c.byte()
	if b < 200 {
		return [...]int32{1, 1, 1, 2, 2, 3, 4, 5, 7, 8, 0}[b%11]
	}
	return [...]int32{
		-1, -2, -1 << 31, 9, 15, 16, 17, 63, 64, 255, 256, 1000, 1023, 1024, 4095, 20000, 59999, 60001, 65535, 65536, 1 << 20, 1 << 22,
		1 << 23, 1 << 28, 1<<29 - 1, 1 << 29, 1<<29 + 1, 1<<30 - 1, 1 << 30, 1<<30 + 1, 1<<31 - 2, 1<<31 - 1,
	}[b%32]
}

func (c *chooser) scale() float32 {
	return pick[float32](c, 1, 0.5, 1.0/256, 1.0/128, 0.1, 1e-38, 1e-45, 3e38, 1e20, 1e-20, 0.0235)
}

// generator makes a model of what a chooser decides.
type generator struct {
	chooser
	b       nn.Builder
	tensors []generated // that an operation can read
}

// generated is an operand with what the generator knows of it.
type generated struct {
	id   uint32
	typ  nn.OperandType
	dims nn.Dims // nil: not known here
	q    quant
}

type quant struct {
	scale float32
	zero  int32
}

// maxConst bounds the constants of a generated model, in elements.
const maxConst = 1 << 12

// generate makes a model; most of them are not valid.
func generate(data []byte) *nn.Model {
	g := &generator{chooser: chooser{data}}
	typ := pick(&g.chooser, nn.TensorFloat32, nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned, nn.TensorFloat16, nn.TensorInt32)
	q := g.quantOf(typ)
	for range 1 + g.byte()%2 {
		g.input(typ, g.shape(), q)
	}
	for range 1 + g.byte()%4 {
		g.operation()
	}
	// What nobody reads is an output.
	last := g.tensors[len(g.tensors)-1]
	used := map[uint32]bool{}
	m := nntest.Build(&g.b)
	for _, op := range m.Main.Operations {
		for _, x := range op.Inputs {
			used[x] = true
		}
	}
	for _, x := range g.tensors {
		if m.Main.Operands[x.id].Lifetime == nn.Temporary && (!used[x.id] || x.id == last.id || g.byte() > 200) {
			m.Main.Operands[x.id].Lifetime = nn.SubgraphOutput
			m.Main.Outputs = append(m.Main.Outputs, x.id)
		}
	}
	return m
}

func (g *generator) quantOf(t nn.OperandType) quant {
	if !t.IsQuant8() {
		return quant{}
	}
	q := quant{scale: g.scale(), zero: pick[int32](&g.chooser, 0, 0, 127, 128, 255, -128, 3)}
	if t == nn.TensorQuant8AsymmSigned {
		q.zero = min(q.zero, 127)
	} else {
		q.zero = max(q.zero, 0)
	}
	return q
}

func (g *generator) shape() nn.Dims {
	d := make(nn.Dims, pick(&g.chooser, 4, 4, 4, 2, 1, 3, 5, 8))
	odd := g.byte() // half of the shapes have one dimension at an edge, so that the whole is often near a limit
	for i := range d {
		switch {
		case odd < 128:
			d[i] = g.dim()
		case odd%len(d) == i:
			d[i] = g.edge()
		default:
			d[i] = pick[uint32](&g.chooser, 1, 1, 1, 1, 2, 3, 4, 5, 9)
		}
	}
	return d
}

func (g *generator) input(t nn.OperandType, d nn.Dims, q quant) generated {
	x := generated{g.b.Input(t, d, q.scale, q.zero), t, d, q}
	g.tensors = append(g.tensors, x)
	return x
}

// data is a tensor of the given shape: a constant where it is small, else an input of the model.
func (g *generator) data(t nn.OperandType, d nn.Dims, q quant) uint32 {
	n, err := d.Elements()
	if err != nil || n > maxConst || n == 0 || g.byte() > 170 {
		return g.input(t, d, q).id
	}
	value := make([]byte, int(n)*t.Bytes())
	for i := range value {
		value[i] = byte(i * 37)
	}
	return g.b.Const(t, d, q.scale, q.zero, value)
}

// parameter is a list of integers: mostly a constant, sometimes an input.
func (g *generator) parameter(d nn.Dims, v []int32) uint32 {
	if g.byte() > 200 {
		return g.b.Input(nn.TensorInt32, d, 0, 0)
	}
	return g.b.Ints(d, v...)
}

// tensor is one that was made before.
func (g *generator) tensor() generated { return g.tensors[g.byte()%len(g.tensors)] }

// result adds the output of an operation, whose shape is mostly left to inference.
func (g *generator) result(t nn.OperandType, q quant) uint32 {
	var d nn.Dims
	if g.byte() > 220 {
		d = g.shape()
	}
	id := g.b.Temp(t, d, q.scale, q.zero)
	g.tensors = append(g.tensors, generated{id, t, d, q})
	return id
}

func (g *generator) op(t nn.OperationType, typ nn.OperandType, q quant, in ...uint32) {
	g.b.Op(t, in, []uint32{g.result(typ, q)})
}

// real is a float parameter that goes with tensors of type t.
func (g *generator) real(t nn.OperandType) uint32 {
	if t == nn.TensorFloat16 {
		return g.b.Const(nn.Float16, nil, 0, 0, []byte{byte(g.byte()), byte(g.byte())})
	}
	return g.b.Scalar(pick[float32](&g.chooser, 1, 0.5, -1, 3e38, 1e-40, 1e10, 2, 3, 0.33333))
}

func (g *generator) act() uint32 { return g.b.Scalar(g.byte() % 4) }

// operation adds one.
func (g *generator) operation() {
	x := g.tensor()
	switch g.byte() % 20 {
	case 0, 1:
		g.convolution(x)
	case 2:
		g.pool(x)
	case 3, 4:
		g.binary(x)
	case 5:
		g.unary(x)
	case 6:
		g.softmax(x)
	case 7:
		g.mean(x)
	case 8:
		g.reshape(x)
	case 9:
		g.transpose(x)
	case 10:
		g.concat(x)
	case 11, 12:
		g.pad(x)
	case 13:
		g.resize(x)
	case 14:
		g.fullyConnected(x)
	case 15:
		g.convert(x)
	case 16:
		g.comparison(x)
	case 17:
		g.topK(x)
	case 18:
		g.rearrangement(x)
	case 19:
		g.normalisation(x)
	}
}
