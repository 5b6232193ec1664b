package nn

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBuilderNumbersOperandsInOrder(t *testing.T) {
	var b Builder
	x := b.Input(TensorQuant8Asymm, Dims{2, 3}, 0.5, 7)
	w := b.PerChannel(Dims{2, 3}, []float32{1, 2}, 0, []byte{1, 2, 3, 4, 5, 6})
	y := b.Temp(TensorQuant8Asymm, Dims{2, 2}, 0.25, 1)
	b.Op(OpFullyConnected, []uint32{x, w}, []uint32{y})
	b.Output(y)
	b.Relax()
	m, err := b.Build()
	require.NoError(t, err)
	require.Equal(t, []uint32{0, 1, 2}, []uint32{x, w, y})
	require.Equal(t, []uint32{x}, m.Main.Inputs)
	require.Equal(t, []uint32{y}, m.Main.Outputs)
	require.Equal(t, Operand{Type: TensorQuant8Asymm, Dims: Dims{2, 3}, Scale: 0.5, ZeroPoint: 7, Lifetime: SubgraphInput}, m.Main.Operands[x])
	require.Equal(t, Operand{Type: TensorQuant8Asymm, Dims: Dims{2, 2}, Scale: 0.25, ZeroPoint: 1, Lifetime: SubgraphOutput}, m.Main.Operands[y])
	require.Equal(t, &ChannelQuant{Scales: []float32{1, 2}}, m.Main.Operands[w].Channel)
	require.Equal(t, []Operation{{Type: OpFullyConnected, Inputs: []uint32{x, w}, Outputs: []uint32{y}}}, m.Main.Operations)
	require.True(t, m.RelaxFloat32)
}

func TestBuilderNames(t *testing.T) {
	var b Builder
	b.Input(TensorFloat32, Dims{1}, 0, 0)
	x := b.Input(TensorFloat32, Dims{1}, 0, 0)
	b.Input(TensorFloat32, Dims{1}, 0, 0)
	y, z := b.Temp(TensorFloat32, Dims{1}, 0, 0), b.Temp(TensorFloat32, Dims{1}, 0, 0)
	b.Output(z)
	b.Output(y)
	b.Name(y, "x") // as an input
	b.Name(x, "a")
	b.Name(x, "x")
	b.Name(x, "x")
	m, err := b.Build()
	require.NoError(t, err)
	require.Equal(t, Names{Inputs: []string{"", "x"}, Outputs: []string{"", "x"}}, m.Names)
}

func TestBuilderConstants(t *testing.T) {
	var b Builder
	for _, tc := range []struct {
		name string
		add  func() uint32
		t    OperandType
		dims Dims
		want []byte
	}{
		{"bool", func() uint32 { return b.Scalar(true) }, Bool, nil, []byte{1}},
		{"false", func() uint32 { return b.Scalar(false) }, Bool, nil, []byte{0}},
		{"int", func() uint32 { return b.Scalar(-2) }, Int32, nil, []byte{0xfe, 0xff, 0xff, 0xff}},
		{"int32", func() uint32 { return b.Scalar(int32(258)) }, Int32, nil, []byte{2, 1, 0, 0}},
		{"float32", func() uint32 { return b.Scalar(float32(1)) }, Float32, nil, []byte{0, 0, 0x80, 0x3f}},
		{"float64", func() uint32 { return b.Scalar(-2.0) }, Float32, nil, []byte{0, 0, 0, 0xc0}},
		{"int8", func() uint32 { return b.Scalar(int8(-1)) }, Int32, nil, []byte{255, 255, 255, 255}},
		{"int16", func() uint32 { return b.Scalar(int16(258)) }, Int32, nil, []byte{2, 1, 0, 0}},
		{"int64", func() uint32 { return b.Scalar(int64(math.MinInt32)) }, Int32, nil, []byte{0, 0, 0, 0x80}},
		{"uint8", func() uint32 { return b.Scalar(uint8(255)) }, Uint32, nil, []byte{255, 0, 0, 0}},
		{"uint16", func() uint32 { return b.Scalar(uint16(258)) }, Uint32, nil, []byte{2, 1, 0, 0}},
		{"uint32", func() uint32 { return b.Scalar(uint32(math.MaxUint32)) }, Uint32, nil, []byte{255, 255, 255, 255}},
		{"uint64", func() uint32 { return b.Scalar(uint64(1)) }, Uint32, nil, []byte{1, 0, 0, 0}},
		{"uint", func() uint32 { return b.Scalar(uint(2)) }, Uint32, nil, []byte{2, 0, 0, 0}},
		{"half", func() uint32 { return b.Scalar(HalfOf(-1.5)) }, Float16, nil, []byte{0, 0xbe}},
		{"activation", func() uint32 { return b.Scalar(ActRelu6) }, Int32, nil, []byte{3, 0, 0, 0}},
		{"padding scheme", func() uint32 { return b.Scalar(PaddingValid) }, Int32, nil, []byte{2, 0, 0, 0}},
		{"operand type", func() uint32 { return b.Scalar(TensorQuant8AsymmSigned) }, Int32, nil, []byte{14, 0, 0, 0}},
		{"named bool", func() uint32 { return b.Scalar(named(true)) }, Bool, nil, []byte{1}},
		{"infinity", func() uint32 { return b.Scalar(math.Inf(1)) }, Float32, nil, []byte{0, 0, 0x80, 0x7f}},
		{"floats", func() uint32 { return b.Floats(Dims{2}, 1, -2) }, TensorFloat32, Dims{2}, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}},
		{"ints", func() uint32 { return b.Ints(Dims{1, 2}, 1, -1) }, TensorInt32, Dims{1, 2}, []byte{1, 0, 0, 0, 255, 255, 255, 255}},
		{"bytes", func() uint32 { return b.Const(TensorQuant8Symm, Dims{3}, 1, 0, []byte{1, 2, 3}) }, TensorQuant8Symm, Dims{3}, []byte{1, 2, 3}},
		{"nothing", func() uint32 { return b.Ints(Dims{0}) }, TensorInt32, Dims{0}, []byte{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b = Builder{}
			b.Const(TensorQuant8Symm, Dims{1}, 1, 0, []byte{7}) // an odd byte before it
			i := tc.add()
			m, err := b.Build()
			require.NoError(t, err)
			o := &m.Main.Operands[i]
			require.Equal(t, tc.t, o.Type)
			require.Equal(t, tc.dims, o.Dims)
			require.Equal(t, ConstantCopy, o.Lifetime)
			require.Zero(t, o.Location.Offset%4)
			v, err := m.Value(o)
			require.NoError(t, err)
			require.Equal(t, tc.want, v)
		})
	}
}

