package quantize

import (
	"math"

	"github.com/nngpu/nngpu/examples/digits/train/internal/convnet"
)

// Weights are the numbers of a convolution or dense layer.
type Weights struct {
	Values []int8    // as in the float layer, output channels outermost
	Scales []float32 // one per output channel, or one
	Bias   []int32   // scale: input scale * weight scale
	In     Params
	Out    Params

	requant []multiplier // as many as Scales
	low     int32        // least output: the zero point with RELU
}

// newWeights quantizes weights in `groups` equal runs with a scale each.
func newWeights(values, bias []float32, groups int, in, out Params, relu bool) Weights {
	w := Weights{
		Values:  make([]int8, len(values)),
		Scales:  make([]float32, groups),
		Bias:    make([]int32, len(bias)),
		requant: make([]multiplier, groups),
		In:      in,
		Out:     out,
		low:     math.MinInt8,
	}
	if relu {
		w.low = out.Zero
	}
	run := len(values) / groups
	for g := range groups {
		part := values[g*run : (g+1)*run]
		top := float32(0)
		for _, v := range part {
			top = max(top, v, -v)
		}
		if top == 0 {
			top = 1
		}
		// -128 stays unused, as TensorFlow Lite asks of weights.
		p := Params{Scale: top / math.MaxInt8}
		w.Scales[g] = p.Scale
		for i, v := range part {
			w.Values[g*run+i] = p.Quantize(v)
		}
		if groups > 1 {
			w.requant[g] = newMultiplier(float64(in.Scale) * float64(p.Scale) / float64(out.Scale))
		} else {
			// With one scale TensorFlow Lite multiplies the two scales in float32.
			w.requant[g] = newMultiplier(float64(in.Scale*p.Scale) / float64(out.Scale))
		}
	}
	for i, b := range bias {
		scale := float64(in.Scale) * float64(w.Scales[i%groups])
		w.Bias[i] = int32(math.Round(float64(b) / scale))
	}
	return w
}

// finish turns the sum of output channel o into the output's integer.
func (w *Weights) finish(sum int32, o int) int8 {
	m := w.requant[0]
	if len(w.requant) > 1 {
		m = w.requant[o]
	}
	return int8(min(max(m.apply(sum)+w.Out.Zero, w.low), math.MaxInt8))
}

func (w *Weights) Output() Params { return w.Out }

// Conv is a quantized convnet.Conv.
type Conv struct {
	Weights
	Float *convnet.Conv
}

func (c *Conv) Forward(x, y []int8) {
	in, k := c.Float.In(), c.Float.Kernel
	half := k / 2
	channels := c.Float.Out().C
	at := 0
	for row := range in.H {
		for col := range in.W {
			for o := range channels {
				sum := c.Bias[o]
				for ky := range k {
					iy := row + ky - half
					if iy < 0 || iy >= in.H {
						continue
					}
					for kx := range k {
						ix := col + kx - half
						if ix < 0 || ix >= in.W {
							continue
						}
						px := x[(iy*in.W+ix)*in.C:][:in.C]
						wt := c.Values[((o*k+ky)*k+kx)*in.C:][:in.C]
						for i, v := range px {
							sum += (int32(v) - c.In.Zero) * int32(wt[i])
						}
					}
				}
				y[at] = c.finish(sum, o)
				at++
			}
		}
	}
}

// Dense is a quantized convnet.Dense.
type Dense struct {
	Weights
	Float *convnet.Dense
}

func (d *Dense) Forward(x, y []int8) {
	for o := range y {
		sum := d.Bias[o]
		wt := d.Values[o*len(x):][:len(x)]
		for i, v := range x {
			sum += (int32(v) - d.In.Zero) * int32(wt[i])
		}
		y[o] = d.finish(sum, o)
	}
}

// MaxPool is convnet.MaxPool on integers: the order of values is that of their integers.
type MaxPool struct {
	Params
	Float *convnet.MaxPool
}

func (p *MaxPool) Output() Params { return p.Params }

func (p *MaxPool) Forward(x, y []int8) {
	p.Float.Windows(func(out int, w [4]int, n int) {
		best := x[w[0]]
		for _, i := range w[1:n] {
			best = max(best, x[i])
		}
		y[out] = best
	})
}
