package qos

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/tests/internal/devices"
)

// opened is m without the dimensions of anything but constants.
func opened(m *nn.Model) *nn.Model {
	open := *m
	open.Main.Operands = slices.Clone(m.Main.Operands)
	for i := range open.Main.Operands {
		switch o := &open.Main.Operands[i]; o.Lifetime {
		case nn.SubgraphInput, nn.Temporary, nn.SubgraphOutput:
			o.Dims = nil
		}
	}
	return &open
}

// TestInstancesCostWhatFixedModelsCost: an execution of dimensions that came before takes as long as that of a model that
// states them, within 2 µs with NNGPU_SOAK=1, else within what a busy machine allows. They take turns.
func TestInstancesCostWhatFixedModelsCost(t *testing.T) {
	runs, bound := 300, 1000.0
	if soak() && !nntest.Raced {
		runs, bound = 5000, 2
	}
	for _, name := range devices.Names() {
		t.Run(name, func(t *testing.T) {
			x := openTiny(t, name, gpu.Options{})
			template, err := x.client.PrepareModel(t.Context(), opened(x.model))
			require.NoError(t, err)
			sizes := *x.request
			sizes.Inputs = slices.Clone(sizes.Inputs)
			for i, at := range x.model.Main.Inputs {
				sizes.Inputs[i].Dims = x.model.Main.Operands[at].Dims
			}
			fixed, err := x.prepared.NewExecution(x.request)
			require.NoError(t, err)
			instance, err := template.NewExecution(&sizes)
			require.NoError(t, err)
			pairs := [][2]func() error{
				{func() error { _, err := x.prepared.Execute(t.Context(), x.request); return err },
					func() error { _, err := template.Execute(t.Context(), &sizes); return err }},
				{func() error { _, err := fixed.Run(t.Context()); return err }, func() error { _, err := instance.Run(t.Context()); return err }},
			}
			for k, pair := range pairs {
				var more, base []float64
				for n := range runs + 20 {
					var took [2]float64
					for _, i := range []int{n & 1, 1 - n&1} {
						start := time.Now()
						require.NoError(t, pair[i]())
						took[i] = micros(time.Since(start))
					}
					if n >= 20 {
						base, more = append(base, took[0]), append(more, took[1]-took[0])
					}
				}
				t.Logf("%s: %.1f µs, an instance %+.2f µs", []string{"plain", "reusable"}[k], median(base), median(more))
				require.LessOrEqual(t, median(more), bound, "µs")
			}
			require.Len(t, template.Instances(), 1)
		})
	}
}
