package differential

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/tests/internal/ref"
)

// drawn is what d draws from logits by these seeds, twice, which must be alike.
func drawn(t *testing.T, d *driver.Device, typ nn.OperandType, dims nn.Dims, logits []float64, samples int, seeds [2]int32) []int32 {
	t.Helper()
	var b layers.Builder
	x := b.Input(typ, dims, 0, 0)
	b.Output(b.RandomMultinomial(x, samples, b.Input(nn.TensorInt32, nn.Dims{2}, 0, 0)))
	m, err := b.Build()
	require.NoError(t, err)
	client, err := d.NewClient(t.Name())
	require.NoError(t, err)
	defer client.Close()
	pm, err := client.PrepareModel(t.Context(), m)
	require.NoError(t, err)
	var data []byte
	for _, v := range logits {
		if typ == nn.TensorFloat16 {
			data = binary.LittleEndian.AppendUint16(data, uint16(nn.HalfOf(float32(v))))
		} else {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		}
	}
	inputs := [][]byte{data, nn.Bytes(seeds[:])}
	got, again := pm.NewOutputs(), pm.NewOutputs()
	_, err = pm.Run(t.Context(), inputs, got)
	require.NoError(t, err)
	_, err = pm.Run(t.Context(), inputs, again)
	require.NoError(t, err)
	require.Equal(t, got, again)
	list, err := nn.Values[int32](got[0])
	require.NoError(t, err)
	return list
}

// TestMultinomial: the samples are those of the oracle but where a rounding error decides.
func TestMultinomial(t *testing.T) {
	for _, tc := range []struct {
		rows, classes, samples int
		spread                 float64
	}{{1, 1, 1, 1}, {3, 2, 5, 1}, {2, 7, 1000, 3}, {5, 1021, 37, 2}, {1, 30_000, 300, 1}, {70, 4, 4, 20}} {
		for _, typ := range []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16} {
			t.Run(fmt.Sprint(tc, typ), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(tc.classes), 3))
				dims := nn.Dims{uint32(tc.rows), uint32(tc.classes)}
				logits := make([]float64, tc.rows*tc.classes)
				for i := range logits {
					logits[i] = float64(nn.HalfOf(float32(rng.NormFloat64() * tc.spread)).Float32())
				}
				seeds := [2]int32{int32(rng.Uint32()), int32(rng.Uint32())}
				x, err := ref.FromValues(ref.Format{Type: typ}, []int{tc.rows, tc.classes}, logits...)
				require.NoError(t, err)
				want, margins := ref.Multinomial(x, tc.samples, []int{int(seeds[0]), int(seeds[1])})
				devices.Each(t, func(t *testing.T, d *driver.Device) {
					for i, got := range drawn(t, d, typ, dims, logits, tc.samples, seeds) {
						if float64(got) != want.V[i] && margins[i] > 3e-6 {
							t.Errorf("sample %d is %d, want %v", i, got, want.V[i])
						}
					}
				})
			})
		}
	}
}

// TestMultinomialShares: frequencies come near to the probabilities, and other seeds draw other samples.
func TestMultinomialShares(t *testing.T) {
	logits := []float64{0, math.Log(2), math.Log(5), -20, math.Log(8)} // of 16
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		const n = 1 << 16
		var last []int32
		for seed := range int32(3) {
			got := drawn(t, d, nn.TensorFloat32, nn.Dims{1, 5}, logits, n, [2]int32{seed, 0})
			var counts [5]float64
			for _, c := range got {
				counts[c]++
			}
			for c, part := range []float64{1, 2, 5, 0, 8} {
				p := part / 16
				require.InDelta(t, p, counts[c]/n, 5*math.Sqrt(p*(1-p)/n)+1e-9, "class %d by seed %d", c, seed)
			}
			require.NotEqual(t, last, got)
			last = got
		}
	})
}

// TestMultinomialHostile: logits of no number and infinite ones draw what there is, and never beyond the classes.
func TestMultinomialHostile(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for name, tc := range map[string]struct {
		logits []float64
		may    []int32
	}{
		"no number":          {[]float64{nan, 1, nan, 1, nan, nan}, []int32{1, 3}},
		"no numbers":         {[]float64{nan, nan, nan}, []int32{2}},
		"infinite":           {[]float64{1, inf, 3, inf, -inf, nan}, []int32{1, 3}},
		"all infinitely low": {[]float64{-inf, -inf, -inf}, []int32{0, 1, 2}},
		"infinitely low":     {[]float64{-inf, 0, -inf, -inf, -inf}, []int32{1}},
		"far apart":          {[]float64{-60000, 60000, -60000}, []int32{1}},
	} {
		for _, typ := range []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16} {
			t.Run(name+" "+typ.String(), func(t *testing.T) {
				devices.Each(t, func(t *testing.T, d *driver.Device) {
					for _, c := range drawn(t, d, typ, nn.Dims{1, uint32(len(tc.logits))}, tc.logits, 99, [2]int32{-1, 1 << 30}) {
						require.Contains(t, tc.may, c)
					}
				})
			})
		}
	}
}
