package gpu

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// eachBackend runs f on each device, as it is and with copies to and from the arena. Kernels see NaN in what
// nothing has written.
func eachBackend(t *testing.T, f func(t *testing.T, b *Backend)) {
	t.Setenv("NNGPU_POISON", "1")
	if !testing.Short() {
		t.Setenv("NNGPU_VALIDATION", "1")
	}
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) { f(t, openBackend(t, selector, Options{})) })
		t.Run(selector+" staged", func(t *testing.T) { f(t, openBackend(t, selector, Options{Staged: true})) })
	}
}

// tensor is what a test must know of an input or output.
type tensor struct {
	kind nn.OperandType
	dims nn.Dims
}

func (x tensor) bytes() int {
	n := x.kind.Bytes()
	for _, d := range x.dims {
		n *= int(d)
	}
	return n
}

// random returns a value of x.
func (x tensor) random(rng *rand.Rand) []byte {
	b := make([]byte, x.bytes())
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	switch x.kind {
	case nn.TensorFloat32:
		for i := 0; i < len(b); i += 4 {
			binary.LittleEndian.PutUint32(b[i:], math.Float32bits(rng.Float32()*2-1))
		}
	case nn.TensorFloat16:
		for i := 0; i < len(b); i += 2 {
			binary.LittleEndian.PutUint16(b[i:], uint16(rng.Uint32()&0x83ff|0x3800))
		}
	}
	return b
}

// program is an executable with its inputs and outputs.
type program struct {
	x       backend.Executable
	in, out []tensor
}

// execute runs p once and returns what was moved.
func (p *program) execute(ctx context.Context, inputs, outputs []backend.Binding) (backend.Traffic, error) {
	e, err := p.x.Begin(ctx, inputs, outputs)
	if err != nil {
		return backend.Traffic{}, err
	}
	defer e.Release()
	f, err := e.Submit(0, e.Segments())
	if err == nil {
		err = f.Wait(ctx)
	}
	if err == nil {
		err = e.Finish()
	}
	return e.Traffic(), err
}

// host runs p with inputs and outputs in host memory.
func (p *program) host(t *testing.T, inputs [][]byte) [][]byte {
	t.Helper()
	outputs := make([][]byte, len(p.out))
	copied := 0
	for i, x := range p.out {
		outputs[i] = make([]byte, x.bytes())
		copied += x.bytes()
	}
	for _, in := range inputs {
		copied += len(in)
	}
	moved, err := p.execute(t.Context(), backend.Hosts(inputs), backend.Hosts(outputs))
	require.NoError(t, err)
	require.GreaterOrEqual(t, moved.Copied, int64(copied))
	return outputs
}

