package gpu

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/shaders"
)

// convolution is a 3x3 convolution with two dozen milliseconds of estimated work, of floats or bytes.
func convolution(kind nn.OperandType) *nn.Model {
	const size, channels = 61, 72
	rng := rand.New(rand.NewPCG(1, 2))
	window := uint32(3)
	if kind == nn.TensorFloat32 {
		window = 5 // one of 3 becomes several steps on processors, which are short
	}
	filter := tensor{kind, nn.Dims{channels, window, window, channels}}
	var b nn.Builder
	x := b.Input(kind, nn.Dims{1, size, size, channels}, 0.5, 0)
	w := b.Const(kind, filter.dims, 0.5, 0, filter.random(rng))
	bias := b.Const(nn.TensorInt32, nn.Dims{channels}, 0.25, 0, make([]byte, 4*channels))
	if kind == nn.TensorFloat32 {
		b = nn.Builder{}
		x = b.Input(kind, nn.Dims{1, size, size, channels}, 0, 0)
		w = b.Const(kind, filter.dims, 0, 0, filter.random(rng))
		bias = b.Const(kind, nn.Dims{channels}, 0, 0, make([]byte, 4*channels))
	}
	scale := float32(0)
	if kind != nn.TensorFloat32 {
		scale = 200
	}
	y := b.Temp(kind, nn.Dims{1, size, size, channels}, scale, 0)
	b.Op(nn.OpConv2D, []uint32{x, w, bias, b.Scalar(int(nn.PaddingSame)), b.Scalar(1), b.Scalar(1), b.Scalar(0)}, []uint32{y})
	b.Output(y)
	return nntest.Build(&b)
}

// unsplit puts the steps of p together that splitting took apart.
func unsplit(p *plan.Plan) *plan.Plan {
	q := *p
	q.Steps = nil
	for _, s := range p.Steps {
		n := len(q.Steps)
		if s.Kernel == shaders.Copy || s.Base == [3]uint32{} {
			q.Steps = append(q.Steps, s)
			continue
		}
		for i := range s.Groups {
			q.Steps[n-1].Groups[i] = max(q.Steps[n-1].Groups[i], s.Base[i]+s.Groups[i])
		}
	}
	q.Segments = []int{len(q.Steps)}
	return &q
}

// TestSplitStepsGiveTheSameBytes as whole ones, with two rows of workgroups too.
func TestSplitStepsGiveTheSameBytes(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			t.Setenv("NNGPU_POISON", "1")
			t.Setenv("NNGPU_VALIDATION", "1") // the parts of a step need no barrier between them
			b := openBackend(t, selector, Options{})
			for name, m := range map[string]*nn.Model{
				"floats": convolution(nn.TensorFloat32), "bytes": convolution(nn.TensorQuant8AsymmSigned), "rows": reluModel(9_000_001),
			} {
				p, weights, err := compile.Model(t.Context(), &b.facts, m, nil)
				require.NoError(t, err)
				whole := unsplit(p)
				require.Greater(t, len(p.Steps), len(whole.Steps), name)
				require.Greater(t, len(p.Segments), 1)
				o := m.Main.Operands[m.Main.Inputs[0]]
				in := tensor{o.Type, o.Dims}.random(rand.New(rand.NewPCG(3, 4)))
				got, want := runPlan(t, b, p, weights, in), runPlan(t, b, whole, weights, in)
				require.True(t, slices.Equal(want, got), name)
			}
		})
	}
}

// runPlan runs p with one input and one output.
func runPlan(t *testing.T, b *Backend, p *plan.Plan, weights *pack.Weights, in []byte) []byte {
	t.Helper()
	x, err := vulkan.NewExecutableFrom(context.Background(), b.device, p, weights, vulkan.ExecutableOptions{})
	require.NoError(t, err)
	defer x.Close()
	out := make([]byte, p.Outputs[0].Size)
	e, err := x.BeginRun(context.Background(), [][]byte{in}, [][]byte{out})
	require.NoError(t, err)
	defer e.Release()
	f, err := e.Submit(0, len(p.Segments))
	require.NoError(t, err)
	require.NoError(t, f.Wait(context.Background()))
	require.NoError(t, e.Finish())
	return out
}
