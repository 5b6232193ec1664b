package gpu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/memory"
)

// imageFormats are those of package memory, and channels at odd places.
var imageFormats = map[string]nn.ImageLayout{
	"rgba8":  {TexelBytes: 4, Channels: 4},
	"rgbx8":  {TexelBytes: 4, Channels: 3},
	"rgb8":   {TexelBytes: 3, Channels: 3},
	"r8":     {TexelBytes: 1, Channels: 1},
	"rg8":    {TexelBytes: 2, Channels: 2},
	"rgba16": {TexelBytes: 8, Channels: 4, Float16: true},
}

// imageSizes are layers, height, width, stride.
var imageSizes = [][4]uint32{{1, 1, 1, 1}, {1, 5, 7, 9}, {3, 4, 6, 6}, {2, 3, 5, 5}, {1, 1, 13, 13}, {1, 67, 33, 40}, {5, 1, 1, 3}}

var imageTypes = []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16, nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned}

// expected is the dense tensor that the image in data is; see nn.Image.
func expected(d nn.ImageLayout, o *nn.Operand, data []byte) []byte {
	var out []byte
	for row := range int(d.Layers * d.Height) {
		for column := range int(d.Width) {
			texel := data[(row*int(d.Stride)+column)*int(d.TexelBytes):][:d.TexelBytes]
			for c := range int(o.Dims[3]) {
				if d.Float16 {
					out = append(out, ofHalf(binary.LittleEndian.Uint16(texel[2*c:]), o)...)
				} else {
					out = append(out, ofByte(texel[c], o.Type)...)
				}
			}
		}
	}
	return out
}

func ofByte(x byte, t nn.OperandType) []byte {
	switch t {
	case nn.TensorQuant8Asymm:
		return []byte{x}
	case nn.TensorQuant8AsymmSigned:
		return []byte{x ^ 0x80}
	case nn.TensorFloat32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)/255))
	}
	return binary.LittleEndian.AppendUint16(nil, uint16(nn.HalfOf(float64(x)/255)))
}

func ofHalf(h uint16, o *nn.Operand) []byte {
	v := nn.Half(h).Float32()
	switch o.Type {
	case nn.TensorFloat16:
		return binary.LittleEndian.AppendUint16(nil, h)
	case nn.TensorFloat32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))
	}
	// The quotient of 11 by 24 bits is exact enough in float64 to tell a tie.
	q := math.RoundToEven(float64(v)/float64(o.Scale)) + float64(o.ZeroPoint)
	if math.IsNaN(q) {
		q = float64(o.ZeroPoint)
	}
	if o.Type == nn.TensorQuant8AsymmSigned {
		return []byte{byte(int8(max(-128, min(127, q))))}
	}
	return []byte{byte(max(0, min(255, q)))}
}

// imageData fills an image: with every byte value, or with half floats of which many are special or, in units of
// scale, ties.
func imageData(d nn.ImageLayout, o *nn.Operand, rng *rand.Rand) []byte {
	data := make([]byte, d.Bytes())
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	if !d.Float16 {
		return data
	}
	// 0, -0, the largest numbers, infinities, NaN; no subnormal ones, which devices may take for 0.
	special := []uint16{0, 0x8000, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3c00, 0x0400}
	for i := 0; i < len(data); i += 2 {
		h := binary.LittleEndian.Uint16(data[i:])
		switch {
		case rng.IntN(4) == 0:
			h = special[rng.IntN(len(special))]
		case rng.IntN(2) == 0: // ties, where the scale is a power of 2
			h = 0x3800 + h&0x9f80
		case h&0x7c00 == 0x7c00: // NaN, of which devices may change the payload
			h = 0x7e00
		case h&0x7c00 == 0:
			h |= 0x2000
		}
		binary.LittleEndian.PutUint16(data[i:], h)
	}
	return data
}

// requireTensor compares tensors; a NaN is as good as another.
func requireTensor(t *testing.T, typ nn.OperandType, want, got []byte) {
	t.Helper()
	require.Len(t, got, len(want))
	n := typ.Bytes()
	for i := 0; i < len(want); i += n {
		w, g := want[i:i+n], got[i:i+n]
		if string(w) == string(g) {
			continue
		}
		if typ == nn.TensorFloat32 {
			x, y := math.Float32frombits(binary.LittleEndian.Uint32(w)), math.Float32frombits(binary.LittleEndian.Uint32(g))
			if x != x && y != y {
				continue
			}
		}
		t.Fatalf("element %d is %x instead of %x", i/n, g, w)
	}
}

