package ops

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// SPACE_TO_DEPTH, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND move blocks of pixels between the plane and
// the channels or the images; CHANNEL_SHUFFLE moves groups along one dimension.
func init() {
	image := input(numbers, exactly(4))
	size := int32Of("block size", "at least 1")
	block := indices("block", exactly(1), "[2]: height and width, at least 1")
	register(
		Row{
			Type: nn.OpSpaceToDepth, Since: 1,
			Forms: one(image, size, layout().trailing()), Outputs: result(exactly(4)),
			Rules: []string{"the block size b divides height and width; [n, h, w, c] becomes [n, h/b, w/b, c*b*b]"},
			quant: sameQuant, relate: relateImages,
			rules: typed[SpaceDepth]{attrs: spaceDepthAttrs, shapes: single(spaceToDepthShape)},
		},
		Row{
			Type: nn.OpDepthToSpace, Since: 1,
			Forms: one(image, size, layout().trailing()), Outputs: result(exactly(4)),
			Rules: []string{"the square of the block size b divides the channels; [n, h, w, c] becomes [n, h*b, w*b, c/(b*b)]"},
			quant: sameQuant, relate: relateImages,
			rules: typed[SpaceDepth]{attrs: spaceDepthAttrs, shapes: single(depthToSpaceShape)},
		},
		Row{
			Type: nn.OpSpaceToBatchNd, Since: 2,
			Forms: one(image, block, indices("paddings", exactly(2), "[2, 2]: above and below, left and right; not negative"),
				layout().trailing()),
			Outputs: result(exactly(4)),
			Rules: []string{
				"the block divides the padded height and width; [n, h, w, c], padded, becomes [n*bh*bw, h/bh, w/bw, c]",
				"fills with zero, the zero point of a quantised input",
			},
			quant: sameQuant, relate: relateChannels,
			rules: typed[SpaceBatch]{attrs: spaceToBatchAttrs, shapes: single(spaceToBatchShape)},
		},
		Row{
			Type: nn.OpBatchToSpaceNd, Since: 2,
			Forms: one(image, block, layout().trailing()), Outputs: result(exactly(4)),
			Rules: []string{"the product of the block divides the images; [n, h, w, c] becomes [n/(bh*bw), h*bh, w*bw, c]"},
			quant: sameQuant, relate: relateChannels,
			rules: typed[SpaceBatch]{attrs: batchToSpaceAttrs, shapes: single(batchToSpaceShape)},
		},
		Row{
			Type: nn.OpChannelShuffle, Since: 3,
			Forms:   one(input(numbers, atMost(4)), int32Of("groups", "divides the size of the axis"), int32Of("axis", "-rank to rank-1")),
			Outputs: result(atMost(4)),
			Rules:   []string{"along the axis, element i of group g becomes element i*groups+g"},
			quant:   sameQuant,
			relate:  relateSame,
			rules:   typed[ChannelShuffle]{attrs: channelShuffleAttrs, shapes: single(channelShuffleShape)},
		},
	)
}

// SpaceDepth are the attributes of SPACE_TO_DEPTH and DEPTH_TO_SPACE.
type SpaceDepth struct {
	Block int  `json:"block,omitempty"`
	NCHW  bool `json:"nchw,omitempty"`
}

func (a SpaceDepth) attrs()              {}
func (a SpaceDepth) ChannelsFirst() bool { return a.NCHW }
func (a SpaceDepth) ChannelsLast() Attrs { a.NCHW = false; return a }

// SpaceBatch are the attributes of SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND; the latter pads nothing.
type SpaceBatch struct {
	Block [2]int `json:"block"`
	Pad   Pad    `json:"pad,omitzero"`
	NCHW  bool   `json:"nchw,omitempty"`
}

func (a SpaceBatch) attrs()              {}
func (a SpaceBatch) ChannelsFirst() bool { return a.NCHW }
func (a SpaceBatch) ChannelsLast() Attrs { a.NCHW = false; return a }

func spaceDepthAttrs(p *params, a *SpaceDepth) {
	a.Block, a.NCHW = p.atLeast("block size", 1), p.flag("layout")
}

