package tflite

import (
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
)

func TestLSHProjection(t *testing.T) {
	project := func(typ g.LSHProjectionType, out int, weights ...int) func(n *net) int {
		return func(n *net) int {
			in := []int{n.input(g.Float32, none, 4, 2), n.input(g.Int32, none, 3, 5)}
			for range weights {
				in = append(in, n.input(g.Float32, none, 3))
			}
			return n.op(g.OpLshProjection, g.LSHProjectionOptions{Type: typ}, shaped(g.Int32, none, out), in...)
		}
	}
	weighted := func(has bool) func(*testing.T, *nn.Model) {
		return func(t *testing.T, m *nn.Model) {
			if o := m.Main.Operands[m.Main.Operations[0].Inputs[2]]; (o.Lifetime != nn.NoValue) != has || o.Type != nn.TensorFloat32 {
				t.Errorf("weights: %+v", o)
			}
		}
	}
	runTranslations(t, []translation{
		{name: "sparse", want: "LSH_PROJECTION", build: project(g.LSHSparse, 4), check: func(t *testing.T, m *nn.Model) {
			weighted(false)(t, m)
			lastInts(3, 3)(t, m)
		}},
		{name: "dense", want: "LSH_PROJECTION", build: project(g.LSHDense, 8, 1), check: func(t *testing.T, m *nn.Model) {
			weighted(true)(t, m)
			lastInts(3, 2)(t, m)
		}},
		{name: "unknown", err: "type 0", build: project(g.LSHUnknown, 4)},
		{name: "of another size", err: "output has shape [5], the inputs give [4]", build: project(g.LSHSparse, 5)},
	})
}