func TestBuilderCopiesValues(t *testing.T) {
	var b Builder
	value := []byte{1, 2, 3}
	i := b.Const(TensorQuant8Symm, Dims{3}, 1, 0, value)
	value[0] = 9
	m, err := b.Build()
	require.NoError(t, err)
	v, err := m.Value(&m.Main.Operands[i])
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2, 3}, v)
}

type named bool

// place is the position of its caller's line.
func place() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

// TestBuilderMistakes: the first mistake is kept with its place and handed out; none panics.
func TestBuilderMistakes(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		do         func(b *Builder) (at string)
	}{
		{"scalar of a string", "Scalar: there is no scalar operand for a string", func(b *Builder) string { b.Scalar("1"); return place() }},
		{"scalar of nil", "Scalar: there is no scalar operand for a <nil>", func(b *Builder) string { b.Scalar(nil); return place() }},
		{"large int", "Scalar: 2147483648 does not fit into an INT32", func(b *Builder) string { b.Scalar(math.MaxInt32 + 1); return place() }},
		{"large unsigned", "Scalar: 4294967296 does not fit into a UINT32", func(b *Builder) string { b.Scalar(uint64(1 << 32)); return place() }},
		{"large float", "Scalar: 1e+300 does not fit into a FLOAT32", func(b *Builder) string { b.Scalar(1e300); return place() }},
		{"name of no operand", "Name: operand 99 of 2", func(b *Builder) string { b.Name(99, "x"); return place() }},
		{"name of what is neither", "Name: operand 1 is neither an input nor an output", func(b *Builder) string { b.Name(1, "x"); return place() }},
		{"empty name", `Name: operand 0 cannot be called ""`, func(b *Builder) string { b.Name(0, ""); return place() }},
		{"name of another", `Name: operand 0 cannot be called "x"`, func(b *Builder) string { b.Name(b.Input(Int32, nil, 0, 0), "x"); b.Name(0, "x"); return place() }},
		{"no such output", "Output: operand 99 of 2", func(b *Builder) string { b.Output(99); return place() }},
		{"input as output", "Output: operand 0 has lifetime SUBGRAPH_INPUT", func(b *Builder) string { b.Output(0); return place() }},
		{"output twice", "Output: operand 1 is an output already", func(b *Builder) string { b.Output(1); b.Output(1); return place() }},
		{"operation of no operand", "Op: operand 7 of 2", func(b *Builder) string { b.Op(OpRelu, []uint32{7}, []uint32{1}); return place() }},
		{"operation to no operand", "Op: operand 7 of 2", func(b *Builder) string { b.Op(OpRelu, []uint32{0}, []uint32{7}); return place() }},
		{"short floats", "Floats: a value of 4 bytes; TENSOR_FLOAT32[2] has 8", func(b *Builder) string { b.Floats(Dims{2}, 1); return place() }},
		{"long ints", "Ints: a value of 8 bytes; TENSOR_INT32[1] has 4", func(b *Builder) string { b.Ints(Dims{1}, 1, 2); return place() }},
		{"short constant", "Const: a value of 1 bytes", func(b *Builder) string { b.Const(TensorFloat32, Dims{1}, 0, 0, []byte{1}); return place() }},
		{"short filter", "PerChannel: a value of 1 bytes", func(b *Builder) string { b.PerChannel(Dims{2}, []float32{1, 1}, 0, []byte{1}); return place() }},
		{"huge constant", "Floats: dimensions", func(b *Builder) string { b.Floats(Dims{1 << 20, 1 << 20}); return place() }},
		{"no pool", "Pool: there is no memory", func(b *Builder) string { b.Pool(nil); return place() }},
		{"no such pool", "Reference: pool 1 of 0", func(b *Builder) string { b.Reference(TensorFloat32, nil, 0, 0, Location{PoolIndex: 1}); return place() }},
		{"no such operand", "Operand: operand 5 of 2", func(b *Builder) string { b.Operand(5); return place() }},
		{"by a method value", "Temp: after Build", func(b *Builder) string {
			_, err := b.Build()
			require.NoError(t, err)
			add := b.Temp
			add(TensorFloat32, nil, 0, 0)
			return ""
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b Builder
			x := b.Input(TensorFloat32, Dims{2}, 0, 0)
			y := b.Temp(TensorFloat32, Dims{2}, 0, 0)
			b.Op(OpRelu, []uint32{x}, []uint32{y})
			at := tc.do(&b)
			b.Output(1234) // a later mistake counts for nothing
			m, err := b.Build()
			require.Nil(t, m)
			require.Equal(t, StatusInvalidArgument, StatusOf(err))
			require.True(t, strings.HasPrefix(err.Error(), at), "%v, made at %s", err, at)
			require.ErrorContains(t, err, "nn.Builder."+tc.want)
			require.Regexp(t, `^builder_test\.go:\d+: `, err.Error())
			_, again := b.Build()
			require.Equal(t, err, again)
		})
	}
}

