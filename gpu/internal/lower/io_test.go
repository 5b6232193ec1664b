package lower

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// TestInputsAndOutputsAreNamed: each binding of a model's input or output says so, whether it lies in host memory
// or in the arena; what is copied between two of them belongs to both.
func TestInputsAndOutputsAreNamed(t *testing.T) {
	for _, tc := range []struct {
		name, graph string
		unified     bool
		want        []string // serves, when, and what each binding is of
	}{
		{"dense", "input %0 TENSOR_FLOAT32 [2,4]\n%1 TENSOR_FLOAT32 [2,4] = RELU %0\noutput %1", true, []string{
			"none always: input 0, output 0",
		}},
		{"padded", "input %0 TENSOR_FLOAT32 [2,5]\n%1 TENSOR_FLOAT32 [2,5] = RELU %0\noutput %1", true, []string{
			"input 0 dense: input 0, input 0", "none always: input 0, output 0", "output 0 dense: output 0, output 0",
		}},
		{"staged", "input %0 TENSOR_FLOAT32 [2,4]\n%1 TENSOR_FLOAT32 [2,4] = RELU %0\noutput %1", false, []string{
			"input 0 dense: input 0, input 0", "none always: input 0, output 0", "output 0 dense: output 0, output 0",
		}},
		{"an input is an output, dense", "input %0 TENSOR_FLOAT32 [2,4]\noutput %0", true, []string{"output 0 always: input 0, output 0"}},
		{"an input is an output, padded", "input %0 TENSOR_FLOAT32 [2,5]\noutput %0", true, []string{
			"input 0 dense: input 0, input 0", "output 0 dense: input 0, output 0", "output 0 device: input 0, output 0",
		}},
		{"two outputs", "input %0 TENSOR_FLOAT32 [2,5]\n%1 TENSOR_FLOAT32 [2,5] = RELU %0\noutput %1\noutput %1", true, []string{
			"input 0 dense: input 0, input 0", "none always: input 0, output 0", "output 0 dense: output 0, output 0",
			"output 1 dense: output 0, output 1", "output 1 device: output 0, output 1",
		}},
		{"a constant", "const %0 TENSOR_FLOAT32 [2,5] zeroes\noutput %0", true, []string{
			"output 0 dense: none, output 0", "output 0 device: none, output 0",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, err := ir.Parse(tc.graph)
			require.NoError(t, err)
			f := softwareFacts
			f.Unified = tc.unified
			p, _ := lowerFor(t, f, g)
			var got []string
			for _, s := range p.Steps {
				got = append(got, fmt.Sprintf("%v %v: %v, %v", s.Transfers, s.When, s.Bindings[0].Of, s.Bindings[1].Of))
			}
			require.Equal(t, tc.want, got)
		})
	}
}
