package gpu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// graphs are those whose inputs and outputs share tensors, or are not read.
var graphs = map[string]string{
	"one node": `
		input %0 T S
		%1 T S = RELU %0
		output %1`,
	"an input is an output": `
		input %0 T S
		output %0`,
	"one tensor is two outputs, and is read": `
		input %0 T S
		%1 T S = RELU %0
		%2 T S = RELU6 %1
		output %1
		output %1
		output %2`,
	"an input is two outputs, and is read": `
		input %0 T S
		%1 T S = RELU %0
		output %0
		output %1
		output %0`,
	"a reshaped input is an output": `
		input %0 T S
		%1 T S = RESHAPE %0
		%2 T S = RELU %1
		output %1
		output %2`,
	"a reshaped result is an output, and so is the result": `
		input %0 T S
		%1 T S = RELU %0
		%2 T S = RESHAPE %1
		output %2
		output %1`,
	"nobody reads an input": `
		input %0 T S
		input %1 T S
		%2 T S = RELU %1
		output %2`,
}

// shapes of awkward and of smooth sizes: of one row and several, with padding and without, and as long as
// lowering makes texel views longer for.
var shapes = []struct {
	kind  nn.OperandType
	shape string
	dims  nn.Dims
}{
	{nn.TensorFloat32, "[1,5]", nn.Dims{1, 5}}, {nn.TensorFloat32, "[3,3]", nn.Dims{3, 3}}, {nn.TensorFloat32, "[41,3]", nn.Dims{41, 3}},
	{nn.TensorFloat32, "[64,64]", nn.Dims{64, 64}}, {nn.TensorFloat32, "[4,6]", nn.Dims{4, 6}}, {nn.TensorFloat32, "[1]", nn.Dims{1}},
	{nn.TensorFloat16, "[7,5]", nn.Dims{7, 5}}, {nn.TensorFloat16, "[2,8]", nn.Dims{2, 8}}, {nn.TensorFloat16, "[3]", nn.Dims{3}},
	{nn.TensorFloat32, "[256,64]", nn.Dims{256, 64}},
}

// TestEveryWayOfBinding binds each input and output in host memory, in allocated memory, and in imported memory
// at aligned and other offsets, in all combinations. The results are those with host memory, and nothing beside
// them changes.
func TestEveryWayOfBinding(t *testing.T) {
	const (
		host = iota
		allocated
		imported
		importedAtOdds
		ways
	)
	eachBackend(t, func(t *testing.T, b *Backend) {
		for name, text := range graphs {
			for _, s := range shapes {
				t.Run(fmt.Sprint(name, s.kind, s.dims), func(t *testing.T) {
					text := string(bytes.ReplaceAll(bytes.ReplaceAll([]byte(text), []byte(" T "), []byte(" "+s.kind.String()+" ")), []byte(" S"), []byte(" "+s.shape)))
					p := compileGraph(t, b, text)
					n := len(p.in) + len(p.out)
					list := append(append([]tensor{}, p.in...), p.out...)
					rng := rand.New(rand.NewPCG(2, uint64(n)))
					// A page for each, so that some end at the end of the pool and some do not.
					const gap = 512
					room := (list[0].bytes() + 2*gap + 255) / 256 * 256
					pool := pages(t, (n*room+gap+4095)/4096*4096)
					guard := bytes.Repeat([]byte{0xa5}, len(pool))
					shared, err := b.Import(pool, false)
					require.NoError(t, err)
					defer func() { require.NoError(t, shared.Close()) }()
					memories := make([]backend.Memory, n)
					for i, x := range list {
						memories[i] = allocate(t, b, x)
					}
					total := 1
					for range n {
						total *= ways
					}
					step := 1
					if total > 100 {
						step = total/100 | 1 // visits each way of each
					}
					for config := 0; config < total; config += step {
						copy(pool, guard)
						expected := bytes.Clone(guard)
						bindings := make([]backend.Binding, n)
						values := make([][]byte, n)
						var dense int64
						for i, k := 0, config; i < n; i, k = i+1, k/ways {
							input := i < len(p.in)
							values[i] = make([]byte, list[i].bytes())
							if input {
								values[i] = list[i].random(rng)
							}
							at := i * room
							switch k % ways {
							case host:
								bindings[i].Host = values[i]
								dense += int64(len(values[i]))
							case allocated:
								bindings[i].Memory = memories[i]
								if input {
									require.NoError(t, memories[i].Write(t.Context(), values[i]))
								}
							case importedAtOdds:
								at += 4
								dense += int64(len(values[i]))
								fallthrough
							case imported:
								bindings[i] = backend.Binding{Memory: shared, Offset: int64(at)}
								if input {
									copy(pool[at:], values[i])
									copy(expected[at:], values[i])
								}
							}
						}
						want := p.host(t, values[:len(p.in)])
						moved, err := p.execute(t.Context(), bindings[:len(p.in)], bindings[len(p.in):])
						require.NoError(t, err)
						require.GreaterOrEqual(t, moved.Copied, dense)
						for i := len(p.in); i < n; i++ {
							w := want[i-len(p.in)]
							switch m := bindings[i]; m.Memory {
							case nil:
								require.Equal(t, w, m.Host, "output %d of way %d", i-len(p.in), config)
							case shared:
								copy(expected[m.Offset:], w)
							default:
								got := make([]byte, len(w))
								require.NoError(t, m.Memory.Read(t.Context(), got))
								require.Equal(t, w, got, "output %d of way %d", i-len(p.in), config)
							}
						}
						require.True(t, bytes.Equal(expected, pool), "way %d", config)
					}
				})
			}
		}
	})
}

