package lower

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

// lowerFor lowers g for facts f as compile.Graph does.
func lowerFor(t *testing.T, f plan.Facts, g *ir.Graph) (*plan.Plan, []byte) {
	t.Helper()
	require.NoError(t, g.Verify(ir.Normal))
	b := emit.NewBuilder(&f, g)
	in, out, hostBytes := b.PlaceIO()
	PlaceConcats(b)
	b.LoadInputs()
	for i := range g.Nodes {
		require.NoError(t, Check(&f, g, &g.Nodes[i]))
		require.NoError(t, Node(b, &g.Nodes[i]))
	}
	b.StoreOutputs()
	p, packed, err := b.Finish()
	require.NoError(t, err)
	weights, err := packed.Bytes()
	require.NoError(t, err)
	p.Inputs, p.Outputs, p.HostBytes, p.Segments = in, out, hostBytes+plan.Align, []int{len(p.Steps)}
	require.NoError(t, p.Verify())
	return p, weights
}

// runGraph lowers g for d, runs it once and returns the outputs.
func runGraph(t *testing.T, d *vulkan.Device, g *ir.Graph, inputs ...[]byte) [][]byte {
	t.Helper()
	p, weights := lowerFor(t, d.Facts(), g)
	return runPlan(t, d, p, weights, inputs)
}

func runPlan(t *testing.T, d *vulkan.Device, p *plan.Plan, weights []byte, inputs [][]byte) [][]byte {
	t.Helper()
	ctx := context.Background()
	x, err := vulkan.NewExecutable(ctx, d, p, weights, vulkan.ExecutableOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, x.Close()) }()
	outputs := make([][]byte, len(p.Outputs))
	for i := range outputs {
		outputs[i] = make([]byte, p.Outputs[i].Size)
	}
	e, err := x.BeginRun(ctx, inputs, outputs)
	require.NoError(t, err)
	defer e.Release()
	fence, err := e.Submit(0, 1)
	require.NoError(t, err)
	require.NoError(t, fence.Wait(ctx))
	require.NoError(t, e.Finish())
	return outputs
}

// singleNode is a graph of one operation; every tensor but out is an input.
func singleNode(n ir.Node, out ir.Tensor, in ...ir.Tensor) *ir.Graph {
	if row := ops.Lookup(n.Op); row != nil && n.Attrs == nil {
		n.Attrs, _ = row.ParseAttrs([]byte("{}")) // all zero
	}
	g := &ir.Graph{}
	for _, t := range in {
		id := g.Add(t)
		g.Inputs, n.In = append(g.Inputs, id), append(n.In, id)
	}
	n.Out = []ir.ID{g.Add(out)}
	g.Outputs = n.Out
	g.Nodes = []ir.Node{n}
	return g
}

func bytesOfF32(v []float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func f32OfBytes(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}
