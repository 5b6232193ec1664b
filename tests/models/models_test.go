// Package models runs real networks on every device and compares them with what another engine computed.
package models

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/internal/modeldata"
)

// networks must run and agree. oneStep holds every output element to one step of the reference, closer than
// the tolerance of the data.
var networks = []struct {
	name    string
	oneStep bool
}{
	{"hello_world_f32", false},
	{"micro_speech_s8", true},
	{"mobilenet_v1_025_224_f32", false},
	{"mobilenet_v2_224_u8", true},
	{"mobilenet_v2_224_s8", true},
	{"deeplabv3_257_f32", false},
	{"face_landmark_f16w", false},
	{"style_transfer_s8", false},
	{"lstm_mnist_f32", false},
	{"conformer_f32", false},
	{"ssd_mobilenet_v1_u8", false},
}

func TestNetworks(t *testing.T) {
	root := nntest.Shared(t, "models")
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, n := range networks {
			t.Run(n.name, func(t *testing.T) {
				f, err := modeldata.Open(filepath.Join(root, n.name))
				require.NoError(t, err)
				pm := prepare(t, d, f.ModelPath)
				for _, c := range f.Cases {
					for run := range 2 { // the second shows state left by the first
						compare(t, pm, f, &c, n.oneStep, run)
					}
				}
			})
		}
	})
}

// prepared is a network with its prepared form.
type prepared struct {
	net   *importer.Network
	model *driver.PreparedModel
}

func load(t *testing.T, path string) *importer.Network {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	net, err := tflite.Import(data)
	require.NoError(t, err)
	return net
}

func prepare(t *testing.T, d *driver.Device, path string) prepared {
	t.Helper()
	return prepareNetwork(t, d, load(t, path))
}

func prepareNetwork(t *testing.T, d *driver.Device, net *importer.Network) prepared {
	t.Helper()
	client, err := d.NewClient(t.Name())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	pm, err := client.PrepareModel(context.Background(), net.Model)
	require.NoError(t, err)
	return prepared{net, pm}
}

func compare(t *testing.T, p prepared, f *modeldata.Folder, c *modeldata.Case, oneStep bool, run int) {
	t.Helper()
	inputs, err := modeldata.Read(c.Inputs, sizes(t, p.net.Model, p.net.Model.Main.Inputs))
	require.NoError(t, err)
	want, err := modeldata.Read(c.Outputs, sizes(t, p.net.Model, p.net.Model.Main.Outputs))
	require.NoError(t, err)
	got := p.model.NewOutputs()
	_, err = p.model.Run(context.Background(), inputs, got)
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i := range got {
		o := p.net.Model.Main.Operands[p.net.Model.Main.Outputs[i]]
		diff, err := modeldata.Compare(o.Type, got[i], want[i])
		require.NoError(t, err)
		t.Logf("case %s, run %d, output %d: max %.3g mean %.3g", c.Dir, run, i, diff.Max, diff.Mean)
		require.NoError(t, f.Within(i, diff))
		if oneStep {
			require.LessOrEqual(t, diff.Max, 1.0, "steps of the output scale")
		}
	}
	require.NoError(t, f.Detected(c, got), "case %s", c.Dir)
}

// sizes are the dense bytes of inputs or outputs.
func sizes(t *testing.T, m *nn.Model, list []uint32) (bytes []int) {
	t.Helper()
	for _, i := range list {
		n, err := m.Main.Operands[i].ByteSize()
		require.NoError(t, err)
		bytes = append(bytes, int(n))
	}
	return bytes
}

// TestStaged runs the way of discrete GPUs: inputs and outputs are copied to and from the arena.
func TestStaged(t *testing.T) {
	root := nntest.Shared(t, "models")
	devices.EachWith(t, gpu.Options{Staged: true}, func(t *testing.T, d *driver.Device) {
		for _, name := range []string{"hello_world_f32", "micro_speech_s8", "mobilenet_v2_224_u8"} {
			f, err := modeldata.Open(filepath.Join(root, name))
			require.NoError(t, err)
			pm := prepare(t, d, f.ModelPath)
			for _, c := range f.Cases {
				compare(t, pm, f, &c, false, 0)
			}
		}
	})
}

// TestPipelineBudget holds mobilenets to 14 pipelines: what cold start costs.
func TestPipelineBudget(t *testing.T) {
	root := nntest.Shared(t, "models")
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, name := range []string{"mobilenet_v2_224_u8", "mobilenet_v2_224_s8", "mobilenet_v1_025_224_f32"} {
			p := prepare(t, d, filepath.Join(root, name, "model.tflite"))
			require.LessOrEqual(t, p.model.Stats().Pipelines, 14, name)
		}
	})
}
