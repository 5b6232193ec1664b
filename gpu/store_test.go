package gpu

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// openBackend opens a device for the time of a test; absent ones skip it. Nothing may be left on the device.
func openBackend(t testing.TB, selector string, o Options) *Backend {
	t.Helper()
	b, err := Open(selector, o)
	if err != nil {
		if vktest.Required(selector) {
			t.Fatal(err)
		}
		t.Skipf("no device: %v", err)
	}
	t.Cleanup(func() {
		used, _, _ := b.device.Memory()
		require.Zero(t, used)
		require.Empty(t, b.ValidationMessages())
		require.NoError(t, b.Close())
	})
	return b
}

// network imports a network of the examples or, where its name has no ending, of the shared test data.
func network(t testing.TB, name string) *nn.Model {
	t.Helper()
	path := filepath.Join("..", "examples", name)
	if filepath.Ext(name) == "" {
		root := os.Getenv("NNGPU_SHARED")
		if root == "" {
			root = filepath.Join("..", "..", "shared")
		}
		path = filepath.Join(root, "models", name, "model.tflite")
		if _, err := os.Stat(path); err != nil && !vktest.Required("shared") {
			t.Skipf("test data is absent: %v", err)
		}
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	net, err := tflite.Import(data)
	require.NoError(t, err)
	return net.Model
}

// bytesOf has the size of each operand of list, random floats in [-1, 1) or bytes.
func bytesOf(t testing.TB, m *nn.Model, list []uint32, rng *rand.Rand) [][]byte {
	t.Helper()
	out := make([][]byte, len(list))
	for i, index := range list {
		o := &m.Main.Operands[index]
		n, err := o.ByteSize()
		require.NoError(t, err)
		out[i] = make([]byte, n)
		for k := range out[i] {
			out[i][k] = byte(rng.Uint32())
		}
		for k := 0; o.Type == nn.TensorFloat32 && k < len(out[i]); k += 4 {
			binary.LittleEndian.PutUint32(out[i][k:], math.Float32bits(rng.Float32()*2-1))
		}
	}
	return out
}

// compute runs x once.
func compute(t testing.TB, x backend.Executable, m *nn.Model, inputs [][]byte) [][]byte {
	t.Helper()
	outputs := bytesOf(t, m, m.Main.Outputs, rand.New(rand.NewPCG(0, 0)))
	e, err := x.Begin(context.Background(), backend.Hosts(inputs), backend.Hosts(outputs))
	require.NoError(t, err)
	defer e.Release()
	f, err := e.Submit(0, x.Stats().Segments)
	require.NoError(t, err)
	require.NoError(t, f.Wait(context.Background()))
	require.NoError(t, e.Finish())
	return outputs
}

// stored compiles and stores m and returns what it computes of inputs.
func stored(t testing.TB, b *Backend, m *nn.Model, inputs [][]byte) (model, data []byte, outputs [][]byte, stats backend.Stats) {
	t.Helper()
	require.NoError(t, validate.Model(m))
	x, err := b.Compile(t.Context(), m, backend.Options{Storable: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, x.Close()) }()
	outputs = compute(t, x, m, inputs)
	model, data, err = x.(backend.Storer).Store()
	require.NoError(t, err)
	return model, data, outputs, x.Stats()
}

var storedNetworks = []string{
	"digits/digits_s8.tflite", "digits/digits_f32.tflite", "hello_world_f32", "micro_speech_s8", "mobilenet_v2_224_u8",
}

// TestRestoredModelsComputeTheSame stores every network and restores it on the same device, opened anew, from
// memory and from a file.
func TestRestoredModelsComputeTheSame(t *testing.T) {
	for _, o := range []Options{{}, {Staged: true}} {
		for _, selector := range vktest.Selectors() {
			for _, name := range storedNetworks {
				if o.Staged && name != storedNetworks[0] {
					continue
				}
				t.Run(selector+" "+name+" staged="+strconv.FormatBool(o.Staged), func(t *testing.T) {
					m := network(t, name)
					inputs := bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2)))
					first := openBackend(t, selector, o)
					model, data, want, stats := stored(t, first, m, inputs)
					path := filepath.Join(t.TempDir(), "data")
					require.NoError(t, os.WriteFile(path, append(data, 1, 2, 3), 0o600)) // more does not matter
					file, err := os.Open(path)
					require.NoError(t, err)
					defer file.Close()

					b := openBackend(t, selector, o)
					for _, d := range []backend.Data{bytes.NewReader(data), fileData{file, int64(len(data)) + 3}} {
						x, err := b.Restore(t.Context(), model, d, backend.Options{Storable: true})
						require.NoError(t, err)
						require.Equal(t, stats, x.Stats())
						for range 2 {
							require.Equal(t, want, compute(t, x, m, inputs))
						}
						again, dataAgain, err := x.(backend.Storer).Store()
						require.NoError(t, err)
						require.True(t, bytes.Equal(data, dataAgain))
						if first.device.Facts().Class == plan.ClassCPU { // without binaries
							require.Equal(t, model, again)
						}
						require.NoError(t, x.Close())
						_, _, err = x.(backend.Storer).Store()
						require.Error(t, err)
					}
				})
			}
		}
	}
}

