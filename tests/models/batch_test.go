package models

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/internal/modeldata"
)

// TestBatch: a network whose file has one example computes of each of several in a batch what the reference says.
func TestBatch(t *testing.T) {
	const batch = 3
	root := nntest.Shared(t, "models")
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, name := range []string{"hello_world_f32", "micro_speech_s8", "mobilenet_v1_025_224_f32", "face_landmark_f16w"} {
			t.Run(name, func(t *testing.T) {
				f, err := modeldata.Open(filepath.Join(root, name))
				require.NoError(t, err)
				net := load(t, f.ModelPath)
				dims, err := net.Batch(batch)
				require.NoError(t, err)
				many, err := net.Reshape(dims)
				require.NoError(t, err)
				require.Equal(t, batch, many.Inputs[0].Shape[0])
				require.Equal(t, batch, many.Outputs[0].Shape[0])
				require.Equal(t, 1, net.Inputs[0].Shape[0], "the network of the file stays")

				p := prepareNetwork(t, d, many)
				inputs, want := batchOf(t, net, f, batch)
				got := p.model.NewOutputs()
				_, err = p.model.Run(t.Context(), inputs, got)
				require.NoError(t, err)
				for i, y := range got {
					o := net.Model.Main.Operands[net.Model.Main.Outputs[i]]
					size := len(y) / batch
					for k := range batch {
						diff, err := modeldata.Compare(o.Type, y[k*size:][:size], want[i][k*size:][:size])
						require.NoError(t, err)
						require.NoError(t, f.Within(i, diff), "example %d, output %d", k, i)
					}
				}
			})
		}
	})
}

// batchOf puts cases of f, in turn, into one input and one expected output each.
func batchOf(t *testing.T, net *importer.Network, f *modeldata.Folder, n int) (inputs, want [][]byte) {
	join := func(list [][]byte, more [][]byte) [][]byte {
		if list == nil {
			list = make([][]byte, len(more))
		}
		for i := range more {
			list[i] = bytes.Join([][]byte{list[i], more[i]}, nil)
		}
		return list
	}
	for k := range n {
		c := &f.Cases[k%len(f.Cases)]
		x, err := modeldata.Read(c.Inputs, sizes(t, net.Model, net.Model.Main.Inputs))
		require.NoError(t, err)
		y, err := modeldata.Read(c.Outputs, sizes(t, net.Model, net.Model.Main.Outputs))
		require.NoError(t, err)
		inputs, want = join(inputs, x), join(want, y)
	}
	return inputs, want
}

// TestOtherSizes: networks run on pictures of sizes that their files do not have, on each device, and say which they cannot.
func TestOtherSizes(t *testing.T) {
	root := nntest.Shared(t, "models")
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		net := load(t, filepath.Join(root, "face_landmark_f16w", "model.tflite"))
		other, err := net.Reshape([]nn.Dims{{2, 256, 192, 3}})
		require.NoError(t, err)
		p := prepareNetwork(t, d, other)
		_, err = p.model.Run(t.Context(), [][]byte{make([]byte, 4*2*256*192*3)}, p.model.NewOutputs())
		require.NoError(t, err)
		_, err = load(t, filepath.Join(root, "mobilenet_v1_025_224_f32", "model.tflite")).Reshape([]nn.Dims{{1, 128, 128, 3}})
		require.ErrorContains(t, err, "AVERAGE_POOL_2D")
	})
}
