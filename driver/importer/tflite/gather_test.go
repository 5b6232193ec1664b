package tflite

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
)

func TestGather(t *testing.T) {
	q := g.PerTensor(0.5, 3)
	gather := func(n *net, axis, batch int32, out g.Tensor, x, by int) int {
		return n.op(g.OpGather, g.GatherOptions{Axis: axis, BatchDims: batch}, out, x, by)
	}
	runTranslations(t, []translation{
		{name: "along an axis", want: "GATHER", build: func(n *net) int {
			return gather(n, -1, 0, f32(4, 2, 3), n.input(g.Float32, none, 4, 5), n.input(g.Int32, none, 2, 3))
		}, check: lastInts(1, 1)},
		{name: "constant places of 64 bits", want: "GATHER", build: func(n *net) int {
			return gather(n, 0, 0, shaped(g.Int8, q, 2, 5), n.input(g.Int8, q, 4, 5), n.longs([]int{2}, 3, 0))
		}, check: lastInts(2, 3, 0)},
		{name: "places that are computed", want: "ARGMAX GATHER", build: func(n *net) int {
			x := n.input(g.Float32, none, 4, 5)
			by := n.op(g.OpArgMax, g.ArgMaxOptions{OutputType: g.Int64}, shaped(g.Int64, none, 4), x, n.ints(nil, 1))
			return gather(n, 0, 0, f32(4, 5), x, by)
		}},
		{name: "one place", want: "GATHER RESHAPE", build: func(n *net) int {
			return gather(n, 1, 0, f32(4, 3), n.input(g.Float32, none, 4, 5, 3), n.ints(nil, 2))
		}, check: lastInts(1, 4, 3)},
		{name: "one number", want: "GATHER", build: func(n *net) int {
			return gather(n, 0, 0, f32(), n.input(g.Float32, none, 4), n.ints(nil, 2))
		}},
		{name: "batches", want: "RESHAPE ADD GATHER", build: func(n *net) int {
			return gather(n, 1, 1, f32(3, 2, 5), n.input(g.Float32, none, 3, 4, 5), n.input(g.Int32, none, 3, 2))
		}, check: func(t *testing.T, m *nn.Model) {
			if got := constantInts(t, m, m.Main.Operations[1].Inputs[1]); len(got) != 3 || got[2] != 8 {
				t.Errorf("first rows %v", got)
			}
		}},
		{name: "batches, one place each", want: "RESHAPE ADD GATHER", build: func(n *net) int {
			return gather(n, -2, 1, f32(3, 5), n.input(g.Float32, none, 3, 4, 5), n.input(g.Int32, none, 3))
		}},
		{name: "batches and others before the axis", err: "others before the axis", build: func(n *net) int {
			return gather(n, 2, 1, f32(3, 4, 2), n.input(g.Float32, none, 3, 4, 5), n.input(g.Int32, none, 3, 2))
		}},
		{name: "batches of other sizes", err: "indices [2 2] for batches of [3 4 5]", build: func(n *net) int {
			return gather(n, 1, 1, f32(3, 2, 5), n.input(g.Float32, none, 3, 4, 5), n.input(g.Int32, none, 2, 2))
		}},
		{name: "batches beyond the axis", err: "batch dimensions, the axis is 0", build: func(n *net) int {
			return gather(n, 0, 2, f32(3, 2), n.input(g.Float32, none, 3, 4, 5), n.input(g.Int32, none, 3, 2))
		}},
		{name: "millions of batches", err: "exceed the size of the file", build: func(n *net) int {
			return gather(n, 1, 1, f32(1<<20, 1), n.input(g.Float32, none, 1<<20, 1), n.input(g.Int32, none, 1<<20, 1))
		}},
		{name: "axis outside", err: "axis 2 of rank 2", build: func(n *net) int {
			return gather(n, 2, 0, f32(4, 5), n.input(g.Float32, none, 4, 5), n.ints([]int{1}, 2))
		}},
		{name: "places that are no integers", err: "indices of type FLOAT32", build: func(n *net) int {
			return gather(n, 0, 0, f32(4, 5), n.input(g.Float32, none, 4, 5), n.input(g.Float32, none, 4))
		}},
		{name: "a place beyond 32 bits", err: "does not fit 32 bits", build: func(n *net) int {
			return gather(n, 0, 0, f32(1, 5), n.input(g.Float32, none, 4, 5), n.longs([]int{1}, 1<<33))
		}},
		{name: "rows by number", want: "RESHAPE GATHER", build: func(n *net) int {
			return n.op(g.OpGatherND, nil, f32(2, 5), n.input(g.Float32, none, 4, 5), n.ints([]int{2, 1}, 3, 1))
		}},
		{name: "rows by two numbers", want: "RESHAPE SLICE RESHAPE MUL SLICE RESHAPE ADD GATHER RESHAPE", build: func(n *net) int {
			return n.op(g.OpGatherND, nil, f32(2, 3, 5), n.input(g.Float32, none, 4, 7, 5), n.input(g.Int32, none, 2, 3, 2))
		}, check: lastInts(1, 2, 3, 5)},
		{name: "rows by too many numbers", err: "indices of 3 numbers for rank 2", build: func(n *net) int {
			return n.op(g.OpGatherND, nil, f32(2), n.input(g.Float32, none, 4, 7), n.input(g.Int32, none, 2, 3))
		}},
	})
}

