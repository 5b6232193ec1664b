package gpu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// TestQuickModels: fewer and smaller pipelines, the same results within the rounding of another order of sums, and
// the same again when stored.
func TestQuickModels(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		for _, name := range storedNetworks {
			t.Run(selector+" "+name, func(t *testing.T) {
				m := network(t, name)
				inputs := bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2)))
				b := openBackend(t, selector, Options{})
				_, _, want, full := stored(t, b, m, inputs)
				o := backend.Options{Quick: true, Storable: true}
				form, err := b.compileForm(t.Context(), m, o)
				require.NoError(t, err)
				x := newExecutable(form, b, o)
				require.True(t, x.Stats().Quick)
				require.LessOrEqual(t, x.Stats().Pipelines, full.Pipelines)
				got := compute(t, x, m, inputs)
				requireClose(t, m, want, got)
				model, data, err := x.Store()
				require.NoError(t, err)
				require.NoError(t, x.Close())
				y, err := b.Restore(t.Context(), model, bytes.NewReader(data), backend.Options{Quick: true})
				require.NoError(t, err)
				require.True(t, y.Stats().Quick)
				require.Equal(t, got, compute(t, y, m, inputs))
				require.NoError(t, y.Close())
			})
		}
	}
}

// requireClose wants equal 8-bit outputs, and floats that differ by rounding only.
func requireClose(t *testing.T, m *nn.Model, want, got [][]byte) {
	t.Helper()
	for i, index := range m.Main.Outputs {
		if m.Main.Operands[index].Type != nn.TensorFloat32 {
			require.Equal(t, want[i], got[i], "output %d", i)
			continue
		}
		for k := 0; k < len(want[i]); k += 4 {
			w := math.Float32frombits(binary.LittleEndian.Uint32(want[i][k:]))
			g := math.Float32frombits(binary.LittleEndian.Uint32(got[i][k:]))
			require.InDelta(t, w, g, 1e-5+1e-5*math.Abs(float64(w)), "output %d", i)
		}
	}
}

// residualBlock is a convolution to which its input is added.
func residualBlock(t *testing.T) *nn.Model {
	t.Helper()
	const c = 64
	var b layers.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{1, 14, 14, c}, 0, 0)
	filter, bias := b.Floats(nn.Dims{c, 1, 1, c}, make([]float32, c*c)...), b.Floats(nn.Dims{c}, make([]float32, c)...)
	b.Output(b.Add(b.Conv2D(x, filter, bias, layers.Conv{Padding: nn.PaddingSame}), x, nn.ActNone))
	m, err := b.Build()
	require.NoError(t, err)
	return m
}

// TestContestForeseesTheQuickForm: its kernels are those that a quick compilation has, on a GPU too.
func TestContestForeseesTheQuickForm(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		b := openBackend(t, selector, Options{})
		for _, name := range append([]string{"residual block"}, storedNetworks...) {
			for _, class := range []plan.Class{plan.ClassCPU, plan.ClassGPU} {
				t.Run(fmt.Sprintf("%s %s %s", selector, name, class), func(t *testing.T) {
					m, facts := residualBlock(t), b.current()
					if name != "residual block" {
						m = network(t, name)
					}
					facts.Class = class
					full, _, err := compile.Model(t.Context(), &facts, m, nil)
					require.NoError(t, err)
					facts.Quick = true
					quick, _, err := compile.Model(t.Context(), &facts, m, nil)
					require.NoError(t, err)
					c := newContest(&facts, full)
					if c == nil {
						require.ElementsMatch(t, quick.Pipelines(), full.Pipelines())
						return
					}
					require.ElementsMatch(t, named(quick.Pipelines()), named(append(c.both, c.quick...)))
					require.Subset(t, full.Pipelines(), c.both)
					if class == plan.ClassCPU { // of GPUs the costs of kernels are not known yet
						require.Greater(t, c.quickRun, c.fullRun)
					}
				})
			}
		}
	}
}

// named are the names of the kernels, without what their sums are: by dot products these are never flushed.
func named(list []plan.Pipeline) (names []string) {
	for _, p := range list {
		names = append(names, fmt.Sprint(strings.ReplaceAll(p.Kernel.String(), "_flush", ""), p.Local))
	}
	return names
}

// TestContest: what is left of the optimised form against all of the quick one.
func TestContest(t *testing.T) {
	for _, tc := range []struct {
		name              string
		perUnit           time.Duration
		left, unmade      float64
		planning          time.Duration
		fullRun, quickRun time.Duration
		goOn              bool
	}{
		{"compiling is slow", 10 * time.Millisecond, 100, 20, 0, 20 * time.Millisecond, 50 * time.Millisecond, false},
		{"the driver has them on disk", 100 * time.Microsecond, 100, 20, 0, 20 * time.Millisecond, 50 * time.Millisecond, true},
		{"running is slow", 10 * time.Millisecond, 100, 20, 0, time.Second, 3 * time.Second, true},
		{"not by much", 10 * time.Millisecond, 100, 80, 0, 20 * time.Millisecond, 50 * time.Millisecond, true},
		{"the compiler is slow", 10 * time.Millisecond, 100, 20, time.Second, 20 * time.Millisecond, 50 * time.Millisecond, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := contest{planning: tc.planning, fullRun: tc.fullRun, quickRun: tc.quickRun, unmade: func() float64 { return tc.unmade }}
			require.Equal(t, tc.goOn, c.goOn(tc.perUnit, tc.left))
		})
	}
}

// TestSameForms: a model without convolutions has one form.
func TestSameForms(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		b := openBackend(t, selector, Options{})
		var n nn.Builder
		x := n.Input(nn.TensorFloat32, nn.Dims{1, 4}, 0, 0)
		y := n.Temp(nn.TensorFloat32, nn.Dims{1, 4}, 0, 0)
		n.Op(nn.OpAdd, []uint32{x, x, n.Scalar(0)}, []uint32{y})
		n.Output(y)
		m := nntest.Build(&n)
		facts := b.current()
		p, _, err := compile.Model(t.Context(), &facts, m, nil)
		require.NoError(t, err)
		require.Nil(t, newContest(&facts, p))
		e, err := b.Compile(t.Context(), m, backend.Options{Quick: true})
		require.NoError(t, err)
		require.False(t, e.Stats().Quick)
		require.NoError(t, e.Close())
	}
}
