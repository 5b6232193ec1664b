package gpu_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

func TestDescribe(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "examples", "digits", "digits_s8.tflite"))
	require.NoError(t, err)
	net, err := tflite.Import(data)
	require.NoError(t, err)
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			vktest.Open(t, selector, vulkan.Options{}) // or skip
			b, err := gpu.Open(selector, gpu.Options{})
			require.NoError(t, err)
			defer b.Close()
			d, err := b.Describe(context.Background(), net.Model)
			require.NoError(t, err)
			require.Positive(t, d.Stats.Pipelines)
			require.GreaterOrEqual(t, d.Stats.Dispatches, d.Stats.Pipelines)
			require.Positive(t, d.Stats.WeightBytes)
			require.Positive(t, d.Predicted)
			require.GreaterOrEqual(t, d.Layout, d.LargestLive)
			require.LessOrEqual(t, d.Stats.ArenaBytes, d.Layout+plan.Align)
			text := d.Plan()
			require.Regexp(t, `\Aarena \d+  weights \d+  host \d+\ninput 0 `, text)
			require.Contains(t, text, "largest live set")
			require.Regexp(t, `(?m)^predicted \d+\.\d{3} ms`, text)
			require.Regexp(t, `(?m)^segment 0  \d+\.\d{3} ms$`, text)
			require.Regexp(t, `(?m)^output %\d+$`, d.Graph())
		})
	}
}
