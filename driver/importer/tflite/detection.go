package tflite

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// customs are the custom operators that can be imported, by their names.
var customs = map[string]builtin{
	"TFLite_Detection_PostProcess": {version: 1, inputs: counts{3, 3}, outputs: counts{4, 4}, translate: detection},
}

// detectionOptions are those of TFLite_Detection_PostProcess.
type detectionOptions struct {
	detections, classesPerBox, ofClass, classes int32
	scale                                       [4]float32
	score, overlap                              float32
	regular                                     bool
}

// readDetectionOptions reads what tensorflow/lite/kernels/detection_postprocess.cc does, with its defaults.
func readDetectionOptions(data []byte) (o detectionOptions, err error) {
	m, err := flexNumbers(data)
	if err != nil {
		return o, err
	}
	m["detections_per_class"] = or(m, "detections_per_class", 100)
	m["use_regular_nms"] = or(m, "use_regular_nms", 0)
	for _, p := range []struct {
		name string
		to   *int32
	}{
		{"max_detections", &o.detections}, {"max_classes_per_detection", &o.classesPerBox}, {"detections_per_class", &o.ofClass}, {"num_classes", &o.classes},
	} {
		v, ok := m[p.name]
		if !ok || !(v >= 1 && v <= math.MaxInt32) {
			return o, fmt.Errorf("%s is %v", p.name, v)
		}
		*p.to = int32(v)
	}
	for _, p := range []struct {
		name     string
		to       *float32
		from, up float64
	}{
		{"y_scale", &o.scale[0], math.SmallestNonzeroFloat32, math.MaxFloat32}, {"x_scale", &o.scale[1], math.SmallestNonzeroFloat32, math.MaxFloat32},
		{"h_scale", &o.scale[2], math.SmallestNonzeroFloat32, math.MaxFloat32}, {"w_scale", &o.scale[3], math.SmallestNonzeroFloat32, math.MaxFloat32},
		{"nms_score_threshold", &o.score, -math.MaxFloat32, math.MaxFloat32}, {"nms_iou_threshold", &o.overlap, math.SmallestNonzeroFloat32, 1},
	} {
		v, ok := m[p.name]
		if !ok || !(v >= p.from && v <= p.up) {
			return o, fmt.Errorf("%s is %v", p.name, v)
		}
		*p.to = float32(v)
	}
	o.regular = m["use_regular_nms"] != 0
	return o, nil
}

func or(m map[string]float64, name string, otherwise float64) float64 {
	if v, ok := m[name]; ok {
		return v
	}
	return otherwise
}

// detection translates TFLite_Detection_PostProcess: boxes, classes, scores and how many there are, all as float32.
func detection(c *call) error {
	o, err := readDetectionOptions(c.custom)
	if err != nil {
		return err
	}
	if o.regular && o.classesPerBox != 1 {
		return fmt.Errorf("%d classes per detection, where each class has its own", o.classesPerBox)
	}
	if o.classesPerBox > o.classes {
		return fmt.Errorf("%d classes per detection of %d", o.classesPerBox, o.classes)
	}
	for _, t := range c.out {
		if c.file.tensors[t].typ != typeFloat32 {
			return fmt.Errorf("%v output", c.file.tensors[t].typ)
		}
	}
	boxes, scores, anchors := c.realData(0), c.realData(1), c.realData(2)
	scores = c.withBackground(scores, o.classes)
	// TensorFlow Lite takes scores from the threshold on, the HAL only those above it; TensorFlow Lite leaves out boxes
	// that overlap by more, the HAL also those that overlap by exactly as much.
	above := math.Nextafter32(o.score, float32(math.Inf(-1)))
	overlap := math.Nextafter32(o.overlap, float32(math.Inf(1)))
	y := c.emitAll(nn.OpDetectionPostprocessing, []spec{floatType, floatType, intType, intType}, scores, boxes, anchors,
		o.scale[0], o.scale[1], o.scale[2], o.scale[3], o.regular,
		o.detections, o.classesPerBox, o.ofClass, above, overlap, false)
	scores, boxes = y[0], y[1]
	classes, count := c.float(nn.OpCast, y[2]), c.boxCount(y[3], o.classesPerBox)
	for i, x := range []uint32{boxes, classes, scores, count} {
		c.bindTo(c.out[i], x)
	}
	return c.err
}

// realData returns input i, a float32 or 8-bit tensor of rank 2 or 3, as float32.
func (c *call) realData(i int) uint32 {
	x := c.data(i)
	switch t := c.operand(x).Type; {
	case t == nn.TensorFloat32:
	case t.IsQuant8():
		return c.float(nn.OpDequantize, x)
	default:
		c.fail(fmt.Errorf("input %d: %v", i, t))
	}
	return x
}

// withBackground returns scores x of a number of classes with those of the background in front, which files may leave off.
func (c *call) withBackground(x uint32, classes int32) uint32 {
	d := c.operand(x).Dims
	switch {
	case len(d) != 3:
		c.fail(importer.Damaged("scores of shape %v", []uint32(d)))
	case int64(d[2]) == int64(classes):
		return c.float(nn.OpPad, x, c.int32s(nn.Dims{3, 2}, []int32{0, 0, 0, 0, 1, 0}))
	case int64(d[2]) != int64(classes)+1:
		c.fail(fmt.Errorf("scores of shape %v of %d classes", []uint32(d), classes))
	}
	return x
}

// boxCount returns the number of boxes as float32 where n, int32, counts each as often as it has classes.
func (c *call) boxCount(n uint32, classes int32) uint32 {
	if classes > 1 {
		n = c.ofInts(nn.OpDiv, n, c.int32s(nn.Dims{1}, []int32{classes}))
	}
	return c.float(nn.OpCast, n)
}
