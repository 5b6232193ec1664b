package compile

import "github.com/nngpu/nngpu/driver/nn"

// rearrangement moves blocks of elements; small blocks fit most often.
func (g *generator) rearrangement(x generated) {
	size := func() int32 { return pick(&g.chooser, 1, 2, 2, 3, 4, g.attr()) }
	block := func() uint32 { return g.parameter(nn.Dims{2}, []int32{size(), size()}) }
	op := pick(&g.chooser, nn.OpSpaceToDepth, nn.OpDepthToSpace, nn.OpSpaceToBatchNd, nn.OpBatchToSpaceNd, nn.OpChannelShuffle)
	in := []uint32{x.id}
	switch op {
	case nn.OpSpaceToDepth, nn.OpDepthToSpace:
		in = append(in, g.b.Scalar(size()))
	case nn.OpSpaceToBatchNd:
		pads := make([]int32, 4)
		for i := range pads {
			pads[i] = pick(&g.chooser, 0, 0, 1, 2, g.attr())
		}
		in = append(in, block(), g.parameter(nn.Dims{2, 2}, pads))
	case nn.OpBatchToSpaceNd:
		in = append(in, block())
	default:
		g.op(op, x.typ, x.q, x.id, g.b.Scalar(size()), g.b.Scalar(g.byte()%5-4))
		return
	}
	g.op(op, x.typ, x.q, append(in, g.b.Scalar(g.byte()%4 == 0))...)
}

func (g *generator) normalisation(x generated) {
	axis := g.b.Scalar(g.byte()%5 - 4)
	switch g.byte() % 3 {
	case 0:
		g.op(nn.OpL2Normalization, x.typ, fixedQuant(x.typ, true), x.id, axis)
	case 1:
		g.op(nn.OpLocalResponseNormalization, x.typ, x.q, x.id, g.b.Scalar(g.attr()), g.real(x.typ), g.real(x.typ), g.real(x.typ), axis)
	default:
		g.op(nn.OpInstanceNormalization, x.typ, x.q, x.id, g.real(x.typ), g.real(x.typ), g.real(x.typ), g.b.Scalar(g.byte()%2 == 0))
	}
}
