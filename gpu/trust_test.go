package gpu

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// wrongly makes k compute something else: the first steps of its sums are missing.
func wrongly(k shaders.Kernel, p *plan.Plan) {
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Kernel == k {
			s.Push = slices.Clone(s.Push)
			for n := range s.Push { // counts, sizes, offsets: whatever the kernel reads
				s.Push[n] /= 2
			}
		}
	}
}

// TestTrials: every variant that the device can run computes what its floor does, to the bit or nearly so, and is seen
// where it does not.
func TestTrials(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		facts, compared := d.Facts(), map[string]int{}
		pause := func(context.Context) error { return nil }
		for k := shaders.Kernel(1); k.Valid(); k++ {
			if !varied(k) {
				continue
			}
			f := facts
			if key, ok := k.Key().(family.Gemm); ok && (key.Shared && key.M > 1 || key.Matrix != (family.Matrix{})) {
				f.Class = plan.ClassGPU // where they add tensors as well
			}
			trial, err := newTrial(&f, k)
			if err != nil {
				stores := strings.Contains(k.Info().Bindings, "i")
				lacks := facts.Lacks(k.Info(), facts.Workgroup(k.Info(), 8))
				elsewhere := facts.Class == plan.ClassGPU // whose scores leave out what is for processors
				require.True(t, elsewhere || stores && !facts.StorageTexelRGBA32F || lacks != nil, "%s: %v", k, err)
				continue
			}
			want, err := trial.run(t.Context(), d, &trial.floor, pause)
			require.NoError(t, err, k)
			require.False(t, slices.Equal(want, make([]byte, len(want))))
			got, err := trial.run(t.Context(), d, &trial.variant, pause)
			require.NoError(t, err, k)
			require.True(t, trial.same(want, got), k)
			compared[familyName(k)]++
			if key, ok := k.Key().(family.Gemm); ok && f.Class == plan.ClassGPU && !key.Rows && (key.Shared && key.M > 1 || key.Matrix != (family.Matrix{})) {
				require.True(t, slices.ContainsFunc(trial.variant.plan.Steps, func(s plan.Step) bool { return strings.Contains(s.Label, "+ ADD") }), k)
			}
			if key, ok := k.Key().(family.Gemm); ok && key.Matrix != (family.Matrix{}) {
				products := map[bool]int{} // by whether sums are in parts
				for _, s := range trial.variant.plan.Steps {
					if s.Kernel == k {
						products[s.Groups[2] > 1]++
					}
				}
				require.Equal(t, map[bool]int{false: 1, true: 1}, products, k)
			}
			for _, at := range []int{min(3, len(got)-1), len(got) - 1} { // upper bytes of floats
				got[at] ^= 0x40
				require.False(t, trial.same(want, got), k)
				got[at] ^= 0x40
			}
		}
		for name, n := range map[string]int{"Gemm": 20, "Depthwise": 20, "Pool": 3, "Bilinear": 2, "Softmax": 10, "Sum": 6} {
			require.GreaterOrEqual(t, compared[name], n, name)
		}
	})
}

func familyName(k shaders.Kernel) string {
	switch k.Key().(type) {
	case family.Gemm:
		return "Gemm"
	case family.Depthwise:
		return "Depthwise"
	case family.Softmax:
		return "Softmax"
	case family.Sum:
		return "Sum"
	case family.Pool:
		return "Pool"
	}
	return "Bilinear"
}

// tileModel is a convolution that fills tiles in shared memory.
func tileModel(t *testing.T) *nn.Model {
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{1, 8, 8, 32}, 0, 0)
	w, bias := make([]float32, 64*32), make([]float32, 64)
	for i := range w {
		w[i] = float32(i%7) - 3
	}
	y := b.Temp(nn.TensorFloat32, nn.Dims{1, 8, 8, 64}, 0, 0)
	b.Op(nn.OpConv2D, []uint32{
		x, b.Floats(nn.Dims{64, 1, 1, 32}, w...), b.Floats(nn.Dims{64}, bias...), b.Scalar(0), b.Scalar(0), b.Scalar(0), b.Scalar(0),
		b.Scalar(1), b.Scalar(1), b.Scalar(nn.ActNone),
	}, []uint32{y})
	b.Output(y)
	return nntest.Build(&b)
}