// fileData is a file whose size is said to be n.
type fileData struct {
	*os.File
	n int64
}

func (f fileData) Size() int64 { return f.n }

// brokenData fails where the file system does.
type brokenData struct{ n int64 }

var errBroken = errors.New("input/output error")

func (d brokenData) Size() int64                           { return d.n }
func (d brokenData) ReadAt(b []byte, _ int64) (int, error) { return len(b) / 2, errBroken }

func TestRestoreRefuses(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openBackend(t, selector, Options{})
			m := matrixModel(64, 32)
			model, data, _, _ := stored(t, b, m, bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2))))
			with := func(i int, v byte) []byte {
				c := slices.Clone(model)
				c[i] = v
				return c
			}
			sections, err := parseStored(model)
			require.NoError(t, err)
			other := appendSection([]byte(storeMagic), sectionIdentity, []byte(strings.Replace(b.StoreIdentity(), "driver", "drivel", 1)))
			other = appendSection(other, sectionPlan, sections[sectionPlan])
			other = appendSection(other, sectionEstimates, sections[sectionEstimates])
			planEnd := bytes.Index(model, sections[sectionPlan]) + len(sections[sectionPlan])
			withEstimates := func(content ...byte) []byte {
				return appendSection(slices.Clone(model[:len(model)-sectionHeader-len(sections[sectionEstimates])]), sectionEstimates, content)
			}
			identityOnly := appendSection([]byte(storeMagic), sectionIdentity, sections[sectionIdentity])
			planOnly := appendSection([]byte(storeMagic), sectionPlan, sections[sectionPlan])
			whole := bytes.NewReader(data)
			for _, tc := range []struct {
				name  string
				model []byte
				data  backend.Data
				want  string
			}{
				{"nothing", nil, whole, "not a stored model"},
				{"version", with(len(storeMagic)-1, 2), whole, "not a stored model"},
				{"version of a section", with(len(storeMagic)+1, 9), whole, "section 0 of version 9"},
				{"kind of a section", with(len(storeMagic), 9), whole, "section 9"},
				{"length of a section", with(len(storeMagic)+5, 0xff), whole, "section 0 of"},
				{"another device", other, whole, `"drivel `},
				{"no plan", identityOnly, whole, "a section is missing"},
				{"no identity", planOnly, whole, "a section is missing"},
				{"a section twice", append(slices.Clone(identityOnly), identityOnly[len(storeMagic):]...), whole, "after section 0"},
				{"more", append(slices.Clone(model), 0), whole, "cut off"},
				{"less", model[:len(model)-1], whole, "section 3 of"},
				{"damaged plan", with(planEnd-1, 0xff), whole, "encoded plan"},
				{"an estimate below 0", with(len(model)-1, 0xff), whole, "an estimate of -"},
				{"an estimate of 0", withEstimates(0, 0, 0, 0, 0, 0, 0, 0), whole, "an estimate of 0s"},
				{"an estimate of years", with(len(model)-1, 0x7f), whole, "an estimate of 25"},
				{"no estimate", withEstimates(), whole, "0 bytes of estimates"},
				{"half an estimate", withEstimates(1, 0, 0, 0), whole, "4 bytes of estimates"},
				{"estimates too many", withEstimates(make([]byte, 16)...), whole, "16 bytes of estimates"},
				{"short data", model, bytes.NewReader(data[:len(data)-1]), "bytes of weights"},
				{"no data", model, bytes.NewReader(nil), "bytes of weights"},
				{"data that shrinks", model, fileDataOf(t, data[:len(data)-1], int64(len(data))), "unexpected EOF"},
				{"data that cannot be read", model, brokenData{int64(len(data))}, "input/output error"},
			} {
				t.Run(tc.name, func(t *testing.T) {
					_, err := b.Restore(t.Context(), tc.model, tc.data, backend.Options{})
					require.ErrorContains(t, err, tc.want)
					require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
				})
			}
			_, err = b.Restore(t.Context(), model, whole, backend.Options{MemoryBudget: 4096})
			require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(err), err)
			canceled, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = b.Restore(canceled, model, whole, backend.Options{})
			require.ErrorIs(t, err, context.Canceled)

			x, err := b.Restore(t.Context(), model, whole, backend.Options{})
			require.NoError(t, err)
			_, _, err = x.(backend.Storer).Store()
			require.ErrorIs(t, err, errNotStorable)
			require.NoError(t, x.Close())
		})
	}
}