// TestImportsAreUsedInPlace: no byte of imported memory is copied where the offset is aligned and the tensor, or
// its dense form in whole quads, ends where it does for the client.
func TestImportsAreUsedInPlace(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openBackend(t, selector, Options{})
			for _, tc := range []struct {
				shape    string
				dims     nn.Dims
				in, out  int64
				copied   int64
				converts bool
			}{
				{"[64,64]", nn.Dims{64, 64}, 0, 1 << 15, 0, false},
				{"[64,64]", nn.Dims{64, 64}, 256, 1 << 15, 0, false},
				{"[64,64]", nn.Dims{64, 64}, 4, 1 << 15, 1 << 14, false},
				{"[64,64]", nn.Dims{64, 64}, 4, 1<<15 + 8, 1 << 15, false},
				{"[256,256]", nn.Dims{256, 256}, 0, 1 << 18, 0, false}, // a texel view that is made longer
				{"[16,3]", nn.Dims{16, 3}, 0, 256, 0, true},
				{"[15,3]", nn.Dims{15, 3}, 0, 256, 15 * 12, true}, // the output's last quad is half another's
				{"[1,5]", nn.Dims{1, 5}, 0, 256, 2 * 20, false},
				{"[4096,4096]", nn.Dims{4096, 4096}, 0, 1 << 26, 0, false}, // 64 MiB
			} {
				p := compileGraph(t, b, "input %0 TENSOR_FLOAT32 "+tc.shape+"\n%1 TENSOR_FLOAT32 "+tc.shape+" = RELU %0\noutput %1")
				size := int64(p.in[0].bytes())
				pool := pages(t, int(tc.out+size+4095)/4096*4096)
				value := p.in[0].random(rand.New(rand.NewPCG(8, 8)))
				copy(pool[tc.in:], value)
				m, err := b.Import(pool, false)
				require.NoError(t, err)
				copied := tc.copied
				if whole := (size + 15) &^ 15; !b.facts.Unified && !tc.converts {
					copied += 2 * whole // quads, to and from the device's own memory
					if size < whole {
						copied -= whole // the output leaves by one copy, of its bytes alone
					}
				}
				before := b.Counters()
				for range 2 {
					moved, err := p.execute(t.Context(), []backend.Binding{{Memory: m, Offset: tc.in}}, []backend.Binding{{Memory: m, Offset: tc.out}})
					require.NoError(t, err)
					require.Equal(t, copied, moved.Copied, tc.shape)
					require.Equal(t, tc.converts, moved.Converted > 0, tc.shape)
				}
				after := b.Counters()
				require.LessOrEqual(t, after.Recordings-before.Recordings, int64(1))
				require.Equal(t, before.Allocations, after.Allocations)
				require.True(t, bytes.Equal(p.host(t, [][]byte{value})[0], pool[tc.out:tc.out+size]), tc.shape)
				require.NoError(t, m.Close())
			}
		})
	}
}

