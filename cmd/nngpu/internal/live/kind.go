package live

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// Kind says how the result of a network is shown.
type Kind string

const (
	Labels Kind = "labels" // the classes of the highest scores
	Mask   Kind = "mask"   // the picture in the colours of its classes
	Image  Kind = "image"  // a picture
	Boxes  Kind = "boxes"  // boxes with labels
	Points Kind = "points" // points on the picture
	Raw    Kind = "raw"    // bars of the output
)

// Kinds are all.
var Kinds = []Kind{Labels, Mask, Image, Boxes, Points, Raw}

// MostRead bounds the bytes of results that the host reads of a frame.
const MostRead = 64 << 10

// KindOf tells the kind of a network by its outputs: their shapes and labels.
func KindOf(net *importer.Network) Kind {
	out := outputs(net)
	first := elements(out[0].Dims)
	switch {
	case Boxes.Check(net) == nil:
		return Boxes
	case Image.Check(net) == nil:
		return Image
	case Mask.Check(net) == nil:
		return Mask
	case len(net.Labels()) > 1 && len(net.Labels()) == first && Labels.Check(net) == nil:
		return Labels
	case len(out) == 2 && elements(out[1].Dims) == 1 && first >= 10 && Points.Check(net) == nil: // with the score of a face or a hand
		return Points
	case len(out) == 1 && first > 1 && slices.Max(out[0].Dims) == uint32(first) && Labels.Check(net) == nil:
		return Labels
	}
	return Raw
}

// Check says why the outputs of a network cannot be shown so; nil where they can.
func (k Kind) Check(net *importer.Network) error {
	out := outputs(net)
	for i := range out {
		if n, err := out[i].ByteSize(); err != nil || n == 0 {
			return fmt.Errorf("output %d has dimensions %v, which only an execution tells", i, []uint32(out[i].Dims))
		}
	}
	d := out[0].Dims
	numbers := func(list ...int) error {
		read := 0
		for _, i := range list {
			if t := out[i].Type; !t.IsFloat() && !t.IsQuant8() || !t.IsTensor() {
				return fmt.Errorf("output %d is of type %v", i, t)
			}
			n, _ := out[i].ByteSize() // known, as above
			read += int(n)
		}
		if read > MostRead {
			return fmt.Errorf("the output has %d bytes; of a frame at most %d are read", read, MostRead)
		}
		return nil
	}
	picture := len(d) == 4 && d[0] == 1 && d[1] > 1 && d[2] > 1
	switch k {
	case Labels, Raw:
		return numbers(0)
	case Points:
		if pointSize(d) == 0 {
			return fmt.Errorf("an output of %v is no list of points", []uint32(d))
		}
		return numbers(0)
	case Mask:
		if !picture || d[3] < 2 {
			return fmt.Errorf("an output of %v has no scores of classes for each pixel, [1 height width classes]", []uint32(d))
		}
		return canvasType(&out[0])
	case Image:
		if !picture || d[3] != 1 && d[3] != 3 {
			return fmt.Errorf("an output of %v is no picture, [1 height width 1 or 3]", []uint32(d))
		}
		return canvasType(&out[0])
	case Boxes:
		if len(out) < 3 || len(d) != 3 || d[0] != 1 || d[2] != 4 || elements(out[1].Dims) != int(d[1]) || elements(out[2].Dims) != int(d[1]) {
			return fmt.Errorf("%d outputs of which the first is of %v are no boxes [1 n 4] with classes and scores", len(out), []uint32(d))
		}
		return numbers(0, 1, 2)
	}
	return fmt.Errorf("there is no kind %q; they are %v", k, Kinds)
}

// canvasType: the canvas draws numbers of these types.
func canvasType(o *nn.Operand) error {
	switch o.Type {
	case nn.TensorFloat32, nn.TensorFloat16, nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned:
		return nil
	}
	return fmt.Errorf("an output of type %v is not drawn", o.Type)
}

// StatedRange is the numbers for black and white that a model file states for a picture that is its first output; zero
// where it states none. Such a file has a normalisation there that turns outputs into colours of 0 to 255.
func StatedRange(net *importer.Network) [2]float32 {
	if len(net.Metadata.Outputs) == 0 {
		return [2]float32{}
	}
	m := &net.Metadata.Outputs[0]
	low, step := float32(0), float32(1)
	if len(m.Mean) > 0 {
		low = m.Mean[0]
	}
	if len(m.Std) > 0 {
		step = m.Std[0]
	}
	if high := low + 255*step; len(m.Mean)+len(m.Std) > 0 && high-low >= 1e-9 && high-low < 1e9 { // else the file is mistaken
		return [2]float32{low, high}
	}
	return [2]float32{}
}

// read are the outputs that the host reads.
func (k Kind) read() []int {
	switch k {
	case Labels, Raw, Points:
		return []int{0}
	case Boxes:
		return []int{0, 1, 2}
	}
	return nil
}

func outputs(net *importer.Network) []nn.Operand {
	g := &net.Model.Main
	list := make([]nn.Operand, len(g.Outputs))
	for i, at := range g.Outputs {
		list[i] = g.Operands[at]
	}
	return list
}

// elements is how many a tensor of known dimensions has.
func elements(d nn.Dims) int {
	n := 1
	for _, v := range d {
		n *= int(v)
	}
	return n
}

// pointSize is how many numbers a point has, the first two being its place: the last dimension, where that is 2 or 3,
// else three where that divides the output. 0 where the output is no list of points.
func pointSize(d nn.Dims) int {
	n := elements(d)
	switch last := d[len(d)-1]; {
	case n < 2:
		return 0
	case last == 2 || last == 3:
		return int(last)
	case n%3 == 0:
		return 3
	case n%2 == 0:
		return 2
	}
	return 0
}