func fileDataOf(t *testing.T, b []byte, n int64) fileData {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return fileData{f, n}
}

// TestEveryBitOfTheModelPart: the caller verifies the model part, but whatever passes by must not bring the
// process down while it is restored.
func TestEveryBitOfTheModelPart(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			t.Setenv("NNGPU_VALIDATION", "0") // takes most of the time
			b := openBackend(t, selector, Options{})
			m := reluModel(13)
			model, data, _, _ := stored(t, b, m, bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2))))
			restored := 0
			try := func(model []byte) {
				x, err := b.Restore(t.Context(), model, bytes.NewReader(data), backend.Options{})
				if err == nil {
					restored++
					require.NoError(t, x.Close())
				}
			}
			for i := range model {
				try(model[:i])
				for bit := range 8 {
					model[i] ^= 1 << bit
					try(model)
					model[i] ^= 1 << bit
				}
			}
			t.Logf("%d of %d were restored", restored, 9*len(model))
		})
	}
}

// runtimeModel moves a tensor by paddings and a permutation that are inputs: its kernels read tables of sizes and
// strides beside them.
func runtimeModel() *nn.Model {
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{2, 3, 5}, 0, 0)
	pads := b.Input(nn.TensorInt32, nn.Dims{3, 2}, 0, 0)
	perm := b.Input(nn.TensorInt32, nn.Dims{3}, 0, 0)
	padded := b.Temp(nn.TensorFloat32, nn.Dims{4, 4, 7}, 0, 0)
	mirrored := b.Temp(nn.TensorFloat32, nn.Dims{4, 4, 7}, 0, 0)
	y := b.Temp(nn.TensorFloat32, nn.Dims{7, 4, 4}, 0, 0)
	b.Op(nn.OpPad, []uint32{x, pads}, []uint32{padded})
	b.Op(nn.OpMirrorPad, []uint32{x, pads, b.Scalar(1)}, []uint32{mirrored})
	b.Op(nn.OpTranspose, []uint32{mirrored, perm}, []uint32{y})
	b.Output(padded)
	b.Output(y)
	return nntest.Build(&b)
}

// tableModel has tables, channel scales, and an integer divisor among its constants.
func tableModel() *nn.Model {
	var b nn.Builder
	dims := nn.Dims{1, 3, 5, 6}
	x := b.Input(nn.TensorQuant8Asymm, dims, 0.02, 128)
	n := b.Input(nn.TensorInt32, nn.Dims{7}, 0, 0)
	soft := b.Temp(nn.TensorQuant8Asymm, dims, 1.0/256, 0)
	b.Op(nn.OpSoftmax, []uint32{x, b.Scalar(float32(1))}, []uint32{soft})
	sig := b.Temp(nn.TensorQuant8Asymm, dims, 1.0/256, 0)
	b.Op(nn.OpLogistic, []uint32{x}, []uint32{sig})
	cat := b.Temp(nn.TensorQuant8Asymm, nn.Dims{1, 3, 5, 12}, 0.02, 128)
	b.Op(nn.OpConcatenation, []uint32{x, sig, b.Scalar(3)}, []uint32{cat})
	conv := b.Temp(nn.TensorQuant8Asymm, nn.Dims{1, 3, 5, 5}, 0.1, 120)
	scales := []float32{0.1, 0.2, 0.3, 0.4, 0.5}
	b.Op(nn.OpConv2D, []uint32{
		cat, b.PerChannel(nn.Dims{5, 3, 3, 12}, scales, 0, make([]byte, 5*9*12)), b.Const(nn.TensorInt32, nn.Dims{5}, 0, 0, make([]byte, 20)),
		b.Scalar(int(nn.PaddingSame)), b.Scalar(1), b.Scalar(1), b.Scalar(0),
	}, []uint32{conv})
	f := b.Temp(nn.TensorFloat32, nn.Dims{1, 3, 5, 5}, 0, 0)
	b.Op(nn.OpDequantize, []uint32{conv}, []uint32{f})
	pow := b.Temp(nn.TensorFloat32, nn.Dims{1, 3, 5, 5}, 0, 0)
	b.Op(nn.OpPow, []uint32{f, b.Floats(nn.Dims{5}, 1, 2, 0.5, -1, 3)}, []uint32{pow})
	quot := b.Temp(nn.TensorInt32, nn.Dims{7}, 0, 0)
	b.Op(nn.OpDiv, []uint32{n, b.Ints(nn.Dims{7}, 1, 2, 3, -4, 5, 6, 7), b.Scalar(0)}, []uint32{quot})
	for _, y := range []uint32{soft, sig, pow, quot} {
		b.Output(y)
	}
	return nntest.Build(&b)
}

