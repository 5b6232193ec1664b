package networks

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/internal/networks"
	"github.com/nngpu/nngpu/tests/internal/ref"
)

// product is small enough for the reference, of sizes that are no multiples of anything.
const product = networks.Gemm + "37,53,71"

// specs are all networks in all types, small ones unless the long tests run.
func specs() (list []networks.Spec) {
	for _, name := range append(networks.Names(), product) {
		for _, typ := range networks.Types {
			list = append(list, networks.Spec{Name: name, Type: typ, Small: !soak()})
		}
	}
	return list
}

// TestDevices: the largest element of a float network's result is the same on all devices and in the reference, and each
// element of an int8 one's within one step.
func TestDevices(t *testing.T) {
	type expected struct {
		model   *nn.Model
		input   []byte
		outputs *ref.Tensor
	}
	known := map[networks.Spec]expected{}
	for _, s := range specs() {
		m := build(t, s).Model
		in := input(m, 1)
		known[s] = expected{m, in, evaluate(t, m, in).Outputs[0]}
	}
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, s := range specs() {
			t.Run(fmt.Sprintf("%s/%s", s.Name, s.Type), func(t *testing.T) {
				want := known[s]
				got := decode(t, want.model, run(t, d, want.model, want.input))
				agree(t, s.Type, got, want.outputs.V)
			})
		}
	})
}

// agree compares stored values with expected ones.
func agree(t *testing.T, typ networks.Type, got, want []float64) {
	t.Helper()
	require.Len(t, got, len(want))
	worst, largest := 0.0, 0.0
	for i := range got {
		require.False(t, math.IsNaN(got[i]))
		worst, largest = max(worst, math.Abs(got[i]-want[i])), max(largest, math.Abs(want[i]))
	}
	t.Logf("worst difference %.3g, largest value %.3g, at %d", worst, largest, top(want))
	switch typ {
	case networks.Int8:
		require.LessOrEqual(t, worst, 1.0, "steps")
	case networks.Float16:
		require.LessOrEqual(t, worst, 2e-2*largest)
	default:
		require.LessOrEqual(t, worst, 1e-4*largest)
	}
	if typ != networks.Int8 {
		require.Equal(t, top(want), top(got), "the largest")
	}
}

// top is where the largest of a list is.
func top(list []float64) int {
	at := 0
	for i, v := range list {
		if v > list[at] {
			at = i
		}
	}
	return at
}

// run computes a network on a device.
func run(t *testing.T, d *driver.Device, m *nn.Model, in []byte) []byte {
	t.Helper()
	client, err := d.NewClient(t.Name())
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	pm, err := client.PrepareModel(context.Background(), m)
	require.NoError(t, err)
	out := pm.NewOutputs()
	_, err = pm.Run(context.Background(), [][]byte{in}, out)
	require.NoError(t, err)
	return out[0]
}

// decode are the stored numbers of a network's output.
func decode(t *testing.T, m *nn.Model, data []byte) []float64 {
	t.Helper()
	o := m.Main.Operands[m.Main.Outputs[0]]
	shape := make([]int, len(o.Dims))
	for i, d := range o.Dims {
		shape[i] = int(d)
	}
	tensor, err := ref.FromBytes(o.Type, shape, float64(o.Scale), int(o.ZeroPoint), data)
	require.NoError(t, err)
	return tensor.V
}

// TestNothingSaturates: of inputs other than those that the ranges are of, no int8 activation reaches the end of its
// range, but where RELU cuts it.
func TestNothingSaturates(t *testing.T) {
	for _, s := range specs() {
		if s.Type != networks.Int8 {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			n := build(t, s)
			e := evaluate(t, n.Model, input(n.Model, 77))
			for operand, name := range n.Ranged {
				o := n.Model.Main.Operands[operand]
				distinct := map[float64]bool{}
				for _, v := range e.Operands[operand].V {
					require.Less(t, v, 127.0, name)
					require.True(t, v > -128 || o.ZeroPoint == -128, name)
					distinct[v] = true
				}
				require.Greater(t, len(distinct), 40, "%s uses too little of its range", name)
			}
		})
	}
}

// TestBatch: each example of a batch has the result that it has alone.
func TestBatch(t *testing.T) {
	const batch = 2
	for _, name := range append(networks.Names(), product) {
		if name == "resnet50" && !soak() {
			continue // it has no layer that others lack
		}
		for _, typ := range []networks.Type{networks.Float32, networks.Int8} {
			t.Run(fmt.Sprintf("%s/%s", name, typ), func(t *testing.T) {
				s := networks.Spec{Name: name, Type: typ, Small: true}
				one := build(t, s).Model
				s.Batch = batch
				all := build(t, s).Model
				var joined []byte
				var want []float64
				for seed := range uint64(batch) {
					in := input(one, seed+1)
					joined = append(joined, in...)
					want = append(want, evaluate(t, one, in).Outputs[0].V...)
				}
				require.Equal(t, want, evaluate(t, all, joined).Outputs[0].V)
			})
		}
	}
}

// TestFiles: a network written as a file and imported again gives the same results. That of a float16 one is of float32
// with weights of float16.
func TestFiles(t *testing.T) {
	for _, s := range specs() {
		if s.Small = true; s.Name == "transformer_block" {
			s.Batch = 2 // whose operations it has only then
		}
		t.Run(fmt.Sprintf("%s/%s", s.Name, s.Type), func(t *testing.T) {
			n := build(t, s)
			data, err := networks.File(n, "test")
			require.NoError(t, err)
			net, err := tflite.Import(data)
			require.NoError(t, err)
			require.Equal(t, []string{"input"}, net.Model.Names.Inputs)
			require.Equal(t, []string{"output"}, net.Model.Names.Outputs)
			want := evaluate(t, n.Model, input(n.Model, 1)).Outputs[0].V
			got := evaluate(t, net.Model, input(net.Model, 1)).Outputs[0].V
			if s.Type == networks.Float16 {
				agree(t, s.Type, got, want)
				return
			}
			require.Equal(t, want, got)
		})
	}
}

// TestRefusals: specs that name nothing.
func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		spec networks.Spec
		says string
	}{
		{networks.Spec{Name: "mobilenet"}, `there is no network "mobilenet"; known are squeezenet_1.1`},
		{networks.Spec{Name: "resnet50", Type: "f64"}, `no network of type "f64"`},
		{networks.Spec{Name: "resnet50", Batch: -1}, "a batch is from 1 to 4096, not -1"},
		{networks.Spec{Name: "resnet50", Batch: 5000}, "not 5000"},
		{networks.Spec{Name: "gemm:1,2"}, `M,N,K, not "1,2"`},
		{networks.Spec{Name: "gemm:1,0,3"}, `"0" is no size`},
		{networks.Spec{Name: "gemm:1,-2,3"}, `"-2" is no size`},
		{networks.Spec{Name: "gemm:99999999,2,3"}, `"99999999" is no size`},
		{networks.Spec{Name: "gemm:65536,65536,1"}, "a matrix of 4294967296 elements"},
	} {
		_, err := networks.Build(tc.spec)
		require.ErrorContains(t, err, tc.says)
	}
}
