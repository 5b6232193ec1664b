package tflite

import (
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
)

func TestNormalisations(t *testing.T) {
	unit := g.PerTensor(1.0/128, 0)
	runTranslations(t, []translation{
		{name: "length 1", want: "L2_NORMALIZATION", build: func(n *net) int {
			return n.op(g.OpL2Normalization, nil, f32(2, 3), n.input(g.Float32, none, 2, 3))
		}},
		{name: "length 1 of bytes", want: "L2_NORMALIZATION", build: func(n *net) int {
			return n.op(g.OpL2Normalization, nil, shaped(g.Int8, unit, 2, 3), n.input(g.Int8, g.PerTensor(0.5, 3), 2, 3))
		}},
		{name: "of another scale", err: "scale 0.5", build: func(n *net) int {
			return n.op(g.OpL2Normalization, nil, shaped(g.Int8, g.PerTensor(0.5, 0), 2, 3), n.input(g.Int8, g.PerTensor(0.5, 3), 2, 3))
		}},
		{name: "with TANH", want: "L2_NORMALIZATION TANH", build: func(n *net) int {
			return n.op(g.OpL2Normalization, g.L2NormOptions{Activation: g.ActivationTanh}, f32(2, 3), n.input(g.Float32, none, 2, 3))
		}},
		{name: "with RELU", err: "fused relu", build: func(n *net) int {
			return n.op(g.OpL2Normalization, g.L2NormOptions{Activation: g.ActivationRelu}, f32(2, 3), n.input(g.Float32, none, 2, 3))
		}},
		{name: "local response", want: "LOCAL_RESPONSE_NORMALIZATION", build: func(n *net) int {
			return n.op(g.OpLocalResponseNormalization, g.LocalResponseNormalizationOptions{Radius: 5, Bias: 1, Alpha: 0.5, Beta: 0.75},
				f32(1, 2, 3, 4), n.input(g.Float32, none, 1, 2, 3, 4))
		}, check: func(t *testing.T, m *nn.Model) {
			in := m.Main.Operations[0].Inputs
			if r := constantInts(t, m, in[1]); r[0] != 5 {
				t.Errorf("radius %v", r)
			}
			for i, want := range []float32{1, 0.5, 0.75} {
				if got := constantFloats(t, m, in[2+i]); got[0] != want {
					t.Errorf("parameter %d is %v, want %v", i, got, want)
				}
			}
		}},
		{name: "negative radius", err: "radius -1 is below 0", build: func(n *net) int {
			return n.op(g.OpLocalResponseNormalization, g.LocalResponseNormalizationOptions{Radius: -1, Bias: 1, Alpha: 0.5, Beta: 0.75},
				f32(1, 2, 3, 4), n.input(g.Float32, none, 1, 2, 3, 4))
		}},
	})
}
