package ops

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// quantRule is a rule for scales and zero points.
type quantRule struct {
	text  string
	check func(*Call) error
	// fixed, when set, gives the scale and zero point that an 8-bit result of type t must have.
	fixed func(t nn.OperandType) (scale float32, zero int32)
}

// FixedQuant is the scale and zero point that a result of 8-bit type t must have, whatever those of the inputs are; ok
// is false if the operation prescribes none.
func (r *Row) FixedQuant(t nn.OperandType) (scale float32, zero int32, ok bool) {
	if r.quant.fixed == nil {
		return 0, 0, false
	}
	scale, zero = r.quant.fixed(t)
	return scale, zero, true
}

// sameQuant requires 8-bit outputs to have the scale and zero point of input 0.
var sameQuant = quantOf(0)

// quantOf requires 8-bit outputs to have the scale and zero point of input i.
func quantOf(i int) quantRule {
	return quantRule{
		text: fmt.Sprintf("8-bit outputs have the scale and zero point of input %d", i),
		check: func(c *Call) error {
			x := c.In(i)
			for k := range c.Op.Outputs {
				if y := c.Out(k); y.Type.IsQuant8() && (x.Scale != y.Scale || x.ZeroPoint != y.ZeroPoint) {
					return fmt.Errorf("output has scale %v, zero point %d instead of the input's %v, %d",
						y.Scale, y.ZeroPoint, x.Scale, x.ZeroPoint)
				}
			}
			return nil
		},
	}
}

// fixedQuant requires an 8-bit output to have the scale 1/steps, and the zero point of its signedness.
func fixedQuant(steps float32, zero, zeroSigned int32) quantRule {
	fixed := func(t nn.OperandType) (float32, int32) {
		if t == nn.TensorQuant8AsymmSigned {
			return 1 / steps, zeroSigned
		}
		return 1 / steps, zero
	}
	check := func(c *Call) error {
		y := c.Out(0)
		if scale, z := fixed(y.Type); y.Type.IsQuant8() && (y.Scale != scale || y.ZeroPoint != z) {
			return fmt.Errorf("output has scale %v, zero point %d instead of %v, %d", y.Scale, y.ZeroPoint, scale, z)
		}
		return nil
	}
	text := fmt.Sprintf("an 8-bit result has the scale 1/%v and the zero point %d, signed %d", steps, zero, zeroSigned)
	return quantRule{text, check, fixed}
}

// biasTolerance is how far the scale of a bias may differ from scale(input) * scale(weights), as a relative error.
// Converters round the product in different ways; the kernels use the product.
const biasTolerance = 1e-5

// weightQuant tests weights and bias (inputs 1 and 2) of an 8-bit convolution or FULLY_CONNECTED. With
// scales by channel the bias has scale 0 and channel i counts in units of scale(input) * scales[i].
//
// The rule of feature levels 1 and 2 that the output scale exceeds scale(input) * scale(weights) was dropped at level 3
// and is not tested.
func weightQuant(channelDim uint32) quantRule {
	text := "8 bits: the bias has the zero point 0 and the scale scale(input) * scale(weights); where weights have scales by " +
		fmt.Sprintf("channel, which are along dimension %d, it has the scale 0", channelDim)
	return quantRule{text: text, check: func(c *Call) error {
		x, w, b := c.In(0), c.In(1), c.In(2)
		if !x.Type.IsQuant8() {
			return nil
		}
		if b.ZeroPoint != 0 {
			return fmt.Errorf("bias has zero point %d", b.ZeroPoint)
		}
		if w.Type == nn.TensorQuant8PerChannel {
			if w.Channel == nil {
				return fmt.Errorf("weights have no scales")
			}
			if w.Channel.ChannelDim != channelDim {
				return fmt.Errorf("scales of the weights are along dimension %d instead of %d", w.Channel.ChannelDim, channelDim)
			}
			if b.Scale != 0 {
				return fmt.Errorf("bias has scale %v; with scales by channel it must be 0", b.Scale)
			}
			return nil
		}
		product := float64(x.Scale) * float64(w.Scale)
		if math.Abs(float64(b.Scale)-product) > biasTolerance*product {
			return fmt.Errorf("bias has scale %v instead of scale(input) * scale(weights) = %v", b.Scale, product)
		}
		return nil
	}}
}
