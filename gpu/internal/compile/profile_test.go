package compile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// TestStepsTellTheirOperations: each operation of the model that computes is named by the steps, fused ones beside those
// that do their work, and kernels that were chosen among several say why.
func TestStepsTellTheirOperations(t *testing.T) {
	for name, make := range map[string]func(*nn.Builder){"float": floatNet, "quant8": quantNet} {
		for device, facts := range map[string]plan.Facts{"lavapipe": lavapipe, "swiftshader": swiftshader} {
			t.Run(name+" on "+device, func(t *testing.T) {
				m := build(t, make)
				p, _, err := Model(context.Background(), &facts, m, nil)
				require.NoError(t, err)
				var told []string
				for _, s := range p.Steps {
					if s.Transfers != 0 {
						continue
					}
					told = append(told, strings.Split(s.Label, " + ")...)
					if strings.HasPrefix(s.Kernel.String(), "conv_gemm") {
						require.Contains(t, s.Why, "tile ", s.Label)
					}
					if strings.HasPrefix(s.Kernel.String(), "conv_depthwise") {
						require.Contains(t, s.Why, "window", s.Label)
					}
					if strings.Contains(s.Kernel.String(), "_texel") {
						require.Contains(t, s.Why, "texel", s.Label)
					}
				}
				slices.Sort(told)
				for i, op := range m.Main.Operations {
					if op.Type == nn.OpReshape || op.Type == nn.OpQuantize {
						continue // another name for the same memory
					}
					label := fmt.Sprintf("%v #%d", op.Type, i)
					_, found := slices.BinarySearch(told, label)
					require.True(t, found, "%s is none of %v", label, told)
				}
				require.Contains(t, strings.Join(labels(p), "\n"), " + ", "nothing was fused")
			})
		}
	}
}

func labels(p *plan.Plan) (list []string) {
	for i := range p.Steps {
		list = append(list, p.Steps[i].Label)
	}
	return list
}