// TestBindingsAreChecked: whatever is bound, nothing but an error comes of what does not fit.
func TestBindingsAreChecked(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *Backend) {
		p := compileGraph(t, b, filter)
		x := tensor{nn.TensorFloat32, nn.Dims{5, 3}}
		m, o, y := allocate(t, b, x), allocate(t, b, x), allocate(t, b, x)
		other := allocate(t, b, tensor{nn.TensorFloat32, nn.Dims{3, 5}})
		pool := pages(t, 8192)
		shared, err := b.Import(pool, false)
		require.NoError(t, err)
		readOnly, err := b.Import(pool[4096:], true)
		require.NoError(t, err)
		defer func() { require.NoError(t, shared.Close()); require.NoError(t, readOnly.Close()) }()
		_, err = b.Import(pool[4:], false)
		require.ErrorIs(t, err, backend.ErrNotImported)
		_, err = b.Import(nil, false)
		require.ErrorIs(t, err, backend.ErrNotImported)
		require.Zero(t, shared.Bytes())
		require.Error(t, shared.Read(t.Context(), make([]byte, 8192)))
		in := func(m backend.Memory, at int64) backend.Binding { return backend.Binding{Memory: m, Offset: at} }
		host := backend.Binding{Host: make([]byte, 60)}
		for _, tc := range []struct {
			name     string
			in0, in1 backend.Binding
			out0     backend.Binding
			want     string
		}{
			{"good", in(m, 0), in(m, 0), in(o, 0), ""},
			{"imported, unaligned, up to the end", in(shared, 8192-60), in(readOnly, 1), in(shared, 2), ""},
			{"neighbours", in(shared, 0), in(shared, 60), in(shared, 120), ""},
			{"an offset in allocated memory", in(m, 256), host, host, "offset 256"},
			{"another shape", in(other, 0), host, host, "the plan has 60 and 80"},
			{"behind the end", in(shared, 8192-59), host, host, "60 bytes at 8133"},
			{"far behind", in(shared, math.MaxInt64), host, host, "60 bytes at"},
			{"before", in(shared, -1), host, host, "60 bytes at -1"},
			{"an output that is read only", host, host, in(readOnly, 0), "can only be read"},
			{"an output where an input is", in(m, 0), host, in(m, 0), "where input 0"},
			{"an output that overlaps an input", host, in(shared, 64), in(shared, 5), "where input 1"},
			{"an output where another is", host, host, in(y, 0), "where output 0"},
			{"host and device", backend.Binding{Host: host.Host, Memory: m}, host, host, "both"},
			{"another backend's", in(foreign{}, 0), host, host, "another device"},
			{"another size", backend.Binding{Host: make([]byte, 64)}, host, host, "64 bytes"},
			{"less memory than an input has", backend.Binding{Memory: shared, Length: 56}, host, host, "56 bytes, the plan has 60"},
			{"less memory than an output has", host, host, backend.Binding{Memory: shared, Length: 56}, "56 bytes, the plan has 60"},
			{"more memory than an output has", host, host, backend.Binding{Memory: shared, Length: 64}, "64 bytes, the plan has 60"},
			{"less than an output has in memory of its own", host, host, backend.Binding{Memory: o, Length: 56}, "56 bytes, the plan has 60"},
		} {
			_, err := p.execute(t.Context(), []backend.Binding{tc.in0, tc.in1}, []backend.Binding{tc.out0, in(y, 0)})
			if tc.want == "" {
				require.NoError(t, err, tc.name)
			} else {
				require.ErrorContains(t, err, tc.want, tc.name)
			}
		}
	})
}

type foreign struct{ backend.Memory }