// runImage runs x on one input and one output.
func runImage(t *testing.T, x backend.Executable, in, out backend.Binding) backend.Traffic {
	t.Helper()
	e, err := x.Begin(t.Context(), []backend.Binding{in}, []backend.Binding{out})
	require.NoError(t, err)
	defer e.Release()
	f, err := e.Submit(0, e.Segments())
	require.NoError(t, err)
	require.NoError(t, f.Wait(t.Context()))
	require.NoError(t, e.Finish())
	return e.Traffic()
}

// openImages opens a device with validation and poisoned memory.
func openImages(t *testing.T, selector string, o Options) *Backend {
	vktest.Open(t, selector, vulkan.Options{}) // or skip
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("NNGPU_VALIDATION", "1")
	t.Setenv("NNGPU_POISON", "1")
	b, err := Open(selector, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.Empty(t, b.ValidationMessages())
		used, _, _ := b.device.Memory()
		require.Zero(t, used)
		require.NoError(t, b.Close())
	})
	return b
}

// TestImages: every format, type and number of channels, in awkward sizes, from host memory and from imported memory,
// to host memory and to allocated memory.
func TestImages(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		for _, staged := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s staged=%v", selector, staged), func(t *testing.T) {
				b := openImages(t, selector, Options{Staged: staged})
				rng := rand.New(rand.NewPCG(1, 2))
				for _, name := range slices.Sorted(maps.Keys(imageFormats)) {
					d := imageFormats[name]
					for k, size := range imageSizes {
						d.Layers, d.Height, d.Width, d.Stride = size[0], size[1], size[2], size[3]
						for _, typ := range imageTypes {
							// All numbers of channels in one size, else another one in each.
							for c := uint32(1); c <= d.Channels; c++ {
								if k != 1 && c != 1+uint32(k)%d.Channels {
									continue
								}
								o := &nn.Operand{Type: typ, Dims: nn.Dims{d.Layers, d.Height, d.Width, c}}
								if typ.IsQuant8() {
									o.Scale = []float32{0.25, 0.0078125, 1.0 / 3, 0.0123, 1e-40, 1e30}[rng.IntN(6)]
									o.ZeroPoint = []int32{0, 3, 100, 127}[rng.IntN(4)]
								}
								testImage(t, b, fmt.Sprintf("%s %v of %v", name, o, size), d, o, rng)
							}
						}
					}
				}
			})
		}
	}
}

func testImage(t *testing.T, b *Backend, name string, d nn.ImageLayout, o *nn.Operand, rng *rand.Rand) {
	t.Helper()
	x, err := b.CompileImage(t.Context(), d, o, backend.Options{})
	require.NoError(t, err, name)
	defer func() { require.NoError(t, x.Close()) }()
	m, err := b.Allocate(o.Type, o.Dims, 0)
	require.NoError(t, err, name)
	defer func() { require.NoError(t, m.Close()) }()
	pool, err := memory.NewAshmem("nngpu-test", d.Bytes())
	require.NoError(t, err)
	defer pool.Close()
	pages, err := pool.Bytes()
	require.NoError(t, err)
	imported, err := b.Import(pages, false)
	require.NoError(t, err)
	defer func() { require.NoError(t, imported.Close()) }()

	data := imageData(d, o, rng)
	out := make([]byte, len(expected(d, o, data)))
	traffic := runImage(t, x, backend.Binding{Host: data}, backend.Binding{Host: out})
	requireTensor(t, o.Type, expected(d, o, data), out)
	require.GreaterOrEqual(t, traffic.Converted, d.Bytes(), name)
	for _, in := range []backend.Binding{{Host: data}, {Memory: imported, Length: d.Bytes()}} {
		clear(data)
		copy(data, imageData(d, o, rng))
		copy(pages, data)
		traffic := runImage(t, x, in, backend.Binding{Memory: m, Length: int64(len(out))})
		require.NoError(t, m.Read(t.Context(), out), name)
		requireTensor(t, o.Type, expected(d, o, data), out)
		require.Equal(t, (d.Bytes()+3)/4*4, traffic.Converted, name)
		want := d.Bytes()
		if in.Memory != nil {
			want = 0
		}
		require.Equal(t, want, traffic.Copied, "%s: imported memory is read where it is", name)
	}
}

