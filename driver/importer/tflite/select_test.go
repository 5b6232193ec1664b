package tflite

import (
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
)

func TestSelect(t *testing.T) {
	q := g.PerTensor(0.5, 3)
	runTranslations(t, []translation{
		{name: "one shape", want: "SELECT", build: func(n *net) int {
			return n.op(g.OpSelectV2, nil, shaped(g.Int8, q, 2, 3), n.input(g.Bool, none, 2, 3), n.input(g.Int8, q, 2, 3), n.input(g.Int8, q, 2, 3))
		}},
		{name: "broadcast", want: "LOGICAL_OR TILE RESHAPE TILE SELECT", build: func(n *net) int {
			return n.op(g.OpSelectV2, nil, f32(4, 2, 3), n.input(g.Bool, none, 2, 1), n.input(g.Float32, none, 4, 1, 3), n.floats(3))
		}},
		{name: "a scalar", want: "RESHAPE TILE SELECT", build: func(n *net) int {
			return n.op(g.OpSelectV2, nil, f32(2, 3), n.input(g.Bool, none, 2, 3), n.input(g.Float32, none, 2, 3), n.floats())
		}},
		{name: "rows", want: "SELECT RESHAPE NOT_EQUAL LOGICAL_OR SELECT", build: func(n *net) int {
			return n.op(g.OpSelect, nil, f32(2, 3), n.input(g.Bool, none, 2), n.input(g.Float32, none, 2, 3), n.input(g.Float32, none, 2, 3))
		}},
		{name: "all or nothing", want: "LOGICAL_OR SELECT", build: func(n *net) int {
			return n.op(g.OpSelect, nil, f32(2, 3), n.input(g.Bool, none, 1), n.input(g.Float32, none, 2, 3), n.input(g.Float32, none, 2, 3))
		}},
		{name: "shapes that do not go together", err: "do not go together", build: func(n *net) int {
			return n.op(g.OpSelectV2, nil, f32(2, 3), n.input(g.Bool, none, 2), n.input(g.Float32, none, 2, 3), n.input(g.Float32, none, 2, 3))
		}},
		{name: "another scale", err: "quantisation of inputs and output differs", build: func(n *net) int {
			return n.op(g.OpSelectV2, nil, shaped(g.Int8, q, 2), n.input(g.Bool, none, 2), n.input(g.Int8, q, 2), n.input(g.Int8, g.PerTensor(1, 3), 2))
		}},
		{name: "a mask of numbers", err: "SELECT", build: func(n *net) int {
			return n.op(g.OpSelectV2, nil, f32(2), n.input(g.Float32, none, 2), n.input(g.Float32, none, 2), n.input(g.Float32, none, 2))
		}},
		{name: "two inputs", err: "2 inputs", build: func(n *net) int {
			return n.op(g.OpSelectV2, nil, f32(2), n.input(g.Bool, none, 2), n.input(g.Float32, none, 2))
		}},
	})
}

func TestBatchMatmul(t *testing.T) {
	q := g.PerTensor(0.5, 3)
	runTranslations(t, []translation{
		{name: "matrices", want: "BATCH_MATMUL", build: func(n *net) int {
			return n.op(g.OpBatchMatmul, nil, f32(2, 4), n.input(g.Float32, none, 2, 3), n.floats(3, 4))
		}},
		{name: "swapped", want: "BATCH_MATMUL", build: func(n *net) int {
			return n.op(g.OpBatchMatmul, g.BatchMatMulOptions{AdjointX: true, AdjointY: true}, shaped(g.Int8, q, 5, 2, 4), n.input(g.Int8, q, 5, 3, 2), n.input(g.Int8, q, 5, 4, 3))
		}},
		{name: "batches of one side", want: "RESHAPE TILE BATCH_MATMUL", build: func(n *net) int {
			return n.op(g.OpBatchMatmul, nil, f32(5, 6, 2, 4), n.input(g.Float32, none, 5, 6, 2, 3), n.floats(3, 4))
		}},
		{name: "batches of both sides", want: "TILE TILE BATCH_MATMUL", build: func(n *net) int {
			return n.op(g.OpBatchMatmul, nil, f32(5, 6, 2, 4), n.input(g.Float32, none, 5, 1, 2, 3), n.input(g.Float32, none, 1, 6, 3, 4))
		}},
		{name: "rank 5", want: "RESHAPE RESHAPE BATCH_MATMUL RESHAPE", build: func(n *net) int {
			return n.op(g.OpBatchMatmul, nil, f32(5, 6, 7, 2, 4), n.input(g.Float32, none, 5, 6, 7, 2, 3), n.input(g.Float32, none, 5, 6, 7, 3, 4))
		}},
		{name: "depths", err: "BATCH_MATMUL", build: func(n *net) int {
			return n.op(g.OpBatchMatmul, nil, f32(2, 4), n.input(g.Float32, none, 2, 3), n.floats(4, 4))
		}},
		{name: "batches that do not go together", err: "do not go together", build: func(n *net) int {
			return n.op(g.OpBatchMatmul, nil, f32(2, 2, 4), n.input(g.Float32, none, 2, 2, 3), n.floats(3, 3, 4))
		}},
		{name: "a vector", err: "BATCH_MATMUL", build: func(n *net) int {
			return n.op(g.OpBatchMatmul, nil, f32(2, 4), n.input(g.Float32, none, 3), n.floats(3, 4))
		}},
	})
}
