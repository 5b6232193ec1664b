package layerstest

import (
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// image is an example of an operation on an image of 8 by 6 pixels with 4 channels.
func image(f func(b *builder, x uint32) uint32) func(b *builder) []uint32 {
	return func(b *builder) []uint32 { return one(f(b, b.x(1, 8, 6, 4))) }
}

var (
	same   = layers.Conv{Padding: nn.PaddingSame}
	window = layers.Pool{Padding: nn.PaddingValid, Window: [2]int{2, 2}}
	wide   = layers.Quant{Scale: 8, Zero: 5}
)

// box is the type of boxes that go with the leading type.
func (b *builder) box() nn.OperandType {
	if b.typ.IsQuant8() {
		return nn.TensorQuant16Asymm
	}
	return b.typ
}

var images = map[nn.OperationType]func(b *builder) []uint32{
	// Large enough for every kernel of matrix products.
	nn.OpConv2D: func(b *builder) []uint32 {
		return one(b.Conv2D(b.x(1, 16, 16, 32), b.w(64, 3, 3, 32), b.bias(64), same, wide))
	},
	nn.OpDepthwiseConv2D: image(func(b *builder, x uint32) uint32 {
		return b.DepthwiseConv2D(x, b.w(1, 3, 3, 4), b.bias(4), 1, same, wide)
	}),
	nn.OpGroupedConv2D: image(func(b *builder, x uint32) uint32 {
		return b.GroupedConv2D(x, b.w(6, 3, 3, 2), b.bias(6), 2, same, wide)
	}),
	nn.OpTransposeConv2D: image(func(b *builder, x uint32) uint32 {
		return b.TransposeConv2D(x, b.w(5, 3, 3, 4), b.bias(5), []int{1, 16, 12, 5}, layers.Conv{Padding: nn.PaddingSame, Stride: [2]int{2, 2}}, wide)
	}),
	nn.OpAveragePool2D:  image(func(b *builder, x uint32) uint32 { return b.AveragePool2D(x, window) }),
	nn.OpMaxPool2D:      image(func(b *builder, x uint32) uint32 { return b.MaxPool2D(x, window) }),
	nn.OpL2Pool2D:       image(func(b *builder, x uint32) uint32 { return b.L2Pool2D(x, window) }),
	nn.OpResizeBilinear: image(func(b *builder, x uint32) uint32 { return b.ResizeBilinear(x, layers.Resize{Height: 5, Width: 9}) }),
	nn.OpResizeNearestNeighbor: image(func(b *builder, x uint32) uint32 {
		return b.ResizeNearestNeighbor(x, layers.Resize{Height: 5, Width: 9})
	}),
	nn.OpSpaceToDepth: image(func(b *builder, x uint32) uint32 { return b.SpaceToDepth(x, 2, false) }),
	nn.OpDepthToSpace: image(func(b *builder, x uint32) uint32 { return b.DepthToSpace(x, 2, false) }),
	nn.OpSpaceToBatchNd: image(func(b *builder, x uint32) uint32 {
		return b.SpaceToBatch(x, [2]int{2, 3}, ops.Pad{Top: 1, Bottom: 1}, false)
	}),
	nn.OpBatchToSpaceNd: func(b *builder) []uint32 { return one(b.BatchToSpace(b.x(6, 4, 3, 5), [2]int{2, 3}, false)) },
	nn.OpInstanceNormalization: image(func(b *builder, x uint32) uint32 {
		return b.InstanceNormalization(x, 1, 0, 1e-3, false)
	}),
	nn.OpRoiAlign: image(func(b *builder, x uint32) uint32 {
		return b.RoiAlign(x, b.of(b.box(), 3, 4), b.of(nn.TensorInt32, 3), roi(), wide)
	}),
	nn.OpRoiPooling: image(func(b *builder, x uint32) uint32 {
		return b.RoiPooling(x, b.of(b.box(), 3, 4), b.of(nn.TensorInt32, 3), roi())
	}),
	nn.OpAxisAlignedBboxTransform: func(b *builder) []uint32 {
		deltas := b.typ
		if deltas == nn.TensorQuant16Asymm {
			deltas = nn.TensorQuant8Asymm
		}
		return one(b.TransformBoxes(b.x(3, 4), b.of(deltas, 3, 8), b.of(nn.TensorInt32, 3), b.x(1, 2)))
	},
	nn.OpDetectionPostprocessing: func(b *builder) []uint32 {
		d := ops.Detection{Scale: [4]float32{10, 10, 5, 5}, Detections: 3, ClassesPerBox: 1, DetectionsPerClass: 3, Overlap: 0.5}
		scores, boxes, classes, counts := b.DetectionPostprocessing(b.x(1, 6, 4), b.x(1, 6, 4), b.x(6, 4), d)
		return []uint32{scores, boxes, classes, counts}
	},
	nn.OpBoxWithNmsLimit: func(b *builder) []uint32 {
		scores, boxes, classes, of := b.NonMaxSuppression(b.x(5, 3), b.of(b.box(), 5, 12), b.of(nn.TensorInt32, 5), ops.BoxNMS{Limit: -1, Overlap: 0.5, Sigma: 0.5})
		return []uint32{scores, boxes, classes, of}
	},
	nn.OpGenerateProposals: func(b *builder) []uint32 {
		anchors := b.of(b.typ, 3, 4)
		if b.typ.IsQuant8() {
			anchors = b.Input(nn.TensorQuant16Symm, nn.Dims{3, 4}, 0.125, 0)
		}
		scores, boxes, of := b.GenerateProposals(b.x(2, 4, 5, 3), b.x(2, 4, 5, 12), anchors, b.of(b.box(), 2, 2),
			ops.Proposals{Ratio: [2]float32{16, 16}, Before: -1, Most: 7, Overlap: 0.5})
		return []uint32{scores, boxes, of}
	},
	nn.OpHeatmapMaxKeypoint: func(b *builder) []uint32 {
		scores, keypoints := b.HeatmapMaxKeypoint(b.x(3, 4, 4, 5), b.of(b.box(), 3, 4), false)
		return []uint32{scores, keypoints}
	},
}

func roi() layers.Roi {
	return layers.Roi{Roi: ops.Roi{Size: [2]int{2, 2}, Ratio: [2]float32{1, 1}}, Samples: [2]int{2, 2}}
}
