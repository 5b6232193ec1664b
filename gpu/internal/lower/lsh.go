package lower

import (
	"cmp"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

func init() {
	register(rule{check: checkLSH, lower: lowerLSH}, nn.OpLshProjection)
}

// lshChunk is the number of bytes of a row that one iteration of shaders/lsh/hash.comp takes.
const lshChunk = 64

func checkLSH(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	hash, x, y := g.T(n.In[0]), g.T(n.In[1]), g.T(n.Out[0])
	if !isFloatTensor(hash.Type) || y.Type != nn.TensorInt32 {
		return fmt.Errorf("hash of %v, result of %v", hash.Type, y.Type)
	}
	if len(hash.Shape) != 2 || len(x.Shape) == 0 || hash.Shape[1] > 32 {
		return fmt.Errorf("hash %v, input %v", hash.Shape, x.Shape)
	}
	rows, want := x.Shape[0], hash.Shape[0]
	if n.Attrs.(ops.LSH).Type == ops.LSHDense {
		want = hash.Elements()
	}
	if len(y.Shape) != 1 || y.Shape[0] != want {
		return fmt.Errorf("hash %v gives %d numbers, not %v", hash.Shape, want, y.Shape)
	}
	if w := n.In[2]; w != ir.None && (g.T(w).Type != hash.Type || g.T(w).Elements() != rows) {
		return fmt.Errorf("weights of %v %v for %d rows", g.T(w).Type, g.T(w).Shape, rows)
	}
	if size := x.Elements() / rows * x.Type.Bytes(); size/lshChunk >= emit.MaxLoop || rows > emit.MaxLoop {
		return fmt.Errorf("%d rows of %d bytes", rows, size)
	}
	if size := int64(hash.Elements()) * int64(rows) * 8; size > f.MaxStorageRange || size/8 > emit.MaxInvocations {
		return fmt.Errorf("the hashes need %d bytes, more than the device binds", size)
	}
	return cmp.Or(emit.CheckTensors(f, g, n), emit.CheckReshape(f, pack.LayoutOf(unpadded(x)), pack.LayoutOf(x)))
}

// unpadded is t as one row, in which there is no padding between elements.
func unpadded(t *ir.Tensor) *ir.Tensor { return &ir.Tensor{Type: t.Type, Shape: []int{t.Elements()}} }

// lowerLSH hashes all rows for each bit, adds up the hashes for a bit, and joins the bits of a hash.
func lowerLSH(b *emit.Builder, n *ir.Node) {
	seeds, x, from := b.Layout(n.In[0]), b.Tensor(n.In[1]), b.Layout(n.In[1])
	rows := from.Dims[0]
	flat := pack.LayoutOf(unpadded(b.Graph.T(n.In[1])))
	if !from.Dense() {
		dense := b.Temp(flat.Bytes())
		b.Reshape(dense, x, flat, from)
		x = dense
	}
	bits := seeds.Rows * seeds.C
	size := flat.C / rows * flat.Elem
	hashes := b.Temp(int64(bits) * int64(rows) * 8)
	push := emit.Ints(bits*rows).Divisors(rows, seeds.C).Ints(4*seeds.Quads, seeds.Elem, size, flat.TotalQuads()*flat.Elem)
	b.Quads(shaders.LshHash, bits*rows, push, emit.Cost{FLOP: float64(bits*rows) * float64(100+5*size)},
		b.In(n.In[0]), b.Read(x, plan.FormatNone), b.Write(hashes, plan.FormatNone))

	weights, weightBytes := b.In(n.In[0]), 0 // any tensor will do where the kernel reads no weights
	if n.In[2] != ir.None {
		weights, weightBytes = b.In(n.In[2]), seeds.Elem
	}
	result, dense := b.Tensor(n.Out[0]), n.Attrs.(ops.LSH).Type == ops.LSHDense
	signs := result
	padded := (bits + 3) / 4 * 4
	if !dense {
		signs = b.Temp(int64(padded) * 4)
	}
	b.Quads(shaders.LshSign, padded, emit.Ints(padded, bits, rows, weightBytes), emit.Cost{FLOP: 200 * float64(bits*rows)},
		b.Read(hashes, plan.FormatNone), weights, b.Write(signs, plan.FormatNone))
	if dense {
		return
	}
	apart := 0
	if n.Attrs.(ops.LSH).Type == ops.LSHSparse && seeds.Rows > 1 {
		apart = 1 << seeds.C
	}
	count := 4 * b.Layout(n.Out[0]).TotalQuads()
	b.Quads(shaders.LshBits, count, emit.Ints(count, seeds.Rows, seeds.C, apart), emit.Cost{},
		b.Read(signs, plan.FormatNone), b.Write(result, plan.FormatNone))
}
