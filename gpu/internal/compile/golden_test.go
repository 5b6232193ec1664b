package compile

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestPlansAreAsRecorded compares whole plans with testdata/*.golden. After a wanted change:
// go test ./gpu/internal/compile -update, and read the difference.
func TestPlansAreAsRecorded(t *testing.T) {
	devices := map[string]plan.Facts{"lavapipe": lavapipe, "swiftshader": swiftshader}
	for name, make := range map[string]func(*nn.Builder){
		"float": floatNet, "quant8": quantNet, "nchw": nchwNet, "fed_weights": runtimeWeights, "lstm": lstmNet(2),
	} {
		for device, facts := range devices {
			t.Run(name+" on "+device, func(t *testing.T) {
				p, weights, err := Model(context.Background(), &facts, build(t, make), nil)
				require.NoError(t, err)
				require.EqualValues(t, weights.Size(), p.WeightBytes)
				requireSound(t, &facts, p)
				requireStorable(t, p)
				path := filepath.Join("testdata", fmt.Sprintf("%s.%s.golden", name, device))
				if *update {
					require.NoError(t, os.MkdirAll("testdata", 0o755))
					require.NoError(t, os.WriteFile(path, []byte(p.String()), 0o644))
				}
				want, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, string(want), p.String())
			})
		}
	}
}

// requireSound checks what plan.Plan promises of its ranges.
func requireSound(t *testing.T, f *plan.Facts, p *plan.Plan) {
	t.Helper()
	sizes := map[plan.Buffer]int64{plan.Arena: p.ArenaBytes, plan.Weights: p.WeightBytes, plan.Host: p.HostBytes}
	for i, s := range p.Steps {
		for k, bd := range s.Bindings {
			where := fmt.Sprintf("step %d (%s), binding %d: %v", i, s.Label, k, bd)
			require.Zero(t, bd.Offset%plan.Align, where)
			require.Positive(t, bd.Size, where)
			require.LessOrEqual(t, bd.Offset+bd.Size, sizes[bd.Buffer], where)
			require.False(t, bd.Write && bd.Buffer == plan.Weights, where)
			switch one := int64(s.Kernel.Info().Needs.BlockBytes); {
			case bd.Format == plan.FormatBlocks:
				require.Zero(t, bd.Size%one, where)
				require.LessOrEqual(t, bd.Size/one, f.MaxBlocks, where)
			case bd.Format != plan.FormatNone:
				require.Zero(t, bd.Size%bd.Format.TexelBytes(), where)
				require.LessOrEqual(t, bd.Size/bd.Format.TexelBytes(), f.MaxTexelElements, where)
			default:
				require.LessOrEqual(t, bd.Size, f.MaxStorageRange, where)
			}
		}
	}
	require.Equal(t, len(p.Steps), p.Segments[len(p.Segments)-1])
}

// requireStorable: a cache file gives p back.
func requireStorable(t *testing.T, p *plan.Plan) {
	t.Helper()
	require.NoError(t, p.Verify())
	again, err := plan.Decode(plan.Encode(p))
	require.NoError(t, err)
	require.Equal(t, p, again)
}

// TestPlansOfEqualModelsAreEqual: the cache keys on it.
func TestPlansOfEqualModelsAreEqual(t *testing.T) {
	first, weights, err := Model(context.Background(), &lavapipe, build(t, floatNet), nil)
	require.NoError(t, err)
	for range 5 {
		again, w, err := Model(context.Background(), &lavapipe, build(t, floatNet), nil)
		require.NoError(t, err)
		require.Equal(t, first, again)
		require.Equal(t, packedBytes(t, weights), packedBytes(t, w))
	}
}

func TestCompilingStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err := Model(ctx, &lavapipe, build(t, floatNet), nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestNamesOfInputsAndOutputsReachThePlan(t *testing.T) {
	m := build(t, runtimeWeights)
	m.Names = nn.Names{Inputs: []string{"x"}, Outputs: []string{"y", "z", "one too many"}}
	p, _, err := Model(context.Background(), &lavapipe, m, nil)
	require.NoError(t, err)
	require.Equal(t, "x", p.Inputs[0].Name)
	require.Empty(t, p.Inputs[1].Name)
	require.Equal(t, "y", p.Outputs[0].Name)
	require.Equal(t, "z", p.Outputs[1].Name)
}
