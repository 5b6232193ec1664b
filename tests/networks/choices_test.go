package networks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/internal/networks"
)

// TestChoicesAsRecorded: which kernels a device would run that need not be there, for each operation of a network, with the
// scores. After a wanted change: go test ./tests/networks -run TestChoices -update, and read the difference.
func TestChoicesAsRecorded(t *testing.T) {
	for _, device := range []string{"h200"} {
		facts, err := os.ReadFile(filepath.Join("testdata", device+".json"))
		require.NoError(t, err)
		for _, spec := range []networks.Spec{
			{Name: "resnet50", Type: networks.Float16}, {Name: "mobilenet_v2", Type: networks.Float16},
			{Name: "mobilenet_v2", Type: networks.Int8}, {Name: "transformer_block", Type: networks.Float16},
			{Name: "gemm:4096,4096,4096", Type: networks.Float32},
		} {
			name := strings.NewReplacer(":", "_", ",", "_").Replace(fmt.Sprintf("%s_%s.%s", spec.Name, spec.Type, device))
			t.Run(name, func(t *testing.T) {
				network, err := networks.Build(spec)
				require.NoError(t, err)
				d, err := gpu.DescribeAs(t.Context(), facts, network.Model)
				require.NoError(t, err)
				text := fmt.Sprintf("%d pipelines, %d dispatches, %d bytes of weights\n", d.Stats.Pipelines, d.Stats.Dispatches, d.Stats.WeightBytes)
				for _, c := range d.Choices() {
					text += fmt.Sprintf("%s: %s (%s)\n", c.Label, c.Kernel, c.Why)
				}
				path := filepath.Join("testdata", name+".golden")
				if *update {
					require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
				}
				want, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, string(want), text)
			})
		}
	}
}
