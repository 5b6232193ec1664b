package compile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// TestQuickKernels: a quick compilation has fewer kernels to make, which are smaller, and the slow direct kernel only
// where a compilation in full has it too.
func TestQuickKernels(t *testing.T) {
	for _, net := range []func(*nn.Builder){floatNet, quantNet} {
		for _, facts := range []plan.Facts{lavapipe, swiftshader} {
			m := build(t, net)
			kernels := func(quick bool) (names []string, bytes int) {
				facts.Quick = quick
				p, _, err := Model(t.Context(), &facts, m, nil)
				require.NoError(t, err)
				for _, k := range p.Pipelines() {
					names = append(names, k.Kernel.String())
					bytes += len(k.Kernel.SPIRV())
				}
				return names, bytes
			}
			full, fullBytes := kernels(false)
			quick, quickBytes := kernels(true)
			require.LessOrEqual(t, len(quick), len(full))
			require.Less(t, quickBytes, fullBytes*3/4, "%v instead of %v", quick, full)
			for _, name := range quick {
				require.False(t, strings.Contains(name, "8x") || strings.Contains(name, "direct"), "%v", quick)
			}
		}
	}
}