// TestDamagedConstants: the cache lets no damage to the data part through; if it did, that would give at most wrong numbers.
func TestDamagedConstants(t *testing.T) {
	rounds := 300
	if os.Getenv("NNGPU_SOAK") != "" {
		rounds = 10_000
	}
	models := map[string]func(t *testing.T) *nn.Model{
		"runtime": func(*testing.T) *nn.Model { return runtimeModel() },
		"tables":  func(*testing.T) *nn.Model { return tableModel() },
	}
	for _, name := range []string{"digits/digits_s8.tflite", "hello_world_f32", "micro_speech_s8"} {
		models[name] = func(t *testing.T) *nn.Model { return network(t, name) }
	}
	for _, selector := range vktest.Selectors() {
		for name, load := range models {
			t.Run(selector+" "+name, func(t *testing.T) {
				t.Setenv("NNGPU_VALIDATION", "0")
				b := openBackend(t, selector, Options{})
				m := load(t)
				rng := rand.New(rand.NewPCG(7, 7))
				inputs := bytesOf(t, m, m.Main.Inputs, rng)
				model, data, want, _ := stored(t, b, m, inputs)
				for range rounds {
					damaged := damage(data, rng)
					x, err := b.Restore(t.Context(), model, bytes.NewReader(damaged), backend.Options{})
					require.NoError(t, err)
					compute(t, x, m, inputs)
					require.NoError(t, x.Close())
				}
				x, err := b.Restore(t.Context(), model, bytes.NewReader(data), backend.Options{})
				require.NoError(t, err)
				require.Equal(t, want, compute(t, x, m, inputs))
				require.NoError(t, x.Close())
			})
		}
	}
}

// damage returns a changed copy of data: bits, runs of one byte, or words of extremes, in few or in most places.
func damage(data []byte, rng *rand.Rand) []byte {
	c := slices.Clone(data)
	if len(c) < 4 {
		return c
	}
	extremes := []uint32{0, 1, math.MaxUint32, math.MaxInt32, 1 << 31, 0x7fc00000, 0x7f800000, 0x00ffffff, 0x4f000000}
	edits := 1 + rng.IntN(8)
	if rng.IntN(3) == 0 {
		edits = len(c) / (4 + rng.IntN(60))
	}
	kind := rng.IntN(4)
	for range edits {
		at := rng.IntN(len(c) - 3)
		switch kind {
		case 0:
			c[at] ^= 1 << rng.IntN(8)
		case 1:
			v := byte(rng.Uint32())
			for i := at; i < min(at+rng.IntN(64), len(c)); i++ {
				c[i] = v
			}
		case 2:
			binary.LittleEndian.PutUint32(c[at&^3:], extremes[rng.IntN(len(extremes))])
		default:
			binary.LittleEndian.PutUint32(c[at&^3:], rng.Uint32())
		}
	}
	return c
}

func TestIdentityNamesEverything(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		info, facts := d.Describe(), d.Facts()
		first := identity("v1", &info, &facts)
		require.Equal(t, first, identity("v1", &info, &facts))
		require.Len(t, strings.Split(first, "\n"), 5)
		seen := map[string]bool{first: true, identity("v2", &info, &facts): true}
		for _, change := range []func(*vulkan.DeviceInfo, *plan.Facts){
			func(i *vulkan.DeviceInfo, _ *plan.Facts) { i.Name += "\ndriver" },
			func(i *vulkan.DeviceInfo, _ *plan.Facts) { i.Driver += "x" },
			func(i *vulkan.DeviceInfo, _ *plan.Facts) { i.Properties.DriverVersion++ },
			func(i *vulkan.DeviceInfo, _ *plan.Facts) { i.Properties.DriverUUID[15]++ },
			func(i *vulkan.DeviceInfo, _ *plan.Facts) { i.Properties.DeviceUUID[0]++ },
			func(i *vulkan.DeviceInfo, _ *plan.Facts) { i.Properties.DeviceID++ },
			func(_ *vulkan.DeviceInfo, f *plan.Facts) { f.Unified = !f.Unified },
			func(_ *vulkan.DeviceInfo, f *plan.Facts) { f.SubgroupSize++ },
		} {
			i, f, props := info, facts, *info.Properties
			i.Properties = &props
			change(&i, &f)
			seen[identity("v1", &i, &f)] = true
		}
		require.Len(t, seen, 10)
	})
}
