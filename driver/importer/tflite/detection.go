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
	var in [3]uint32 // deltas, scores, anchors
	for i := range in {
		if in[i], err = c.realData(i); err != nil {
			return err
		}
	}
	if in[1], err = c.withBackground(in[1], o.classes); err != nil {
		return err
	}
	// TensorFlow Lite takes scores from the threshold on, the HAL those above; boxes that overlap by more are left out, here
	// those by as much.
	above := math.Nextafter32(o.score, float32(math.Inf(-1)))
	overlap := math.Nextafter32(o.overlap, float32(math.Inf(1)))
	inputs, err := c.Scalars(nn.TensorFloat32, []uint32{in[1], in[0], in[2]}, o.scale[0], o.scale[1], o.scale[2], o.scale[3], o.regular,
		o.detections, o.classesPerBox, o.ofClass, above, overlap, false)
	if err != nil {
		return err
	}
	float, integer := spec{Of: nn.TensorFloat32}, spec{Of: nn.TensorInt32}
	y, err := c.EmitAll(nn.OpDetectionPostprocessing, []spec{float, float, integer, integer}, inputs...)
	if err != nil {
		return err
	}
	scores, boxes, classes, count := y[0], y[1], y[2], y[3]
	if classes, err = c.Emit(nn.OpCast, float, classes); err != nil {
		return err
	}
	if count, err = c.boxCount(count, o.classesPerBox); err != nil {
		return err
	}
	for i, x := range []uint32{boxes, classes, scores, count} {
		if err := c.bindTo(c.out[i], x); err != nil {
			return err
		}
	}
	return nil
}

// realData returns input i, a float32 or 8-bit tensor of rank 2 or 3, as float32.
func (c *call) realData(i int) (uint32, error) {
	x, err := c.data(i)
	if err != nil {
		return 0, err
	}
	switch t := c.operand(x).Type; {
	case t == nn.TensorFloat32:
		return x, nil
	case t.IsQuant8():
		return c.Emit(nn.OpDequantize, spec{Of: nn.TensorFloat32}, x)
	default:
		return 0, fmt.Errorf("input %d: %v", i, t)
	}
}

// withBackground returns scores x of a number of classes with those of the background in front, which files may leave off.
func (c *call) withBackground(x uint32, classes int32) (uint32, error) {
	d := c.operand(x).Dims
	if len(d) != 3 {
		return 0, importer.Damaged("scores of shape %v", []uint32(d))
	}
	switch int64(d[2]) {
	case int64(classes) + 1:
		return x, nil
	case int64(classes):
	default:
		return 0, fmt.Errorf("scores of shape %v of %d classes", []uint32(d), classes)
	}
	pads, err := c.Int32s(nn.Dims{3, 2}, []int32{0, 0, 0, 0, 1, 0})
	if err != nil {
		return 0, err
	}
	return c.Emit(nn.OpPad, spec{Of: nn.TensorFloat32}, x, pads)
}

// boxCount returns the number of boxes as float32 where n, int32, counts each as often as it has classes.
func (c *call) boxCount(n uint32, classes int32) (uint32, error) {
	if classes > 1 {
		by, err := c.Int32s(nn.Dims{1}, []int32{classes})
		if err != nil {
			return 0, err
		}
		inputs, err := c.Scalars(nn.TensorInt32, []uint32{n, by}, nn.ActNone)
		if err != nil {
			return 0, err
		}
		if n, err = c.Emit(nn.OpDiv, spec{Of: nn.TensorInt32}, inputs...); err != nil {
			return 0, err
		}
	}
	return c.Emit(nn.OpCast, spec{Of: nn.TensorFloat32}, n)
}
