package compile

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/lower"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// expansions are the operations that no kernel does, or few do: each becomes nodes that kernels do, perhaps one like
// itself.
var expansions = map[nn.OperationType]func(x *expansion, n *ir.Node) error{
	nn.OpAxisAlignedBboxTransform:   expandBoxes,
	nn.OpBatchMatmul:                expandBatchMatmul,
	nn.OpBatchToSpaceNd:             expandBatchToSpace,
	nn.OpBidirectionalSequenceLstm:  expandBidirectionalLSTM,
	nn.OpBidirectionalSequenceRnn:   expandBidirectionalRNN,
	nn.OpChannelShuffle:             expandChannelShuffle,
	nn.OpDetectionPostprocessing:    expandBoxes,
	nn.OpDepthToSpace:               expandDepthToSpace,
	nn.OpEmbeddingLookup:            expandEmbedding,
	nn.OpFill:                       expandFill,
	nn.OpGroupedConv2D:              expandGroupedConv,
	nn.OpHeatmapMaxKeypoint:         expandKeypoint,
	nn.OpInstanceNormalization:      expandInstanceNormalization,
	nn.OpL2Normalization:            expandL2Normalization,
	nn.OpLstm:                       expandLSTM,
	nn.OpRank:                       expandRank,
	nn.OpReverse:                    expandReverse,
	nn.OpRnn:                        expandRNN,
	nn.OpPack:                       expandPack,
	nn.OpRoiAlign:                   expandBoxes,
	nn.OpRoiPooling:                 expandBoxes,
	nn.OpSpaceToBatchNd:             expandSpaceToBatch,
	nn.OpSpaceToDepth:               expandSpaceToDepth,
	nn.OpSvdf:                       expandSVDF,
	nn.OpTransposeConv2D:            expandTransposeConv,
	nn.OpUnidirectionalSequenceLstm: expandSequenceLSTM,
	nn.OpUnidirectionalSequenceRnn:  expandSequenceRNN,

	ops.Counted(nn.OpBoxWithNmsLimit):   expandBoxes,
	ops.Counted(nn.OpGenerateProposals): expandProposals,
	ops.TakeRows:                        expandTakeRows,
}

// has reports whether there are kernels for an operation, or for those that it becomes, whatever its operands are.
func has(op nn.OperationType) bool {
	_, ok := expansions[op]
	return ok || lower.Has(op)
}

const (
	// maxExpanded is the number of nodes that expansions may add to a model: compiling takes that long, and no longer.
	maxExpanded = 1 << 14
	// maxExpandedConstants is the number of elements of the constants that they may add, which no constant of the model
	// accounts for where its weights are inputs.
	maxExpandedConstants = 1 << 22
)

// expand replaces operations by the nodes that they consist of, and those on NCHW images by their form for NHWC.
//
// Requires: ir.Inferred.   Ensures: expansions have nothing more to do; a node that would become too many is refused.
func (u *unit) expand() error {
	nodes := make([]ir.Node, 0, len(u.graph.Nodes))
	room, constants := maxExpanded, maxExpandedConstants
	for i := range u.graph.Nodes {
		n := &u.graph.Nodes[i]
		become, ok := expansions[n.Op]
		if !ok {
			nodes = append(nodes, *n)
			continue
		}
		x := expansion{facts: u.facts, graph: u.graph, source: n.Source, room: room, constants: constants}
		if err := x.expand(*n, become); err != nil {
			u.refuse(n, err)
			continue
		}
		nodes = append(nodes, x.nodes...)
		room, constants = room-len(x.nodes), x.constants
	}
	u.graph.Nodes = nodes
	return nil
}

// expansion collects the nodes that an operation becomes.
type expansion struct {
	facts     *plan.Facts
	graph     *ir.Graph
	source    int
	room      int // nodes that may still be made
	constants int // elements of constants that may still be made
	nodes     []ir.Node
}

// expand collects what n becomes.
func (x *expansion) expand(n ir.Node, become func(*expansion, *ir.Node) error) error {
	a, imaged := n.Attrs.(ops.Imaged)
	if !imaged || !a.ChannelsFirst() {
		return become(x, &n)
	}
	before, n, after := channelsLast(x.graph, n)
	x.nodes = append(x.nodes, before)
	if err := become(x, &n); err != nil {
		return err
	}
	x.nodes = append(x.nodes, after)
	return nil
}

// checkRoom fails where n nodes are too many.
func (x *expansion) checkRoom(n int) error {
	if n > x.room {
		return fmt.Errorf("becomes more than %d operations", x.room)
	}
	return nil
}

// takeConstants fails where constants of n elements are too many, and counts them.
func (x *expansion) takeConstants(n int) error {
	if n > x.constants {
		return fmt.Errorf("needs constants of more than %d elements", x.constants)
	}
	x.constants -= n
	return nil
}