func compileNetwork(t *testing.T, b *Backend, name string) *program {
	t.Helper()
	m := network(t, name)
	x, err := b.Compile(t.Context(), m, backend.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	p := &program{x: x}
	for _, i := range m.Main.Inputs {
		p.in = append(p.in, tensor{m.Main.Operands[i].Type, m.Main.Operands[i].Dims})
	}
	for _, i := range m.Main.Outputs {
		p.out = append(p.out, tensor{m.Main.Operands[i].Type, m.Main.Operands[i].Dims})
	}
	return p
}

// compileGraph makes a program of the text form of a graph.
func compileGraph(t *testing.T, b *Backend, text string) *program {
	t.Helper()
	g, err := ir.Parse(text)
	require.NoError(t, err)
	p := &program{}
	of := func(id ir.ID) tensor {
		x := tensor{kind: g.T(id).Type}
		for _, d := range g.T(id).Shape {
			x.dims = append(x.dims, uint32(d))
		}
		return x
	}
	for _, id := range g.Inputs {
		p.in = append(p.in, of(id))
	}
	for _, id := range g.Outputs {
		p.out = append(p.out, of(id))
	}
	made, weights, err := compile.Graph(t.Context(), &b.facts, g)
	require.NoError(t, err)
	x, err := vulkan.NewExecutable(t.Context(), b.device, made, weights, vulkan.ExecutableOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	p.x = x
	return p
}

func allocate(t *testing.T, b *Backend, x tensor) backend.Memory {
	t.Helper()
	m, err := b.Allocate(x.kind, x.dims, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

// pages maps memory of n bytes.
func pages(t *testing.T, n int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(b)) })
	return b
}

// slow networks are not staged as well.
var slow = []string{"mobilenet_v2_224_s8", "deeplabv3_257_f32", "style_transfer_s8"}

// TestMemoryOfNetworks: networks give the same bytes whatever their inputs and outputs lie in.
func TestMemoryOfNetworks(t *testing.T) {
	for _, name := range []string{
		"hello_world_f32", "micro_speech_s8", "mobilenet_v1_025_224_f32", "mobilenet_v2_224_u8", "mobilenet_v2_224_s8",
		"deeplabv3_257_f32", "face_landmark_f16w", "style_transfer_s8",
	} {
		t.Run(name, func(t *testing.T) {
			eachBackend(t, func(t *testing.T, b *Backend) {
				if !b.facts.Unified && slices.Contains(slow, name) {
					t.Skip("the small ones take this way")
				}
				p := compileNetwork(t, b, name)
				rng := rand.New(rand.NewPCG(1, 1))
				var inputs [][]byte
				for _, x := range p.in {
					inputs = append(inputs, x.random(rng))
				}
				want := p.host(t, inputs)
				var in, out []backend.Binding
				for i, x := range p.in {
					in = append(in, backend.Binding{Memory: allocate(t, b, x)})
					require.NoError(t, in[i].Memory.Write(t.Context(), inputs[i]))
				}
				for _, x := range p.out {
					out = append(out, backend.Binding{Memory: allocate(t, b, x)})
				}
				for range 2 {
					moved, err := p.execute(t.Context(), in, out)
					require.NoError(t, err)
					require.Zero(t, moved)
				}
				for i, x := range p.out {
					got := make([]byte, x.bytes())
					require.NoError(t, out[i].Memory.Read(t.Context(), got))
					require.True(t, bytes.Equal(want[i], got), "output %d", i)
				}
				for i, x := range p.in { // R11
					got := make([]byte, x.bytes())
					require.NoError(t, in[i].Memory.Read(t.Context(), got))
					require.True(t, bytes.Equal(inputs[i], got), "input %d", i)
				}
			})
		})
	}
}

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
				before := b.Counters()
				for range 2 {
					moved, err := p.execute(t.Context(), []backend.Binding{{Memory: m, Offset: tc.in}}, []backend.Binding{{Memory: m, Offset: tc.out}})
					require.NoError(t, err)
					require.Equal(t, tc.copied, moved.Copied, tc.shape)
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

// TestChainsStayOnTheDevice: what one executable leaves another one finds, without a copy or conversion.
func TestChainsStayOnTheDevice(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *Backend) {
		first := compileGraph(t, b, `
			input %0 TENSOR_FLOAT32 [1,9,7,3]
			%1 TENSOR_FLOAT32 [1,9,7,3] = RELU %0
			output %1`)
		second := compileGraph(t, b, `
			input %0 TENSOR_FLOAT32 [1,9,7,3]
			%1 TENSOR_FLOAT32 [1,9,7,3] = ADD %0 %0
			output %1`)
		x := first.in[0].random(rand.New(rand.NewPCG(3, 3)))
		want := second.host(t, first.host(t, [][]byte{x}))[0]
		a, c, d := allocate(t, b, first.in[0]), allocate(t, b, first.in[0]), allocate(t, b, first.in[0])
		require.NoError(t, a.Write(t.Context(), x))
		for _, run := range []struct {
			p        *program
			from, to backend.Memory
		}{{first, a, c}, {second, c, d}} {
			moved, err := run.p.execute(t.Context(), []backend.Binding{{Memory: run.from}}, []backend.Binding{{Memory: run.to}})
			require.NoError(t, err)
			require.Zero(t, moved)
		}
		got := make([]byte, len(want))
		require.NoError(t, d.Read(t.Context(), got))
		require.Equal(t, want, got)
	})
}

// filter is a recurrent model: state' = relu(state + x), y = state' + x.
const filter = `
	input %0 TENSOR_FLOAT32 [5,3]
	input %1 TENSOR_FLOAT32 [5,3]
	%2 TENSOR_FLOAT32 [5,3] = ADD %0 %1
	%3 TENSOR_FLOAT32 [5,3] = RELU %2
	%4 TENSOR_FLOAT32 [5,3] = ADD %3 %1
	output %3
	output %4`

