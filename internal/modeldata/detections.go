package modeldata

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/numbers"
)

// Detection is an object that a network finds in an image.
type Detection struct {
	Class int        `json:"cls"`
	Score float64    `json:"score"`
	Box   [4]float64 `json:"box"` // y1, x1, y2, x2
}

// kindDetections is the tolerance of outputs that are lists of detections: boxes, classes and scores, whose order
// depends on the last digit of scores. What counts is that those of a case are found.
const kindDetections = "detections"

// How far a detection may be off, and the score from which all are expected to be listed: from the description of the data.
const (
	detectionTolerance = 0.03
	detectionListed    = 0.4 + detectionTolerance
)

// Lists reports whether output i is judged by Detected, and its differences element by element mean nothing.
func (f *Folder) Lists(i int) bool {
	for _, t := range f.Tolerances {
		if t.Output == i {
			return t.Kind == kindDetections
		}
	}
	return false
}

// Detected reports detections that a case lists and outputs lack, or the other way round, where outputs 0 to 2 are
// boxes [1, D, 4], classes and scores [1, D] of float32. It has nothing to report where the folder has no such lists.
func (f *Folder) Detected(c *Case, outputs [][]byte) error {
	if !f.Lists(0) || !f.Lists(1) || !f.Lists(2) {
		return nil
	}
	if len(outputs) < 3 || len(c.Detections) == 0 {
		return fmt.Errorf("%d detections listed for %d outputs", len(c.Detections), len(outputs))
	}
	var v [3][]float64
	for i := range v {
		var err error
		if v[i], err = numbers.Of(nn.TensorFloat32, outputs[i]); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	boxes, classes, scores := v[0], v[1], v[2]
	if len(classes) != len(scores) || len(boxes) != 4*len(scores) {
		return fmt.Errorf("%d boxes, %d classes and %d scores", len(boxes)/4, len(classes), len(scores))
	}
	taken := make([]bool, len(scores))
next:
	for _, d := range c.Detections {
		for i := range scores {
			if !taken[i] && d.is(classes[i], scores[i], boxes[4*i:4*i+4]) {
				taken[i] = true
				continue next
			}
		}
		return fmt.Errorf("class %d with score %.3g at %.3g was not found", d.Class, d.Score, d.Box)
	}
	for i, score := range scores {
		if !taken[i] && !(score < detectionListed) {
			return fmt.Errorf("class %v with score %.3g at %.3g is not expected", classes[i], score, boxes[4*i:4*i+4])
		}
	}
	return nil
}

func (d *Detection) is(class, score float64, box []float64) bool {
	near := func(a, b float64) bool { return math.Abs(a-b) <= detectionTolerance }
	for i, v := range box {
		if !near(v, d.Box[i]) {
			return false
		}
	}
	return class == float64(d.Class) && near(score, d.Score)
}
