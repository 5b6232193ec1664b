package differential

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// indicesOf are random numbers below n.
func indicesOf(rng *rand.Rand, count, n int) []int32 {
	list := make([]int32, count)
	for i := range list {
		list[i] = rng.Int32N(int32(n))
	}
	return list
}

// TestGatherSweep: along every axis, by indices of every rank, constants and inputs; what comes behind reads the padding.
func TestGatherSweep(t *testing.T) {
	eachSeed(t, 300, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		typ := oneOf(rng, anyType)
		in, by := randomDims(rng, 1+int(seed%5), 2000), randomDims(rng, 1+rng.IntN(3), 40)
		axis := rng.IntN(len(in))
		n, err := by.Elements()
		require.NoError(t, err)
		out := slices.Concat(in[:axis], by, in[axis+1:])
		list, fed := indicesOf(rng, int(n), int(in[axis])), rng.IntN(2) == 0
		if rng.IntN(2) == 0 {
			axis -= len(in)
		}
		m := oneOp(nn.OpGather, []tensor{of(typ, 0, in)}, of(typ, 0, out), rng, func(b *nn.Builder) []uint32 {
			if fed {
				return []uint32{b.Scalar(int32(axis)), b.Input(nn.TensorInt32, by, 0, 0)}
			}
			return []uint32{b.Scalar(int32(axis)), b.Ints(by, list...)}
		})
		t.Log(describe(m))
		inputs := RandomInputs(m, rng)
		if fed {
			inputs[1] = nn.Bytes(list)
		}
		CompareOn(t, d, m, inputs, Exact)
	})
}

// TestGatherBeyond: an index outside counts as the last position, along the innermost dimension and before it.
func TestGatherBeyond(t *testing.T) {
	wild := []int32{-1, 5, 1 << 30, -1 << 31, 0, 1<<31 - 1, 3}
	tame := []int32{4, 4, 4, 4, 0, 4, 3}
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		for axis, dims := range []nn.Dims{{5, 3, 6}, {3, 5, 6}, {3, 6, 5}} {
			var b nn.Builder
			x, by := b.Input(nn.TensorFloat32, dims, 0, 0), b.Input(nn.TensorInt32, nn.Dims{7}, 0, 0)
			out := slices.Clone(dims)
			out[axis] = 7
			y := b.Temp(nn.TensorFloat32, out, 0, 0)
			b.Op(nn.OpGather, []uint32{x, b.Scalar(axis), by}, []uint32{y})
			b.Output(y)
			pm, err := client.PrepareModel(t.Context(), nntest.Build(&b))
			require.NoError(t, err)
			defer pm.Close()
			values := RandomValue(nn.TensorFloat32, dims, rand.New(rand.NewPCG(uint64(axis), 1)))
			got, want := pm.NewOutputs(), pm.NewOutputs()
			_, err = pm.Run(t.Context(), [][]byte{values, nn.Bytes(wild)}, got)
			require.NoError(t, err)
			_, err = pm.Run(t.Context(), [][]byte{values, nn.Bytes(tame)}, want)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	})
}

// TestLookups: EMBEDDING_LOOKUP and HASHTABLE_LOOKUP with awkward sizes; keys that are missing, extreme ones among them.
func TestLookups(t *testing.T) {
	eachSeed(t, 100, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		typ := oneOf(rng, []nn.OperandType{nn.TensorFloat32, nn.TensorInt32, nn.TensorQuant8Asymm})
		in := randomDims(rng, 2+int(seed%3), 2000)
		k := 1 + rng.Uint32N(40)
		out := slices.Concat(nn.Dims{k}, in[1:])
		scale, zero := quant(typ, 0)
		var b nn.Builder
		lookups := b.Input(nn.TensorInt32, nn.Dims{k}, 0, 0)
		inputs := [][]byte{nn.Bytes(indicesOf(rng, int(k), int(in[0])))}
		var keys uint32
		hashed := seed%2 == 0
		if hashed {
			keys = b.Input(nn.TensorInt32, in[:1], 0, 0)
			list := []int32{-1 << 31}
			for len(list) < int(in[0]) {
				list = append(list, list[len(list)-1]+1+rng.Int32N(1<<20))
			}
			wanted := make([]int32, k)
			for i := range wanted {
				wanted[i] = list[rng.IntN(len(list))] + int32(rng.IntN(3)/2)
			}
			wanted[0] = 1<<31 - 1
			inputs = [][]byte{nn.Bytes(wanted), nn.Bytes(list)}
		}
		values := b.Input(typ, in, scale, zero)
		inputs = append(inputs, RandomValue(typ, in, rng))
		y := b.Temp(typ, out, scale, zero)
		b.Output(y)
		if hashed {
			hits := b.Temp(nn.TensorQuant8Asymm, nn.Dims{k}, 1, 0)
			b.Output(hits)
			b.Op(nn.OpHashtableLookup, []uint32{lookups, keys, values}, []uint32{y, hits})
		} else {
			b.Op(nn.OpEmbeddingLookup, []uint32{lookups, values}, []uint32{y})
		}
		m := nntest.Build(&b)
		t.Log(describe(m))
		CompareOn(t, d, m, inputs, Exact)
	})
}

// TestPackSweep: one to many tensors of every rank along each axis.
func TestPackSweep(t *testing.T) {
	eachSeed(t, 200, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		typ := oneOf(rng, anyType)
		in := randomDims(rng, 1+int(seed%5), 1000)
		axis, n := rng.IntN(len(in)+1), 1+rng.IntN(9)
		out := of(typ, 0, slices.Insert(slices.Clone(in), axis, uint32(n)))
		var b nn.Builder
		list := []uint32{b.Scalar(axis)}
		for range n {
			list = append(list, b.Input(typ, in, out.scale, out.zero))
		}
		y := b.Temp(typ, out.dims, out.scale, out.zero)
		b.Op(nn.OpPack, list, []uint32{y})
		b.Output(y)
		m := nntest.Build(&b)
		t.Log(describe(m))
		Compare(t, d, m, Exact, seed)
	})
}

// TestSelectSweep: of every type, with scales that differ where they may.
func TestSelectSweep(t *testing.T) {
	eachSeed(t, 150, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		typ := oneOf(rng, anyType)
		dims := randomDims(rng, 1+int(seed%5), 5000)
		operands := []tensor{of(nn.TensorBool8, 0, dims), of(typ, rng.IntN(3), dims), of(typ, rng.IntN(3), dims)}
		m := oneOp(nn.OpSelect, operands, of(typ, rng.IntN(3), dims), rng, nil)
		t.Log(describe(m))
		Compare(t, d, m, Exact, seed)
	})
}
