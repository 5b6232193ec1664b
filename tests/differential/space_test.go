package differential

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/internal/conformancedata"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/tests/internal/ref"
)

// rearranged are operations that move blocks of elements, with what their input must be: factors of its dimensions, which
// are NHWC.
var rearranged = []struct {
	name    string
	factors nn.Dims
	apply   func(b *layers.Builder, x uint32, nchw bool) uint32
}{
	{"to depth, 2", nn.Dims{1, 2, 2, 1}, func(b *layers.Builder, x uint32, nchw bool) uint32 { return b.SpaceToDepth(x, 2, nchw) }},
	{"to depth, 3", nn.Dims{1, 3, 3, 1}, func(b *layers.Builder, x uint32, nchw bool) uint32 { return b.SpaceToDepth(x, 3, nchw) }},
	{"to space, 1", nn.Dims{1, 1, 1, 1}, func(b *layers.Builder, x uint32, nchw bool) uint32 { return b.DepthToSpace(x, 1, nchw) }},
	{"to space, 2", nn.Dims{1, 1, 1, 4}, func(b *layers.Builder, x uint32, nchw bool) uint32 { return b.DepthToSpace(x, 2, nchw) }},
	{"to space, 3", nn.Dims{1, 1, 1, 9}, func(b *layers.Builder, x uint32, nchw bool) uint32 { return b.DepthToSpace(x, 3, nchw) }},
	{"to batch", nn.Dims{1, 2, 3, 1}, func(b *layers.Builder, x uint32, nchw bool) uint32 {
		return b.SpaceToBatch(x, [2]int{2, 3}, ops.Pad{}, nchw)
	}},
	{"to batch, padded", nn.Dims{1, 2, 3, 1}, func(b *layers.Builder, x uint32, nchw bool) uint32 {
		return b.SpaceToBatch(x, [2]int{2, 3}, ops.Pad{Top: 1, Bottom: 5, Right: 3}, nchw)
	}},
	{"from batch", nn.Dims{6, 1, 1, 1}, func(b *layers.Builder, x uint32, nchw bool) uint32 { return b.BatchToSpace(x, [2]int{3, 2}, nchw) }},
	{"from batch, rows", nn.Dims{4, 1, 1, 1}, func(b *layers.Builder, x uint32, nchw bool) uint32 { return b.BatchToSpace(x, [2]int{4, 1}, nchw) }},
	{"shuffled images", nn.Dims{6, 1, 1, 1}, func(b *layers.Builder, x uint32, _ bool) uint32 { return b.ChannelShuffle(x, 3, 0) }},
}

// TestRearranged: blocks in both layouts, over rows with and without padding; a mean that reads the results finds nothing
// in their padding.
func TestRearranged(t *testing.T) {
	eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for _, tc := range rearranged {
			for _, base := range []nn.Dims{{1, 1, 1, 1}, {2, 3, 5, 1}, {1, 5, 2, 3}, {3, 2, 1, 4}, {1, 7, 11, 13}} {
				for _, nchw := range []bool{false, true} {
					t.Run(fmt.Sprint(tc.name, base, nchw), func(t *testing.T) {
						in := of(typ, 0, nn.Dims{base[0] * tc.factors[0], base[1] * tc.factors[1], base[2] * tc.factors[2], base[3] * tc.factors[3]})
						if nchw {
							in.dims = nn.Dims{in.dims[0], in.dims[3], in.dims[1], in.dims[2]}
						}
						var b layers.Builder
						y := tc.apply(&b, b.Input(typ, in.dims, in.scale, in.zero), nchw)
						b.Output(y)
						tol := Exact
						if !typ.IsQuant8() {
							b.Output(b.Mean(y, []int{3}, true))
							tol = elementTolerance(typ)
						}
						Compare(t, d, nntest.Build(&b.Builder), tol, 1)
					})
				}
			}
		}
	})
}

// TestChannelShuffle: along every axis, with groups and numbers of elements in each at the edges of quads.
func TestChannelShuffle(t *testing.T) {
	eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for _, tc := range []struct {
			dims         nn.Dims
			groups, axis int
		}{
			{nn.Dims{1}, 1, 0}, {nn.Dims{7}, 7, 0}, {nn.Dims{7}, 1, -1}, {nn.Dims{6}, 3, 0}, {nn.Dims{5, 8}, 2, 1}, {nn.Dims{15, 3}, 5, 0},
			{nn.Dims{3, 35, 2}, 7, 1}, {nn.Dims{2, 3, 5, 24}, 3, 3}, {nn.Dims{2, 3, 5, 24}, 8, -1}, {nn.Dims{2, 12, 5, 7}, 4, 1},
			{nn.Dims{2, 5, 9, 1}, 3, 2}, {nn.Dims{1, 13, 11, 58}, 2, 3}, {nn.Dims{1, 13, 11, 58}, 29, 3},
		} {
			t.Run(fmt.Sprint(tc), func(t *testing.T) {
				in := of(typ, 0, tc.dims)
				var b layers.Builder
				b.Output(b.ChannelShuffle(b.Input(typ, in.dims, in.scale, in.zero), tc.groups, tc.axis))
				Compare(t, d, nntest.Build(&b.Builder), Exact, 1)
			})
		}
	})
}