// TestBuilderAfterBuild: a finished model stays as it is, and calls after it are mistakes.
func TestBuilderAfterBuild(t *testing.T) {
	for name, call := range map[string]func(b *Builder){
		"Input": func(b *Builder) { b.Input(TensorFloat32, nil, 0, 0) }, "Temp": func(b *Builder) { b.Temp(TensorFloat32, nil, 0, 0) },
		"Omitted": func(b *Builder) { b.Omitted(TensorInt32) }, "Output": func(b *Builder) { b.Output(1) },
		"Const": func(b *Builder) { b.Const(TensorQuant8Asymm, Dims{1}, 1, 0, []byte{1}) }, "Floats": func(b *Builder) { b.Floats(Dims{1}, 1) },
		"Ints": func(b *Builder) { b.Ints(Dims{1}, 1) }, "Scalar": func(b *Builder) { b.Scalar(1) },
		"PerChannel": func(b *Builder) { b.PerChannel(Dims{1}, []float32{1}, 0, []byte{1}) },
		"Pool":       func(b *Builder) { b.Pool(HostMemory{1}) }, "Op": func(b *Builder) { b.Op(OpRelu, []uint32{0}, []uint32{1}) },
		"Reference": func(b *Builder) { b.Reference(TensorFloat32, nil, 0, 0, Location{}) },
		"Relax":     func(b *Builder) { b.Relax() }, "Name": func(b *Builder) { b.Name(0, "x") }, "Operand": func(b *Builder) { b.Operand(0) },
		"Build": func(b *Builder) { _, _ = b.Build() },
	} {
		t.Run(name, func(t *testing.T) {
			var b Builder
			x := b.Input(TensorFloat32, Dims{2}, 0, 0)
			y := b.Temp(TensorFloat32, Dims{2}, 0, 0)
			b.Op(OpRelu, []uint32{x}, []uint32{y})
			m, err := b.Build()
			require.NoError(t, err)
			before := fmt.Sprintf("%+v", m)
			call(&b)
			require.Equal(t, before, fmt.Sprintf("%+v", m))
			m, err = b.Build()
			require.Nil(t, m)
			require.ErrorContains(t, err, name+": after Build")
		})
	}
}
