package layers

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Roi are parameters of operations on regions of images; Size and Ratio are height, width.
type Roi struct {
	ops.Roi
	// Samples are those of a cell of ROI_ALIGN, height and width; 0: as many as it has pixels.
	Samples [2]int
}

func (r *Roi) parameters(boxes, images uint32) []any {
	return []any{boxes, images, r.Size[0], r.Size[1], float64(r.Ratio[0]), float64(r.Ratio[1])}
}

// RoiAlign samples the regions of x that boxes are, [R, 4], each in the image of x that images, int32 [R], says.
func (b *Builder) RoiAlign(x, boxes, images uint32, r Roi, q ...Quant) uint32 {
	return b.op(nn.OpRoiAlign, q, x, append(r.parameters(boxes, images), r.Samples[0], r.Samples[1], r.NCHW)...)
}

// RoiPooling takes the largest pixels of the regions of x that boxes are, [R, 4], each in the image that images, int32 [R], says.
func (b *Builder) RoiPooling(x, boxes, images uint32, r Roi) uint32 {
	return b.op(nn.OpRoiPooling, nil, x, append(r.parameters(boxes, images), r.NCHW)...)
}

// TransformBoxes moves boxes, [R, 4], by deltas for each class, [R, 4*C], and cuts them at the edges of their images, of which
// sizes has height and width, [N, 2].
func (b *Builder) TransformBoxes(boxes, deltas, images, sizes uint32) uint32 {
	return b.Apply(nn.OpAxisAlignedBboxTransform, []uint32{boxes, deltas, images, sizes})
}

// HeatmapMaxKeypoint finds the maxima of the heatmaps [R, s, s, K], or [R, K, s, s] with nchw, of boxes [R, 4]: their
// scores [R, K], of which q is the scale, and their places in the boxes, keypoints [R, K, 2], x and y.
func (b *Builder) HeatmapMaxKeypoint(heatmaps, boxes uint32, nchw bool, q ...Quant) (scores, keypoints uint32) {
	y := b.applyAll(nn.OpHeatmapMaxKeypoint, 2, nil, b.list(heatmaps, boxes, nchw), q)
	return y[0], y[1]
}

// DetectionPostprocessing finds objects by scores [N, A, C], deltas [N, A, 4 or more] and anchors [A, 4]: scores [N, D], boxes
// [N, D, 4], classes, int32 [N, D], and how many there are, int32 [N].
func (b *Builder) DetectionPostprocessing(x, deltas, anchors uint32, d ops.Detection) (scores, boxes, classes, counts uint32) {
	inputs := []any{deltas, anchors}
	for _, s := range d.Scale {
		inputs = append(inputs, float64(s))
	}
	inputs = append(inputs, d.Regular, d.Detections, d.ClassesPerBox, d.DetectionsPerClass, float64(d.Score), float64(d.Overlap), d.Background)
	y := b.applyAll(nn.OpDetectionPostprocessing, 4, nil, b.list(x, inputs...), nil)
	return y[0], y[1], y[2], y[3]
}

// NonMaxSuppression selects boxes [R, 4*C], each in the image that images, int32 [R], says, by their scores [R, C]: boxes
// [K, 4] with their scores, classes and images, [K] each. Only the data tells K.
func (b *Builder) NonMaxSuppression(scores, boxes, images uint32, a ops.BoxNMS) (kept, at, classes, of uint32) {
	y := b.applyAll(nn.OpBoxWithNmsLimit, 4, nil, b.list(scores, boxes, images, float64(a.Score), a.Limit, int(a.Kernel),
		float64(a.Overlap), float64(a.Sigma), float64(a.Lowered)), nil)
	return y[0], y[1], y[2], y[3]
}

// GenerateProposals selects boxes by their scores [N, H, W, A]. The boxes are the anchors [A, 4] at all positions,
// moved by deltas [N, H, W, 4*A]; sizes, [N, 2], has the height and width of each image. The results are scores [K],
// boxes [K, 4] and images, int32 [K]. Only the data tells K.
func (b *Builder) GenerateProposals(scores, deltas, anchors, sizes uint32, a ops.Proposals) (kept, at, of uint32) {
	y := b.applyAll(nn.OpGenerateProposals, 3, nil, b.list(scores, deltas, anchors, sizes, float64(a.Ratio[0]), float64(a.Ratio[1]),
		a.Before, a.Most, float64(a.Overlap), float64(a.Smallest), a.NCHW), nil)
	return y[0], y[1], y[2]
}