var tiled = shaders.ConvGemmF32SharedX32x32

func has(x backend.Executable, k shaders.Kernel) bool {
	return slices.ContainsFunc(x.(*executable).Plan().Steps, func(s plan.Step) bool { return s.Kernel == k })
}

// asGPU opens the device as a GPU of which nothing is known but what lies in dir.
func asGPU(t *testing.T, selector, dir string) *Backend {
	t.Helper()
	t.Setenv("NNGPU_CLASS", "gpu")
	t.Setenv("XDG_STATE_HOME", dir)
	return openBackend(t, selector, Options{})
}

// TestTrust: a variant is compared in the background, is used from then on where it is right, and never where it is
// wrong, also when the device is opened again.
func TestTrust(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		for _, wrong := range []bool{false, true} {
			t.Run(selector+map[bool]string{false: " right", true: " wrong"}[wrong], func(t *testing.T) {
				dir, m := t.TempDir(), tileModel(t)
				inputs := bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2)))
				b := asGPU(t, selector, dir)
				if wrong {
					b.trust.alter = func(k shaders.Kernel, p *plan.Plan) {
						if k == tiled {
							wrongly(k, p)
						}
					}
				}
				first, err := b.Compile(t.Context(), m, backend.Options{Storable: true})
				require.NoError(t, err)
				require.True(t, first.Stats().Quick)
				require.True(t, has(first, shaders.ConvGemmF32X1x8))
				want := compute(t, first, m, inputs)
				require.NoError(t, first.Close())

				pauses := 0
				o := backend.Options{Storable: true, Pause: func(context.Context) error { pauses++; return nil }}
				second, err := b.Compile(t.Context(), m, o)
				require.NoError(t, err)
				require.Positive(t, pauses)
				require.False(t, second.Stats().Quick)
				require.Equal(t, !wrong, has(second, tiled))
				requireClose(t, m, want, compute(t, second, m, inputs))
				model, data, err := second.(backend.Storer).Store()
				require.NoError(t, err)
				require.NoError(t, second.Close())

				again := asGPU(t, selector, dir)
				if wrong {
					require.Contains(t, again.SelfTest(), tiled.String()+", which computes wrongly")
				}
				third, err := again.Compile(t.Context(), m, backend.Options{})
				require.NoError(t, err)
				require.Equal(t, !wrong, has(third, tiled))
				require.False(t, third.Stats().Quick, "nothing is left to compare")
				require.NoError(t, third.Close())
				restored, err := again.Restore(t.Context(), model, bytes.NewReader(data), backend.Options{})
				require.NoError(t, err)
				require.NoError(t, restored.Close())

				forgetful := asGPU(t, selector, t.TempDir())
				_, err = forgetful.Restore(t.Context(), model, bytes.NewReader(data), backend.Options{})
				require.ErrorContains(t, err, "not known to compute rightly")
			})
		}
	}
}

// TestTrustOfSoftware: the software devices, and a device whose test is switched off, use all variants at once.
func TestTrustOfSoftware(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		b := openBackend(t, selector, Options{})
		x, err := b.Compile(t.Context(), tileModel(t), backend.Options{})
		require.NoError(t, err)
		require.False(t, x.Stats().Quick)
		require.NoError(t, x.Close())
		t.Setenv("NNGPU_SELFTEST", "off")
		b = asGPU(t, selector, t.TempDir())
		x, err = b.Compile(t.Context(), tileModel(t), backend.Options{})
		require.NoError(t, err)
		require.True(t, has(x, tiled))
		require.NoError(t, x.Close())
		t.Setenv("NNGPU_SELFTEST", "")
		t.Setenv("NNGPU_CLASS", "")
	}
}

