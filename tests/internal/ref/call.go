package ref

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// call is one operation with its input values. The accessors of parameters refuse what is no such parameter.
type call struct {
	in  []*Tensor // nil only for an omitted optional input
	out Format
	// results is the number of outputs, all of format out.
	results int
	ar      Arithmetic
}

// refuseInput refuses input i.
func refuseInput(i int, format string, args ...any) {
	refuse("input %d: %s", i, fmt.Sprintf(format, args...))
}

// scalar reads a single value, 0 when the trailing input is left off.
func (c *call) scalar(i int, types ...nn.OperandType) float64 {
	if i >= len(c.in) {
		return 0
	}
	t := c.in[i]
	if t == nil || len(t.V) != 1 {
		refuseInput(i, "not a single value")
	}
	if !slices.Contains(types, t.Type) {
		refuseInput(i, "type %s", t.Type)
	}
	return t.V[0]
}

func (c *call) int(i int) int      { return int(c.scalar(i, nn.Int32)) }
func (c *call) flag(i int) bool    { return c.scalar(i, nn.Bool) != 0 }
func (c *call) real(i int) float64 { return c.scalar(i, nn.Float32, nn.Float16) }

func (c *call) activation(i int) nn.Activation { return nn.Activation(c.int(i)) }

// ints reads an int32 tensor; nil when the optional input is omitted.
func (c *call) ints(i int) []int {
	if i >= len(c.in) || c.in[i] == nil {
		return nil
	}
	t := c.in[i]
	if t.Type != nn.TensorInt32 {
		refuseInput(i, "type %s", t.Type)
	}
	v := make([]int, len(t.V))
	for j, x := range t.V {
		v[j] = int(x)
	}
	return v
}

// pads reads a [rank, 2] tensor of paddings.
func (c *call) pads(i int) [][2]int {
	v := c.ints(i)
	if s := c.in[i].Shape; len(s) != 2 || s[1] != 2 {
		refuseInput(i, "paddings of shape %v", s)
	}
	p := make([][2]int, len(v)/2)
	for d := range p {
		p[d] = [2]int{v[2*d], v[2*d+1]}
	}
	return p
}

// window reads padding and strides from input i on, in the explicit form (left, right, top, bottom, then
// strides of width and height) or the implicit one (scheme, then strides), and returns the next index.
func (c *call) window(i int, explicit bool) (Window, int) {
	var w Window
	if explicit {
		w.PadLeft, w.PadRight, w.PadTop, w.PadBottom = c.int(i), c.int(i+1), c.int(i+2), c.int(i+3)
		i += 4
	} else {
		w.Scheme = int32(c.int(i))
		if w.Scheme != nn.PaddingSame && w.Scheme != nn.PaddingValid {
			refuseInput(i, "padding scheme %d", w.Scheme)
		}
		i++
	}
	w.StrideW, w.StrideH = c.int(i), c.int(i+1)
	return w, i + 2
}

// dilations reads the two trailing dilations, where present.
func (c *call) dilations(i int, w *Window) {
	if i >= len(c.in) {
		return
	}
	w.DilationW, w.DilationH = c.int(i), c.int(i+1)
	if w.DilationW < 1 || w.DilationH < 1 {
		refuseInput(i, "dilations %d and %d", w.DilationW, w.DilationH)
	}
}

// explicitForm tells the two forms of a convolution or pool apart. The longest implicit form has as many
// inputs as the shortest explicit one; then the input that would be the layout decides.
func (c *call) explicitForm(longestImplicit, layout int) bool {
	if len(c.in) != longestImplicit {
		return len(c.in) > longestImplicit
	}
	return c.in[layout].Type != nn.Bool
}