// TestLargeImages are converted in several parts, and count once.
func TestLargeImages(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openImages(t, selector, Options{})
			d := imageFormats["r8"]
			const width, height, stride = 2041, 3001, 2043
			d.Layers, d.Height, d.Width, d.Stride = 1, height, width, stride
			o := &nn.Operand{Type: nn.TensorQuant8Asymm, Dims: nn.Dims{1, height, width, 1}, Scale: 1}
			p, err := compile.Image(&b.facts, d, o)
			require.NoError(t, err)
			if b.facts.Class == plan.ClassCPU { // GPUs are expected to take no time worth a break
				require.Greater(t, len(p.Segments), 1)
			}
			x, err := b.CompileImage(t.Context(), d, o, backend.Options{})
			require.NoError(t, err)
			m, err := b.Allocate(o.Type, o.Dims, 0)
			require.NoError(t, err)
			data := make([]byte, d.Bytes())
			for i := range data {
				data[i] = byte(i) ^ byte(i>>8) ^ byte(i>>16)
			}
			traffic := runImage(t, x, backend.Binding{Host: data}, backend.Binding{Memory: m, Length: width * height})
			require.Equal(t, (d.Bytes()+3)/4*4, traffic.Converted)
			got := make([]byte, width*height)
			require.NoError(t, m.Read(t.Context(), got))
			for y := range height {
				if !bytes.Equal(data[y*stride:][:width], got[y*width:][:width]) {
					t.Fatalf("row %d", y)
				}
			}
			require.NoError(t, m.Close())
			require.NoError(t, x.Close())
		})
	}
}

// TestImagePadding: kernels rely on zeroes in the padding lanes of floats, where texels have a fourth channel.
func TestImagePadding(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openImages(t, selector, Options{})
			for _, typ := range imageTypes[:2] {
				for _, name := range []string{"rgba8", "rgba16"} {
					d := imageFormats[name]
					d.Width, d.Height, d.Layers, d.Stride = 3, 2, 1, 3
					all := &nn.Operand{Type: typ, Dims: nn.Dims{1, 2, 3, 4}}
					for c := uint32(1); c <= 3; c++ {
						one, err := compile.Image(&b.facts, d, &nn.Operand{Type: typ, Dims: nn.Dims{1, 2, 3, c}})
						require.NoError(t, err)
						p, err := compile.Image(&b.facts, d, all) // has no padding, so that all lanes come back
						require.NoError(t, err)
						p.Steps[0].Push = one.Steps[0].Push
						x, err := vulkan.NewExecutable(t.Context(), b.device, p, nil, vulkan.ExecutableOptions{})
						require.NoError(t, err)
						data := bytes.Repeat([]byte{0x41}, int(d.Bytes())) // 0 in no format
						out := make([]byte, p.Outputs[0].Size)
						runImage(t, x, backend.Binding{Host: data}, backend.Binding{Host: out})
						want := expected(d, all, data)
						for i := range want {
							if i%(4*typ.Bytes()) >= int(c)*typ.Bytes() {
								want[i] = 0
							}
						}
						require.Equal(t, want, out, "%s %v, %d channels", name, typ, c)
						require.NoError(t, x.Close())
					}
				}
			}
		})
	}
}

// TestImageRefuses what is no tensor, and what the device cannot read at once.
func TestImageRefuses(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openImages(t, selector, Options{})
			d := imageFormats["rgb8"]
			d.Width, d.Height, d.Layers, d.Stride = 3, 2, 1, 3
			o := &nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 2, 3, 4}}
			_, err := b.CompileImage(t.Context(), d, o, backend.Options{})
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), err)
			d.Stride = 2
			_, err = b.CompileImage(t.Context(), d, o, backend.Options{})
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), err)
			d.Stride = math.MaxUint32
			o.Dims[3] = 3
			_, err = b.CompileImage(t.Context(), d, o, backend.Options{})
			require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err), err)
			d.Stride = 3
			_, err = b.CompileImage(t.Context(), d, o, backend.Options{MemoryBudget: 100})
			require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(err), err)
		})
	}
}