// TestTrustRecord: what two processes learn comes together, and what somebody else wrote into the file is no kernel.
func TestTrustRecord(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			dir := t.TempDir()
			a, b := asGPU(t, selector, dir), asGPU(t, selector, dir)
			a.trust.learn(tiled, true)
			b.trust.learn(shaders.ConvGemmF32X8x8Texel, false)
			c := asGPU(t, selector, dir)
			require.True(t, c.trust.trusted(tiled))
			require.False(t, c.trust.trusted(shaders.ConvGemmF32X8x8Texel))
			require.Equal(t, "passed, without conv_gemm_f32_8x8_texel, which computes wrongly", withoutLoops(c))
			b.trust.learn(tiled, false)
			c = asGPU(t, selector, dir)
			require.False(t, c.trust.trusted(tiled), "wrong once is wrong")

			path := filepath.Join(dir, "nngpu", filepath.Base(c.trust.path))
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			var r testRecord
			require.NoError(t, json.Unmarshal(text, &r))
			r.Wrong = []string{"\x1b[31m", "copy and paste", tiled.String()}
			writeRecord(path, &r)
			c = asGPU(t, selector, dir)
			require.Equal(t, "passed, without "+tiled.String()+", which computes wrongly", withoutLoops(c))
		})
	}
}

// withoutLoops is the verdict but for the faults of this machine's devices.
func withoutLoops(b *Backend) string {
	r, _ := readVerdict(b.trust.path, b.trust.key)
	r.MaxLoop = 0
	return r.verdict.String()
}

// TestTrustBesideExecutions: the first execution of a prepared model takes the floor; the kernel is compared after it, and
// later ones take it.
func TestTrustBesideExecutions(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := asGPU(t, selector, t.TempDir())
			d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
			client, err := d.NewClient("test")
			require.NoError(t, err)
			defer func() { require.NoError(t, client.Close()) }()
			m := tileModel(t)
			pm, err := client.PrepareModel(t.Context(), m)
			require.NoError(t, err)
			require.True(t, pm.Stats().Quick)
			run := func() (kernels []string) {
				r, err := pm.Run(t.Context(), bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2))), pm.NewOutputs(), driver.WithProfile())
				require.NoError(t, err)
				for _, row := range r.Profile().Rows {
					kernels = append(kernels, row.Kernel)
				}
				return kernels
			}
			require.NotContains(t, run(), tiled.String())
			require.Eventually(t, func() bool { return !pm.Stats().Quick }, time.Minute, 10*time.Millisecond)
			require.Contains(t, run(), tiled.String())
			other, err := client.PrepareModel(t.Context(), m)
			require.NoError(t, err)
			require.False(t, other.Stats().Quick)
		})
	}
}

// TestChosenAlthoughAvoided: a compiler that insists on a kernel is told so, however it was found out that it is not to be used.
func TestChosenAlthoughAvoided(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openBackend(t, selector, Options{})
			b.trust.on = true
			insisted := shaders.Kernel(1)
			for ; insisted.Valid(); insisted++ {
				if _, err := newTrial(&b.facts, insisted); err == nil && varied(insisted) {
					break
				}
			}
			require.True(t, insisted.Valid())
			for name, o := range map[string]backend.Options{
				"unknown": {}, "wrong": {Pause: func(context.Context) error { return nil }},
			} {
				t.Run(name, func(t *testing.T) {
					b.trust.alter = wrongly
					facts, calls := b.facts, 0
					_, _, _, err := b.trustworthy(t.Context(), b.device, &facts, o, func() (*plan.Plan, *pack.Weights, error) {
						calls++
						require.Less(t, calls, 10, "it goes on for ever")
						return &plan.Plan{Steps: []plan.Step{{Kernel: insisted}}, Segments: []int{1}}, nil, nil
					})
					require.ErrorContains(t, err, "is chosen although")
					require.Equal(t, 2, calls)
				})
			}
		})
	}
}