// TestRearrangementSweep: random shapes, blocks, paddings, layouts and types.
func TestRearrangementSweep(t *testing.T) {
	eachSeed(t, 200, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		typ := oneOf(rng, asymmTypes)
		small := func() int { return 1 + rng.IntN(4) }
		block := [2]int{small(), small()}
		dims := randomDims(rng, 4, 700)
		nchw := rng.IntN(2) == 0
		h, w, ch := 1, 2, 3
		if nchw {
			h, w, ch = 2, 3, 1
		}
		var apply func(b *layers.Builder, x uint32) uint32
		switch seed % 5 {
		case 0:
			dims[h], dims[w] = dims[h]*uint32(block[0]), dims[w]*uint32(block[0])
			apply = func(b *layers.Builder, x uint32) uint32 { return b.SpaceToDepth(x, block[0], nchw) }
		case 1:
			dims[ch] *= uint32(block[0] * block[0])
			apply = func(b *layers.Builder, x uint32) uint32 { return b.DepthToSpace(x, block[0], nchw) }
		case 2:
			pad := ops.Pad{Top: rng.IntN(5), Left: rng.IntN(5)}
			pad.Bottom = rng.IntN(2)*block[0] + (-(int(dims[h])+pad.Top)%block[0]+block[0])%block[0]
			pad.Right = rng.IntN(2)*block[1] + (-(int(dims[w])+pad.Left)%block[1]+block[1])%block[1]
			apply = func(b *layers.Builder, x uint32) uint32 { return b.SpaceToBatch(x, block, pad, nchw) }
		case 3:
			dims[0] *= uint32(block[0] * block[1])
			apply = func(b *layers.Builder, x uint32) uint32 { return b.BatchToSpace(x, block, nchw) }
		default:
			axis := rng.IntN(4)
			dims[axis] *= uint32(block[0])
			apply = func(b *layers.Builder, x uint32) uint32 { return b.ChannelShuffle(x, block[0], axis-4*rng.IntN(2)) }
		}
		var b layers.Builder
		in := of(typ, 0, dims)
		b.Output(apply(&b, b.Input(typ, in.dims, in.scale, in.zero)))
		m := nntest.Build(&b.Builder)
		t.Log(describe(m))
		Compare(t, d, m, Exact, seed)
	})
}

// TestRearrangementOfTheRequest: blocks and paddings that each request gives anew, and what is wrong with them.
func TestRearrangementOfTheRequest(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		var b nn.Builder
		x := b.Input(nn.TensorFloat32, nn.Dims{1, 4, 6, 3}, 0, 0)
		block, pads := b.Input(nn.TensorInt32, nn.Dims{2}, 0, 0), b.Input(nn.TensorInt32, nn.Dims{2, 2}, 0, 0)
		y := b.Temp(nn.TensorFloat32, nn.Dims{0, 0, 0, 0}, 0, 0)
		b.Op(nn.OpSpaceToBatchNd, []uint32{x, block, pads}, []uint32{y})
		b.Output(y)
		m := nntest.Build(&b)
		pm, err := client.PrepareModel(context.Background(), m)
		require.NoError(t, err)
		image := RandomValue(nn.TensorFloat32, nn.Dims{1, 4, 6, 3}, rand.New(rand.NewPCG(3, 3)))
		for _, tc := range []struct {
			block, pads []int32
			wrong       bool
		}{
			{block: []int32{2, 3}, pads: []int32{0, 0, 0, 0}},
			{block: []int32{2, 2}, pads: []int32{0, 2, 1, 1}},
			{block: []int32{3, 2}, pads: []int32{0, 0, 0, 0}, wrong: true},
			{block: []int32{0, 2}, pads: []int32{0, 0, 0, 0}, wrong: true},
			{block: []int32{2, 2}, pads: []int32{-1, 1, 0, 0}, wrong: true},
			{block: []int32{2, 3}, pads: []int32{0, 0, 0, 0}},
		} {
			runOpen(t, pm, m, [][]byte{image, int32Bytes(tc.block), int32Bytes(tc.pads)}, tc.wrong)
		}
	})
}

// runOpen runs pm, whose only output has a shape that the inputs tell, and compares it with the oracle's, or wants the request
// to be refused for what it is.
func runOpen(t *testing.T, pm *driver.PreparedModel, m *nn.Model, inputs [][]byte, wrong bool) {
	t.Helper()
	got := [][]byte{make([]byte, 1<<14)}
	res, err := pm.Run(t.Context(), inputs, got)
	want, bad := ref.Evaluate(m, inputs, ref.Options{Arithmetic: ref.ArithmeticOf(m)})
	if wrong {
		require.Error(t, bad)
		require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%v", err)
		return
	}
	require.NoError(t, bad)
	require.NoError(t, err)
	y := want.Outputs[0]
	for i, n := range res.Shapes[0].Dims {
		require.Equal(t, y.Shape[i], int(n), "dimension %d", i)
	}
	require.NoError(t, conformancedata.CompareValues(y.Type, ToleranceOf(y.Type), got[0][:len(y.Bytes())], y.Bytes()))
}
