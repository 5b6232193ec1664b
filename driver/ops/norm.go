package ops

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	axis := int32Of("axis", "-rank to rank-1; without it the last").since(3).trailing()
	register(
		Row{
			Type: nn.OpL2Normalization, Since: 1, Later: map[nn.OperandType]Level{nn.TensorQuant8Asymm: 3},
			Forms: one(input(numbers, atMost(4)), axis), Outputs: result(atMost(4)),
			Rules: []string{"divides by the length along the axis; where all is zero, so is the result"},
			quant: fixedQuant(128, 128, 0), relate: relateSame,
			rules: typed[L2Normalization]{attrs: l2NormalizationAttrs, shapes: keepShape[L2Normalization]},
		},
		Row{
			Type: nn.OpLocalResponseNormalization, Since: 1,
			Forms: one(input(floats, atMost(4)), int32Of("radius", "not negative"), realNumber("bias", ""), realNumber("alpha", ""),
				realNumber("beta", ""), axis),
			Outputs: result(atMost(4)),
			Rules:   []string{"divides by (bias + alpha * s)^beta, where s sums up the squares of the elements no farther than the radius along the axis"},
			relate:  relateSame,
			rules:   typed[LocalResponse]{attrs: localResponseAttrs, shapes: keepShape[LocalResponse]},
		},
		Row{
			Type: nn.OpInstanceNormalization, Since: 3,
			Forms: one(input(floats, exactly(4)), realNumber("gamma", ""), realNumber("beta", ""), realNumber("epsilon", "added to the variance"),
				layout()),
			Outputs: result(exactly(4)),
			Rules:   []string{"gamma * (x - mean) / sqrt(variance + epsilon) + beta; mean and variance are those of a channel of an image"},
			relate:  relateSame,
			rules:   typed[InstanceNormalization]{attrs: instanceNormalizationAttrs, shapes: keepShape[InstanceNormalization]},
		},
	)
}

// L2Normalization are the attributes of L2_NORMALIZATION.
type L2Normalization struct {
	Axis int `json:"axis,omitempty"` // 0 <= axis < rank
}

func (L2Normalization) attrs() {}

func l2NormalizationAttrs(p *params, a *L2Normalization) { a.Axis = p.lastAxis() }

// lastAxis reads the axis; if it is left off, it is the last one.
func (p *params) lastAxis() int {
	if p.has("axis") {
		return p.axisOf(p.rank())
	}
	return max(p.rank()-1, 0)
}

// LocalResponse are the attributes of LOCAL_RESPONSE_NORMALIZATION.
type LocalResponse struct {
	Radius int     `json:"radius,omitempty"` // elements on each side
	Bias   float64 `json:"bias,omitempty"`
	Alpha  float64 `json:"alpha,omitempty"`
	Beta   float64 `json:"beta,omitempty"`
	Axis   int     `json:"axis,omitempty"` // 0 <= axis < rank
}

func (LocalResponse) attrs() {}

func localResponseAttrs(p *params, a *LocalResponse) {
	a.Radius = p.atLeast("radius", 0)
	a.Bias, _ = p.real("bias")
	a.Alpha, _ = p.real("alpha")
	a.Beta, _ = p.real("beta")
	a.Axis = p.lastAxis()
}

// InstanceNormalization are the attributes of INSTANCE_NORMALIZATION.
type InstanceNormalization struct {
	Gamma   float64 `json:"gamma,omitempty"`
	Beta    float64 `json:"beta,omitempty"`
	Epsilon float64 `json:"epsilon,omitempty"`
	NCHW    bool    `json:"nchw,omitempty"`
}

func (a InstanceNormalization) attrs()              {}
func (a InstanceNormalization) ChannelsFirst() bool { return a.NCHW }
func (a InstanceNormalization) ChannelsLast() Attrs { a.NCHW = false; return a }

func instanceNormalizationAttrs(p *params, a *InstanceNormalization) {
	a.Gamma, _ = p.real("gamma")
	a.Beta, _ = p.real("beta")
	a.Epsilon, _ = p.real("epsilon")
	a.NCHW = p.flag("layout")
}
