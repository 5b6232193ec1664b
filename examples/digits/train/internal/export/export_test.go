package export

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/examples/digits/train/internal/convnet"
	"github.com/nngpu/nngpu/examples/digits/train/internal/quantize"
)

func network(t *testing.T) (*convnet.Network, *quantize.Network) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	in := convnet.Shape{H: 9, W: 7, C: 1}
	conv := convnet.NewConv(in, 3, 5, rng)
	pool := convnet.NewMaxPool(conv.Out())
	hidden := convnet.NewDense(pool.Out(), 6, true, rng)
	net, err := convnet.New(conv, pool, hidden, convnet.NewDense(hidden.Out(), 10, false, rng))
	require.NoError(t, err)
	x := make([]float32, in.Len())
	for i := range x {
		x[i] = -rng.Float32()
	}
	q, err := quantize.Quantize(net, Input, []convnet.Sample{{X: x}})
	require.NoError(t, err)
	return net, q
}

var operators = []string{"CONV_2D", "MAX_POOL_2D", "RESHAPE", "FULLY_CONNECTED", "FULLY_CONNECTED", "SOFTMAX"}

func imported(t *testing.T, file []byte) *importer.Network {
	t.Helper()
	n, err := tflite.Import(file)
	require.NoError(t, err)
	var names []string
	for _, o := range n.Operators {
		names = append(names, o.Name)
	}
	require.Equal(t, operators, names)
	require.Equal(t, []int{1, 9, 7, 1}, n.Inputs[0].Shape)
	require.Equal(t, []int{1, 10}, n.Outputs[0].Shape)
	in, out := n.Metadata.Inputs[0], n.Metadata.Outputs[0]
	require.True(t, in.Image)
	require.Equal(t, Normalization.Mean, in.Mean)
	require.Equal(t, Normalization.Std, in.Std)
	require.Equal(t, LabelFile, out.LabelFile)
	require.Len(t, out.Labels, 10)
	return n
}

func TestFloat(t *testing.T) {
	net, _ := network(t)
	file, err := Float(net)
	require.NoError(t, err)
	n := imported(t, file)
	require.Equal(t, nn.TensorFloat32.String(), n.Inputs[0].Type)
}

func TestInt8(t *testing.T) {
	net, q := network(t)
	file, err := Int8(net, q)
	require.NoError(t, err)
	n := imported(t, file)
	require.Equal(t, nn.TensorQuant8AsymmSigned.String(), n.Inputs[0].Type)
	require.Equal(t, Input.Scale, n.Inputs[0].Scale)
	require.Equal(t, Input.Zero, n.Inputs[0].ZeroPoint)
	require.Equal(t, quantize.Softmax.Scale, n.Outputs[0].Scale)
	require.Equal(t, quantize.Softmax.Zero, n.Outputs[0].ZeroPoint)

	g := n.Model.Main
	conv := g.Operations[0]
	filter := g.Operands[conv.Inputs[1]]
	require.Equal(t, nn.TensorQuant8PerChannel, filter.Type)
	require.Equal(t, q.Layers[0].(*quantize.Conv).Scales, filter.Channel.Scales)
	require.Equal(t, q.Layers[0].Output().Scale, g.Operands[conv.Outputs[0]].Scale)
	require.Equal(t, q.Layers[0].Output().Zero, g.Operands[conv.Outputs[0]].ZeroPoint)
}

func TestInt8RefusesAnotherNetwork(t *testing.T) {
	net, q := network(t)
	q.Layers = q.Layers[1:]
	_, err := Int8(net, q)
	require.ErrorContains(t, err, "3 quantized layers for 4")
}