func spaceToDepthShape(p *params, a *SpaceDepth) (nn.Dims, error) {
	h, w, ch := spatial(a.NCHW)
	return moved(p.In(0).Dims, factor{h, ch, a.Block}, factor{w, ch, a.Block})
}

func depthToSpaceShape(p *params, a *SpaceDepth) (nn.Dims, error) {
	h, w, ch := spatial(a.NCHW)
	return moved(p.In(0).Dims, factor{ch, h, a.Block}, factor{ch, w, a.Block})
}

// factor is a number by which one dimension is divided and another multiplied.
type factor struct{ from, to, by int }

// moved is x after factors went from one dimension to another.
func moved(x nn.Dims, factors ...factor) (nn.Dims, error) {
	out := slices.Clone(x)
	for _, f := range factors {
		if int64(out[f.from])%int64(f.by) != 0 {
			return nil, fmt.Errorf("%d does not divide dimension %d of %v", f.by, f.from, []uint32(x))
		}
		n, err := toDim(int64(out[f.to]) * int64(f.by))
		if err != nil {
			return nil, err
		}
		out[f.from], out[f.to] = uint32(int64(out[f.from])/int64(f.by)), n
	}
	return out, nil
}

// block reads the sizes of a block, 1 where they are not known.
func (p *params) block() [2]int {
	v, ok := p.int32s("block")
	if !ok {
		return [2]int{1, 1}
	}
	if len(v) != 2 || v[0] < 1 || v[1] < 1 {
		p.fail("block %v", v)
		return [2]int{1, 1}
	}
	return [2]int{int(v[0]), int(v[1])}
}

func spaceToBatchAttrs(p *params, a *SpaceBatch) {
	a.Block, a.NCHW = p.block(), p.flag("layout")
	if o := p.In(2); o != nil && len(o.Dims) == 2 && (o.Dims[0] > 2 || o.Dims[1] > 2) {
		p.fail("paddings have dimensions %v instead of [2 2]", []uint32(o.Dims))
		return
	}
	v, ok := p.int32s("paddings")
	if !ok {
		return
	}
	if len(v) != 4 || min(v[0], v[1], v[2], v[3]) < 0 {
		p.fail("paddings %v", v)
		return
	}
	a.Pad = Pad{Top: int(v[0]), Bottom: int(v[1]), Left: int(v[2]), Right: int(v[3])}
}

func batchToSpaceAttrs(p *params, a *SpaceBatch) { a.Block, a.NCHW = p.block(), p.flag("layout") }

func spaceToBatchShape(p *params, a *SpaceBatch) (nn.Dims, error) {
	pads := make([][2]int, 4)
	h, w, _ := spatial(a.NCHW)
	pads[h], pads[w] = [2]int{a.Pad.Top, a.Pad.Bottom}, [2]int{a.Pad.Left, a.Pad.Right}
	x, err := padded(p.In(0).Dims, pads)
	if err != nil {
		return nil, err
	}
	return moved(x, factor{h, 0, a.Block[0]}, factor{w, 0, a.Block[1]})
}

func batchToSpaceShape(p *params, a *SpaceBatch) (nn.Dims, error) {
	h, w, _ := spatial(a.NCHW)
	return moved(p.In(0).Dims, factor{0, h, a.Block[0]}, factor{0, w, a.Block[1]})
}

// ChannelShuffle are the attributes of CHANNEL_SHUFFLE.
type ChannelShuffle struct {
	Groups int `json:"groups,omitempty"`
	Axis   int `json:"axis,omitempty"` // 0 <= axis < rank
}

func (ChannelShuffle) attrs() {}

func channelShuffleAttrs(p *params, a *ChannelShuffle) {
	a.Groups, a.Axis = p.atLeast("groups", 1), p.axisOf(p.rank())
}

func channelShuffleShape(p *params, a *ChannelShuffle) (nn.Dims, error) {
	x := p.In(0).Dims
	if int64(x[a.Axis])%int64(a.Groups) != 0 {
		return nil, fmt.Errorf("%d groups of dimension %d of %v", a.Groups, a.Axis, []uint32(x))
	}
	return slices.Clone(x), nil
}