// TestRecurrentModelMovesNothing: two state buffers change places a hundred times. After both orders were seen,
// nothing is recorded, allocated or imported, and never is anything copied or converted.
func TestRecurrentModelMovesNothing(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *Backend) {
		p := compileGraph(t, b, filter)
		x := tensor{nn.TensorFloat32, nn.Dims{5, 3}}
		input := x.random(rand.New(rand.NewPCG(4, 4)))
		states := [2]backend.Memory{allocate(t, b, x), allocate(t, b, x)}
		in, y := allocate(t, b, x), allocate(t, b, x)
		require.NoError(t, in.Write(t.Context(), input))
		state := make([]byte, x.bytes())
		var settled Counters
		for step := range 100 {
			if step == 2 {
				settled = b.Counters()
			}
			moved, err := p.execute(t.Context(), []backend.Binding{{Memory: states[step%2]}, {Memory: in}},
				[]backend.Binding{{Memory: states[1-step%2]}, {Memory: y}})
			require.NoError(t, err)
			require.Zero(t, moved)
		}
		require.Equal(t, settled, b.Counters())
		var last []byte
		for range 100 {
			out := p.host(t, [][]byte{state, input})
			state, last = out[0], out[1]
		}
		for m, want := range map[backend.Memory][]byte{states[0]: state, y: last} {
			got := make([]byte, len(want))
			require.NoError(t, m.Read(t.Context(), got))
			require.Equal(t, want, got)
		}
	})
}

// TestRecordingsAreForgotten: more ways of binding than a slot remembers, each asked for again, and memory that
// goes away between.
func TestRecordingsAreForgotten(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *Backend) {
		p := compileGraph(t, b, filter)
		x := tensor{nn.TensorFloat32, nn.Dims{5, 3}}
		rng := rand.New(rand.NewPCG(5, 5))
		want := make([]byte, x.bytes())
		for round := range 60 {
			state, input := x.random(rng), x.random(rng)
			expected := p.host(t, [][]byte{state, input})
			var list [4]backend.Memory
			for i := range list {
				var err error
				list[i], err = b.Allocate(x.kind, x.dims, 0)
				require.NoError(t, err)
			}
			require.NoError(t, list[0].Write(t.Context(), state))
			require.NoError(t, list[1].Write(t.Context(), input))
			for range 2 {
				_, err := p.execute(t.Context(), []backend.Binding{{Memory: list[0]}, {Memory: list[1]}},
					[]backend.Binding{{Memory: list[2]}, {Memory: list[3]}})
				require.NoError(t, err)
			}
			require.NoError(t, list[3].Read(t.Context(), want))
			require.Equal(t, expected[1], want, round)
			for _, m := range list {
				require.NoError(t, m.Close())
				require.NoError(t, m.Close())
			}
			_, err := p.execute(t.Context(), []backend.Binding{{Memory: list[0]}, {Memory: list[1]}},
				[]backend.Binding{{Memory: list[2]}, {Memory: list[3]}})
			require.ErrorContains(t, err, "closed")
		}
	})
}

// TestMemoryOutlivesExecutables, and they it, in any order.
func TestMemoryOutlivesExecutables(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *Backend) {
		g := "input %0 TENSOR_FLOAT32 [64,64]\n%1 TENSOR_FLOAT32 [64,64] = RELU %0\n%2 TENSOR_FLOAT32 [64,64] = ADD %0 %1\noutput %2"
		keeps := compileGraph(t, b, g)
		x := keeps.in[0]
		m, o := allocate(t, b, x), allocate(t, b, x)
		value, got := x.random(rand.New(rand.NewPCG(9, 9))), make([]byte, x.bytes())
		require.NoError(t, m.Write(t.Context(), value))
		want := keeps.host(t, [][]byte{value})[0]
		for range 3 {
			goes := compileGraph(t, b, g)
			short, err := b.Allocate(x.kind, x.dims, 0)
			require.NoError(t, err)
			for _, p := range []*program{goes, keeps} {
				for _, to := range []backend.Memory{o, short} {
					_, err := p.execute(t.Context(), []backend.Binding{{Memory: m}}, []backend.Binding{{Memory: to}})
					require.NoError(t, err)
					require.NoError(t, to.Read(t.Context(), got))
					require.Equal(t, want, got)
				}
			}
			require.NoError(t, goes.x.Close())
			require.NoError(t, short.Close())
		}
	})
}

// TestMemoryOfEveryType: what is written comes back, for all types that tensors have.
func TestMemoryOfEveryType(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *Backend) {
		rng := rand.New(rand.NewPCG(6, 6))
		for kind := nn.Float32; kind.Valid(); kind++ {
			for _, dims := range []nn.Dims{nil, {1}, {5}, {3, 3}, {2, 3, 5}, {41, 3}, {16, 3}, {113, 89}, {8, 8}} {
				m, err := b.Allocate(kind, dims, 0)
				if kind == nn.SubgraphRef {
					require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), err)
					continue
				}
				require.NoError(t, err)
				x := tensor{kind, dims}
				got := bytes.Repeat([]byte{1}, x.bytes())
				require.NoError(t, m.Read(t.Context(), got))
				require.Equal(t, make([]byte, len(got)), got, "it is zeroed")
				want := x.random(rng)
				require.NoError(t, m.Write(t.Context(), want))
				require.NoError(t, m.Read(t.Context(), got))
				require.Equal(t, want, got, "%v %v", kind, dims)
				require.Error(t, m.Write(t.Context(), want[1:]))
				require.Error(t, m.Read(t.Context(), append(got, 0)))
				require.GreaterOrEqual(t, m.Bytes(), int64(len(want)))
				require.NoError(t, m.Close())
				require.Zero(t, m.Bytes())
				require.Error(t, m.Read(t.Context(), got))
			}
		}
	})
}