func TestLookups(t *testing.T) {
	q, symmetric := g.PerTensor(0.5, 3), g.PerTensor(0.5, 0)
	hash := func(n *net, result, hits g.Tensor, values int) int {
		op := g.Op{Code: g.OpHashtableLookup, Inputs: []int{n.input(g.Int32, none, 3), n.ints([]int{4}, 1, 2, 5, 7), values}}
		op.Outputs = []int{n.tensor(result), n.tensor(hits)}
		n.g.Operators = append(n.g.Operators, op)
		return op.Outputs[0]
	}
	hits := shaped(g.Uint8, none, 3)
	runTranslations(t, []translation{
		{name: "rows", want: "EMBEDDING_LOOKUP", build: func(n *net) int {
			return n.op(g.OpEmbeddingLookup, nil, f32(3, 5, 2), n.input(g.Int32, none, 3), n.floats(4, 5, 2))
		}},
		{name: "quantised rows", want: "EMBEDDING_LOOKUP", build: func(n *net) int {
			return n.op(g.OpEmbeddingLookup, nil, shaped(g.Uint8, q, 3, 5), n.input(g.Int32, none, 3), n.bytes(g.Uint8, q, 4, 5))
		}},
		{name: "quantised rows for floats", want: "EMBEDDING_LOOKUP DEQUANTIZE", build: func(n *net) int {
			return n.op(g.OpEmbeddingLookup, nil, f32(3, 5), n.input(g.Int32, none, 3), n.bytes(g.Int8, symmetric, 4, 5))
		}},
		{name: "asymmetric rows for floats", err: "zero point 3", build: func(n *net) int {
			return n.op(g.OpEmbeddingLookup, nil, f32(3, 5), n.input(g.Int32, none, 3), n.bytes(g.Int8, q, 4, 5))
		}},
		{name: "rows with a scale each", err: "per-channel scales", build: func(n *net) int {
			return n.op(g.OpEmbeddingLookup, nil, f32(3, 5), n.input(g.Int32, none, 3), n.bytes(g.Int8, g.PerChannel(0, []float32{1, 2, 3, 4}), 4, 5))
		}},
		{name: "rows by floats", err: "input 0 (lookups)", build: func(n *net) int {
			return n.op(g.OpEmbeddingLookup, nil, f32(3, 5), n.input(g.Float32, none, 3), n.floats(4, 5))
		}},
		{name: "rows by long places", err: "input 0: INT64 tensor", build: func(n *net) int {
			return n.op(g.OpEmbeddingLookup, nil, f32(3, 5), n.input(g.Int64, none, 3), n.floats(4, 5))
		}},
		{name: "by keys", want: "HASHTABLE_LOOKUP", build: func(n *net) int { return hash(n, f32(3, 5), hits, n.floats(4, 5)) }},
		{name: "numbers by keys", want: "RESHAPE HASHTABLE_LOOKUP RESHAPE", build: func(n *net) int { return hash(n, f32(3), hits, n.floats(4)) }},
		{name: "other keys than values", err: "4 keys for 5 values", build: func(n *net) int { return hash(n, f32(3, 5), hits, n.floats(5, 5)) }},
		{name: "hits that are floats", err: "hits", build: func(n *net) int { return hash(n, f32(3, 5), f32(3), n.floats(4, 5)) }},
		{name: "by keys, without hits", err: "1 outputs", build: func(n *net) int {
			return n.op(g.OpHashtableLookup, nil, f32(3, 5), n.input(g.Int32, none, 3), n.ints([]int{4}, 1, 2, 5, 7), n.floats(4, 5))
		}},
	})
}

// TestProduct: dimensions of a tensor without elements do not wrap around.
func TestProduct(t *testing.T) {
	for _, tc := range []struct {
		d    nn.Dims
		want uint32
	}{
		{nil, 1}, {nn.Dims{3, 5}, 15}, {nn.Dims{1 << 16, 0}, 0}, {nn.Dims{1 << 16, 1 << 16}, math.MaxUint32},
		{nn.Dims{math.MaxUint32, math.MaxUint32, 2}, math.MaxUint32}, {nn.Dims{1 << 16, 1 << 16, 0}, 0},
	} {
		require.Equal(t, tc.want, product(tc.d), tc.d)
	}
}
