package picture

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// Class is one of the classes that a classifier scores.
type Class struct {
	Index int
	Label string // "" where the class has none
	Score float32
}

// String is the label, or the number of a class without one.
func (c Class) String() string {
	if c.Label == "" {
		return fmt.Sprint("class ", c.Index)
	}
	return c.Label
}

// Top returns the n classes of the highest scores, highest first and equal ones by index. Scores that are not numbers have
// no rank and are left out.
func Top(scores []float32, labels []string, n int) []Class {
	var list []Class
	for i, v := range scores {
		if math.IsNaN(float64(v)) {
			continue
		}
		c := Class{Index: i, Score: v}
		if i < len(labels) {
			c.Label = labels[i]
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b Class) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	return list[:min(n, len(list))]
}

// ParseLabels reads a file with one label a line, as UTF-8 text.
func ParseLabels(file []byte) ([]string, error) {
	text := strings.TrimRight(string(file), "\r\n")
	if text == "" || !utf8.ValidString(text) {
		return nil, errors.New("no labels: one a line, as UTF-8 text")
	}
	labels := strings.Split(text, "\n")
	for i := range labels {
		labels[i] = strings.TrimSpace(labels[i])
	}
	return labels, nil
}

// Classifier is a network with a picture as its only input and scores of classes as its only output. It is safe for
// concurrent use.
type Classifier struct {
	Model  *nn.Model
	Input  *Input
	Labels []string // of the classes, as far as they have names

	output *nn.Operand
}

// NewClassifier takes the normalisation and the labels that the model file states, and Symmetric where a float network states
// none. The error is an ErrNoPicture where the network is no such classifier.
func NewClassifier(net *importer.Network) (*Classifier, error) {
	g := &net.Model.Main
	if len(g.Inputs) != 1 || len(g.Outputs) != 1 {
		return nil, noPicture(fmt.Sprintf("%d inputs and %d outputs; a classifier of pictures has one of each", len(g.Inputs), len(g.Outputs)))
	}
	o, n := &g.Operands[g.Inputs[0]], Stated(net, 0)
	if n.Empty() && o.Type.IsFloat() {
		n = Symmetric
	}
	in, err := NewInput(o, n)
	if err != nil {
		return nil, err
	}
	return &Classifier{Model: net.Model, Input: in, Labels: net.Labels(), output: &g.Operands[g.Outputs[0]]}, nil
}

// Top returns the n likeliest classes of an output, as PreparedModel.Run gives it, and one at least. The error is that of an
// output of the wrong size, or of one without a score.
func (c *Classifier) Top(output []byte, n int) ([]Class, error) {
	scores, err := c.output.DecodeFloats(output)
	if err != nil {
		return nil, err
	}
	list := Top(scores, c.Labels, max(n, 1))
	if len(list) == 0 {
		return nil, errors.New("none of the scores is a number")
	}
	return list, nil
}
