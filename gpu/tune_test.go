package gpu

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/shaders"
)

// TestTunedModels: what tuning chooses is among what could do the work, computes the same within the rounding of another
// order of sums, and comes back from a store.
func TestTunedModels(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		for _, name := range []string{"digits/digits_f32.tflite", "digits/digits_s8.tflite"} {
			t.Run(selector+" "+name, func(t *testing.T) {
				m := network(t, name)
				inputs := bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2)))
				b := openBackend(t, selector, Options{})
				_, _, want, _ := stored(t, b, m, inputs)
				o := backend.Options{Tuning: 300 * time.Millisecond, Storable: true}
				began := time.Now()
				x, err := b.Compile(t.Context(), m, o)
				require.NoError(t, err)
				t.Logf("tuned in %v", time.Since(began))
				got := compute(t, x, m, inputs)
				requireClose(t, m, want, got)
				model, data, err := x.(backend.Storer).Store()
				require.NoError(t, err)
				require.NoError(t, x.Close())
				y, err := b.Restore(t.Context(), model, bytes.NewReader(data), backend.Options{})
				require.NoError(t, err)
				require.Equal(t, got, compute(t, y, m, inputs))
				require.NoError(t, y.Close())
			})
		}
	}
}

// badlyScored is a backend whose scores choose kernels badly, because what they go by is wrong.
func badlyScored(t *testing.T, selector string) *Backend {
	b := openBackend(t, selector, Options{})
	b.facts.Class = plan.ClassGPU // tiles in shared memory, which are several times slower on a processor
	for k := shaders.Kernel(1); k.Valid(); k++ {
		b.trust.learn(k, true)
	}
	return b
}

// TestTunerKeepsItsBudget: when the time is up, only what tells one kernel from another at all is run.
func TestTunerKeepsItsBudget(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			runs := 0
			_, err := badlyScored(t, selector).planTuned(t.Context(), wideConv(t), backend.Options{
				Tuning: 1, Pause: func(context.Context) error { runs++; return nil },
			})
			require.NoError(t, err)
			const trials = 8 // of kernels, which pause too
			// One round and at most one comparison, of two each.
			require.LessOrEqual(t, runs, 4*(fewestTunings+1)+trials)
			require.GreaterOrEqual(t, runs, 2*(fewestTunings+1))
		})
	}
}

// TestTunerFindsTheFaster: where scores choose badly, measuring finds what is better, and the plan says why.
func TestTunerFindsTheFaster(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := badlyScored(t, selector)
			f, err := b.planTuned(t.Context(), wideConv(t), backend.Options{Tuning: 15 * time.Second}) // enough for most rounds on a busy machine, too
			require.NoError(t, err)
			require.True(t, func() bool {
				for _, s := range f.plan.Steps {
					if strings.Contains(s.Why, "tuned: ") {
						return true
					}
				}
				return false
			}(), "%v", f.plan)
		})
	}
}

// TestChosenKernelsAgree: whichever kernel an answer names, the result is the same within rounding.
func TestChosenKernelsAgree(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b, m := openBackend(t, selector, Options{}), wideConv(t)
			inputs := bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(3, 4)))
			facts := b.current()
			run := func(c *plan.Choices) [][]byte {
				f := facts
				f.Choices = c
				p, weights, err := compile.Model(t.Context(), &f, m, nil)
				require.NoError(t, err)
				l, err := b.makeForm(t.Context(), &form{p, weights, false}, executableOptions(backend.Options{}))
				require.NoError(t, err)
				x := newExecutable(l, b, backend.Options{})
				defer func() { require.NoError(t, x.Close()) }()
				return compute(t, x, m, inputs)
			}
			asked := &plan.Choices{Asked: map[plan.Question][]shaders.Kernel{}}
			want := run(asked)
			tried := 0
			for q, list := range asked.Asked {
				for _, k := range list {
					requireClose(t, m, want, run(&plan.Choices{Take: map[plan.Question]plan.Answer{q: {Kernel: k}}}))
					tried++
				}
			}
			require.Greater(t, tried, 3)
		})
	}
}

// wideConv is a convolution of 32x32 pixels, 32 to 64 channels.
func wideConv(t *testing.T) *nn.Model {
	t.Helper()
	b := &trialBuilder{rng: rand.New(rand.NewPCG(5, 6))}
	b.x = nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 32, 32, 32}}
	x := b.Input(nn.TensorFloat32, b.x.Dims, 0, 0)
	w, bias := b.filter(nn.Dims{64, 3, 3, 32}, 64, 0, false)
	b.Output(b.Conv2D(x, w, bias, layers.Conv{Pad: ops.Pad{Top: 1, Bottom: 1, Left: 1, Right: 1}}, trialSums))
	m, err := b.Build()
	require.NoError(t, err)
	return m
}
