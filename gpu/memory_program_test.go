package gpu

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
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
	inputs, outputs = whole(inputs, p.in), whole(outputs, p.out)
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

// whole returns list with the lengths of the tensors where it names memory and no length.
func whole(list []backend.Binding, tensors []tensor) []backend.Binding {
	short := func(b backend.Binding) bool { return b.Memory != nil && b.Length == 0 }
	if !slices.ContainsFunc(list, short) {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		if short(list[i]) {
			list[i].Length = int64(tensors[i].bytes())
		}
	}
	return list
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
func compileGraph(t testing.TB, b *Backend, text string) *program {
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
	made, weights, err := compile.Graph(t.Context(), &b.facts, g, nil)
	require.NoError(t, err)
	x, err := vulkan.NewExecutableFrom(t.Context(), b.device, made, weights, vulkan.ExecutableOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	p.x = x
	return p
}

func allocate(t testing.TB, b *Backend, x tensor) backend.Memory {
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