// TestAllocateRefuses what no kernel handles and what does not fit.
func TestAllocateRefuses(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openBackend(t, selector, Options{MemoryBudget: 1 << 20})
			for _, tc := range []struct {
				name   string
				kind   nn.OperandType
				dims   nn.Dims
				budget int64
				want   nn.Status
			}{
				{"unknown type", 99, nn.Dims{1}, 0, nn.StatusInvalidArgument},
				{"negative type", -1, nn.Dims{1}, 0, nn.StatusInvalidArgument},
				{"open dimension", nn.TensorFloat32, nn.Dims{1, 0}, 0, nn.StatusInvalidArgument},
				{"too many elements", nn.TensorFloat32, nn.Dims{1 << 31, 1 << 31, 1 << 31}, 0, nn.StatusInvalidArgument},
				{"too many rows", nn.TensorQuant8Asymm, nn.Dims{1 << 30, 1}, 0, nn.StatusInvalidArgument},
				{"beyond the device's budget", nn.TensorFloat32, nn.Dims{1 << 18}, 0, nn.StatusResourceExhaustedPersistent},
				{"beyond the caller's budget", nn.TensorFloat32, nn.Dims{1 << 10}, 1 << 10, nn.StatusResourceExhaustedPersistent},
			} {
				_, err := b.Allocate(tc.kind, tc.dims, tc.budget)
				require.Equal(t, tc.want, nn.StatusOf(err), "%s: %v", tc.name, err)
			}
			var list []backend.Memory
			for {
				m, err := b.Allocate(nn.TensorFloat32, nn.Dims{1 << 16}, 0)
				if err != nil {
					require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(err), err)
					break
				}
				list = append(list, m)
			}
			require.Len(t, list, 3)
			for _, m := range list {
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

// TestMemoryIsSharedByManyExecutions: eight goroutines read one buffer and write their own, while others allocate,
// import and close, and the collector runs.
func TestMemoryIsSharedByManyExecutions(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openBackend(t, selector, Options{})
			p := compileGraph(t, b, filter)
			x := tensor{nn.TensorFloat32, nn.Dims{5, 3}}
			rng := rand.New(rand.NewPCG(7, 7))
			state, input := x.random(rng), x.random(rng)
			want := p.host(t, [][]byte{state, input})
			s, in := allocate(t, b, x), allocate(t, b, x)
			require.NoError(t, s.Write(t.Context(), state))
			require.NoError(t, in.Write(t.Context(), input))
			pool := pages(t, 8*4096)
			stop := make(chan struct{})
			var collector sync.WaitGroup
			collector.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						runtime.GC()
					}
				}
			})
			var wg sync.WaitGroup
			errs := make([]error, 8)
			for g := range errs {
				wg.Go(func() {
					for k := range 25 {
						if errs[g] = shareOnce(b, p, x, s, in, pool[4096*g:4096*(g+1)], want, k); errs[g] != nil {
							return
						}
					}
				})
			}
			wg.Wait()
			close(stop)
			collector.Wait()
			for _, err := range errs {
				require.NoError(t, err)
			}
		})
	}
}

func shareOnce(b *Backend, p *program, x tensor, s, in backend.Memory, page []byte, want [][]byte, k int) error {
	ctx := context.Background()
	out, err := b.Allocate(x.kind, x.dims, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	shared, err := b.Import(page, false)
	if err != nil {
		return err
	}
	defer shared.Close()
	at := int64(256 * (k % 8))
	if _, err := p.execute(ctx, []backend.Binding{{Memory: s}, {Memory: in}}, []backend.Binding{{Memory: out}, {Memory: shared, Offset: at}}); err != nil {
		return err
	}
	got := make([]byte, x.bytes())
	if err := out.Read(ctx, got); err != nil {
		return err
	}
	if !bytes.Equal(got, want[0]) || !bytes.Equal(page[at:at+int64(len(got))], want[1]) {
		return fmt.Errorf("round %d gives another result", k)
	}
	return nil
}
