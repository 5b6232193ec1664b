package ref

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/conformancedata"
)

// TestNetworks compares real networks with what TFLite computed from them: 8-bit ones byte for byte,
// which proves the fixed-point arithmetic, float ones within the rounding noise of float32.
func TestNetworks(t *testing.T) {
	dir := filepath.Join(conformanceDir(t), "..", "models")
	double := Always(DoubleRounding)
	for _, tc := range []struct {
		name       string
		arithmetic func(nn.OperationType) Arithmetic
		tolerance  float64
	}{
		{"mobilenet_v2_224_u8", double, 0},
		{"mobilenet_v2_224_s8", SingleRoundingInMatrices, 0},
		{"micro_speech_s8", double, 0},
		{"hello_world_f32", nil, 1e-6},
		{"mobilenet_v1_025_224_f32", nil, 1e-5},
		{"deeplabv3_257_f32", nil, 1e-3},
		{"face_landmark_f16w", nil, 1e-3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, tc.name, "model.tflite"))
			require.NoError(t, err)
			net, err := tflite.Import(data)
			require.NoError(t, err)
			keepQuantised(&net.Model.Main)
			for _, run := range []string{".", "case1"} {
				at := filepath.Join(dir, tc.name, run)
				inputs, err := readBins(at, "input", len(net.Model.Main.Inputs))
				if run != "." && os.IsNotExist(err) {
					continue
				}
				require.NoError(t, err)
				want, err := readBins(at, "output", len(net.Model.Main.Outputs))
				require.NoError(t, err)
				got, err := Evaluate(net.Model, inputs, Options{Arithmetic: tc.arithmetic})
				require.NoError(t, err)
				for i, o := range got.Outputs {
					tol := conformancedata.Tolerance{Abs: tc.tolerance}
					require.NoError(t, conformancedata.CompareValues(o.Type, tol, o.Bytes(), want[i]), "%s output %d", run, i)
				}
			}
		})
	}
}

func readBins(dir, stem string, n int) ([][]byte, error) {
	var all [][]byte
	for i := range n {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%s_%d.bin", stem, i)))
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// keepQuantised undoes the detours by way of float32 that an importer takes for what NNAPI lacks, so that
// the arithmetic is TFLite's: an operation between DEQUANTIZE and QUANTIZE, or nothing between them, reads
// the quantised input itself.
func keepQuantised(g *nn.Graph) {
	writer := map[uint32]*nn.Operation{}
	for i := range g.Operations {
		op := &g.Operations[i]
		writer[op.Outputs[0]] = op
		if op.Type != nn.OpQuantize {
			continue
		}
		middle := writer[op.Inputs[0]]
		if middle == nil {
			continue
		}
		if middle.Type == nn.OpDequantize && g.Operands[middle.Inputs[0]].Type.IsQuant8() {
			op.Inputs = []uint32{middle.Inputs[0]}
			continue
		}
		first := writer[middle.Inputs[0]]
		if middle.Type == nn.OpMean && first != nil && first.Type == nn.OpDequantize {
			op.Type = nn.OpMean
			op.Inputs = append([]uint32{first.Inputs[0]}, middle.Inputs[1:]...)
		}
	}
}
