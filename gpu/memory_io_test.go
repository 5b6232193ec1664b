package gpu

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

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

// TestRecurrentModelMovesNothing: two state buffers change places a thousand times. After both orders were seen,
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
		for step := range 1000 {
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
		for range 1000 {
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