// tensor adds a float32 tensor.
func (x *expansion) tensor(shape ...int) ir.ID {
	return x.graph.Add(ir.Tensor{Type: nn.TensorFloat32, Shape: shape})
}

// shaped adds a tensor like a with another shape.
func (x *expansion) shaped(a ir.ID, shape ...int) ir.ID {
	t := *x.graph.T(a)
	t.Shape, t.Const = shape, nil
	return x.graph.Add(t)
}

// into appends a node that writes out.
func (x *expansion) into(out ir.ID, op nn.OperationType, a ops.Attrs, in ...ir.ID) ir.ID {
	x.nodes = append(x.nodes, ir.Node{Op: op, In: in, Out: []ir.ID{out}, Attrs: a, Source: x.source})
	return out
}

// like appends a node whose result is of the shape of its first input.
func (x *expansion) like(op nn.OperationType, a ops.Attrs, in ...ir.ID) ir.ID {
	return x.into(x.tensor(x.graph.T(in[0]).Shape...), op, a, in...)
}

func (x *expansion) add(a, b ir.ID) ir.ID { return x.like(nn.OpAdd, ops.Arithmetic{}, a, b) }
func (x *expansion) sub(a, b ir.ID) ir.ID { return x.like(nn.OpSub, ops.Arithmetic{}, a, b) }
func (x *expansion) mul(a, b ir.ID) ir.ID { return x.like(nn.OpMul, ops.Arithmetic{}, a, b) }

// constant adds a tensor of n elements, all of them v.
func (x *expansion) constant(n int, v float32) ir.ID {
	id := x.tensor(n)
	x.graph.T(id).Const = pack.FloatBytes(slices.Repeat([]float32{v}, n))
	return id
}

// clamp bounds the magnitude of a, by constants of one element.
func (x *expansion) clamp(a, low, high ir.ID) ir.ID {
	return x.like(nn.OpMinimum, nil, x.like(nn.OpMaximum, nil, a, low), high)
}

func isQuantised(t nn.OperandType) bool {
	return t.IsQuant8() || t == nn.TensorQuant16Asymm || t == nn.TensorQuant16Symm
}

// float32 returns a as a float32 tensor.
func (x *expansion) float32(a ir.ID) ir.ID {
	switch {
	case a == ir.None || x.graph.T(a).Type == nn.TensorFloat32:
		return a
	case isQuantised(x.graph.T(a).Type):
		return x.like(nn.OpDequantize, nil, a)
	}
	return x.like(nn.OpCast, nil, a)
}

// finish gives out the value of a, which is float32, rounded where out is of another type.
func (x *expansion) finish(out, a ir.ID) {
	op := nn.OpCast
	switch t := x.graph.T(out).Type; {
	case t == nn.TensorFloat32:
		op = nn.OpReshape
	case isQuantised(t):
		op = nn.OpQuantize
	}
	x.into(out, op, nil, a)
}

// product is a, [N, I], times the transposed weights, [U, I], plus the bias, [U].
func (x *expansion) product(a, weights, bias ir.ID) ir.ID {
	out := x.tensor(x.graph.T(a).Shape[0], x.graph.T(weights).Shape[0])
	return x.into(out, nn.OpFullyConnected, ops.FullyConnected{}, a, weights, bias)
}

// mean is the mean of a over axes, which stay, with size 1.
func (x *expansion) mean(a ir.ID, axes ...int) ir.ID {
	shape := slices.Clone(x.graph.T(a).Shape)
	for _, i := range axes {
		shape[i] = 1
	}
	return x.into(x.tensor(shape...), nn.OpMean, ops.Mean{Axes: axes}, a)
}

// normalise brings a to mean 0 over axes; times scale, it has the variance 1.
func (x *expansion) normalise(a, epsilon ir.ID, axes ...int) (centred, scale ir.ID) {
	centred = x.sub(a, x.mean(a, axes...))
	variance := x.mean(x.mul(centred, centred), axes...)
	return centred, x.like(nn.OpRsqrt, nil, x.add(variance, epsilon))
}

// steps cuts a, [n*N, U], into n tensors of N rows.
func (x *expansion) steps(a ir.ID, n int) []ir.ID {
	if n == 1 {
		return []ir.ID{a}
	}
	shape := x.graph.T(a).Shape
	list := make([]ir.ID, n)
	for i := range list {
		list[i] = x.tensor(shape[0]/n, shape[1])
	}
	x.nodes = append(x.nodes, ir.Node{Op: nn.OpSplit, In: []ir.ID{a}, Out: list, Attrs: ops.Split{}, Source: x.source})
	return list
}
