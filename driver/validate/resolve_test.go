package validate_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/internal/conformancedata"
)

// blank opens every dimension of what is no constant, the rank too where ranks is set. Scales by channel need the number of
// channels.
func blank(m *nn.Model, inputs, ranks bool) *nn.Model {
	c := clone(m)
	for i := range c.Main.Operands {
		o := &c.Main.Operands[i]
		written := o.Lifetime == nn.Temporary || o.Lifetime == nn.SubgraphOutput
		if !written && !(inputs && o.Lifetime == nn.SubgraphInput) || o.Type == nn.TensorQuant8PerChannel {
			continue
		}
		if o.Dims = make(nn.Dims, len(o.Dims)); ranks {
			o.Dims = nil
		}
	}
	return c
}

// inputDims are the dimensions that m states of its inputs.
func inputDims(m *nn.Model) []nn.Dims {
	var list []nn.Dims
	for _, i := range m.Main.Inputs {
		list = append(list, m.Main.Operands[i].Dims)
	}
	return list
}

// openNetwork is a small network of which nothing is known but the weights: a convolution of 3 channels with stride 2 and
// SAME padding, a pool, the mean of each channel, a matrix of 5 channels.
func openNetwork(t *testing.T, x nn.Dims) *nn.Model {
	t.Helper()
	var b nn.Builder
	open := func() uint32 { return b.Temp(nn.TensorFloat32, nil, 0, 0) }
	in := b.Input(nn.TensorFloat32, x, 0, 0)
	conv, pool, mean, y := open(), open(), open(), open()
	one, two, same, none := b.Scalar(1), b.Scalar(2), b.Scalar(nn.PaddingSame), b.Scalar(0)
	filter, bias := b.Floats(nn.Dims{5, 3, 3, 3}, make([]float32, 135)...), b.Floats(nn.Dims{5}, make([]float32, 5)...)
	b.Op(nn.OpConv2D, []uint32{in, filter, bias, same, two, two, none}, []uint32{conv})
	b.Op(nn.OpMaxPool2D, []uint32{conv, b.Scalar(nn.PaddingValid), one, one, two, two, none}, []uint32{pool})
	b.Op(nn.OpMean, []uint32{pool, b.Ints(nn.Dims{2}, 1, 2), none}, []uint32{mean})
	b.Op(nn.OpFullyConnected, []uint32{mean, b.Floats(nn.Dims{7, 5}, make([]float32, 35)...), b.Floats(nn.Dims{7}, make([]float32, 7)...), none}, []uint32{y})
	b.Output(y)
	m, err := b.Build()
	require.NoError(t, err)
	require.NoError(t, validate.Model(m))
	require.Equal(t, !x.Known() || len(x) == 0, validate.Open(m))
	return m
}

func TestResolve(t *testing.T) {
	for name, tc := range map[string]struct {
		stated, given nn.Dims
		sizes         []nn.Dims // of convolution, pool, mean and result
		err           string
	}{
		"rank":             {nil, nn.Dims{1, 13, 7, 3}, []nn.Dims{{1, 7, 4, 5}, {1, 6, 3, 5}, {1, 5}, {1, 7}}, ""},
		"all sizes":        {nn.Dims{0, 0, 0, 0}, nn.Dims{41, 113, 89, 3}, []nn.Dims{{41, 57, 45, 5}, {41, 56, 44, 5}, {41, 5}, {41, 7}}, ""},
		"batch":            {nn.Dims{0, 224, 224, 3}, nn.Dims{17, 0, 0, 0}, []nn.Dims{{17, 112, 112, 5}, {17, 111, 111, 5}, {17, 5}, {17, 7}}, ""},
		"nothing is open":  {nn.Dims{1, 4, 4, 3}, nil, []nn.Dims{{1, 2, 2, 5}, {1, 1, 1, 5}, {1, 5}, {1, 7}}, ""},
		"other channels":   {nn.Dims{0, 0, 0, 0}, nn.Dims{1, 8, 8, 4}, nil, "operation 0 (CONV_2D): INVALID_ARGUMENT: input has 4 channels"},
		"too small":        {nil, nn.Dims{1, 2, 2, 3}, nil, "operation 1 (MAX_POOL_2D): INVALID_ARGUMENT"},
		"another rank":     {nil, nn.Dims{8, 8, 3}, nil, "operation 0 (CONV_2D): INVALID_ARGUMENT: input 0 (input): rank 3"},
		"a known size":     {nn.Dims{0, 8, 8, 3}, nn.Dims{1, 9, 8, 3}, nil, "input 0: INVALID_ARGUMENT: dimensions [1 9 8 3] for the model's [0 8 8 3]"},
		"a known rank":     {nn.Dims{0, 8, 8, 3}, nn.Dims{1, 1, 8, 8, 3}, nil, "input 0: INVALID_ARGUMENT"},
		"still open":       {nn.Dims{0, 8, 8, 3}, nil, nil, "operation 0 (CONV_2D): INVALID_ARGUMENT: input 0: input dimensions are not known"},
		"half open":        {nn.Dims{0, 0, 8, 3}, nn.Dims{1, 0, 8, 3}, nil, "operation 0 (CONV_2D): INVALID_ARGUMENT"},
		"more than a byte": {nil, nn.Dims{1, 1 << 16, 1 << 16, 3}, nil, "input 0: INVALID_ARGUMENT"},
		"larger results":   {nil, nn.Dims{1, 1 << 14, 1 << 14, 3}, []nn.Dims{{1, 1 << 13, 1 << 13, 5}, {1, 1<<13 - 1, 1<<13 - 1, 5}, {1, 5}, {1, 7}}, ""},
		"overflow":         {nil, nn.Dims{1 << 31, 1 << 31, 1 << 31, 1 << 31}, nil, "input 0: INVALID_ARGUMENT"},
		"a million ranks":  {nil, slices.Repeat(nn.Dims{1}, 1<<20), nil, "operation 0 (CONV_2D): INVALID_ARGUMENT: input 0 (input): rank 1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			m := openNetwork(t, tc.stated)
			before := clone(m)
			got, err := validate.Resolve(m, []nn.Dims{tc.given})
			require.Equal(t, before.Main, m.Main, "it only reads")
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				require.Nil(t, got)
				require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
				return
			}
			require.NoError(t, err)
			require.NoError(t, validate.Model(got))
			require.False(t, validate.Open(got))
			var sizes []nn.Dims
			for _, op := range got.Main.Operations {
				sizes = append(sizes, got.Main.Operands[op.Outputs[0]].Dims)
			}
			require.Equal(t, tc.sizes, sizes)
			require.Same(t, &m.Values[0], &got.Values[0], "constants are shared")
		})
	}
	_, err := validate.Resolve(openNetwork(t, nil), nil)
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
}

// TestResolveKeepsToTheModel: what it states of results must come out, and results may not be larger than a buffer can be.
func TestResolveKeepsToTheModel(t *testing.T) {
	var b layers.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{2, 3}, 0, 0)
	y := b.Input(nn.TensorFloat32, nn.Dims{2, 1}, 0, 0)
	sum := b.Add(x, y, nn.ActNone)
	b.Output(sum)
	m, err := b.Build()
	require.NoError(t, err)
	at := func(dims nn.Dims) *nn.Model {
		c := blank(m, true, false)
		c.Main.Operands[sum].Dims = dims
		require.NoError(t, validate.Model(c))
		return c
	}
	_, err = validate.Resolve(at(nn.Dims{0, 3}), []nn.Dims{{2, 3}, {2, 1}})
	require.NoError(t, err)
	_, err = validate.Resolve(at(nn.Dims{0, 4}), []nn.Dims{{2, 3}, {2, 1}})
	require.ErrorContains(t, err, "operation 0 (ADD): INVALID_ARGUMENT: output 0")
	_, err = validate.Resolve(at(nil), []nn.Dims{{2, 3}, {3, 1}})
	require.ErrorContains(t, err, "cannot be broadcast")
	_, err = validate.Resolve(at(nil), []nn.Dims{{1 << 16, 1}, {1, 1 << 16}})
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "16 GiB: %v", err)
}

// TestResolveLeavesOpenWhatOnlyTheDataTells: a shape that is given at run time, an operation that the table lacks, and what
// follows from them; what the model says of them stays.
func TestResolveLeavesOpenWhatOnlyTheDataTells(t *testing.T) {
	for name, op := range map[string]nn.OperationType{"shape from data": nn.OpReshape, "another operation": nn.OpOemOperation} {
		var b nn.Builder
		x := b.Input(nn.TensorFloat32, nil, 0, 0)
		shape := b.Input(nn.TensorInt32, nn.Dims{2}, 0, 0)
		y, z, w := b.Temp(nn.TensorFloat32, nil, 0, 0), b.Temp(nn.TensorFloat32, nil, 0, 0), b.Temp(nn.TensorFloat32, nil, 0, 0)
		b.Op(op, []uint32{x, shape}, []uint32{y})
		b.Op(nn.OpRelu, []uint32{y}, []uint32{z})
		b.Op(nn.OpRelu, []uint32{x}, []uint32{w})
		b.Output(z)
		b.Output(w)
		m, err := b.Build()
		require.NoError(t, err, name)
		require.NoError(t, validate.Model(m), name)
		got, err := validate.Resolve(m, []nn.Dims{{6}, nil})
		require.NoError(t, err, name)
		require.NoError(t, validate.Model(got), name)
		require.False(t, validate.Open(got), name)
		require.Empty(t, got.Main.Operands[y].Dims, name)
		require.Empty(t, got.Main.Operands[z].Dims, name)
		require.Equal(t, nn.Dims{6}, got.Main.Operands[w].Dims, name)
		m.Main.Operands[y].Dims = nn.Dims{2, 3}
		got, err = validate.Resolve(m, []nn.Dims{{6}, nil})
		require.NoError(t, err, "%s: the model says it", name)
		require.Equal(t, nn.Dims{2, 3}, got.Main.Operands[y].Dims)
		require.Equal(t, nn.Dims{2, 3}, got.Main.Operands[z].Dims)
	}
}

// TestResolveOptionalInput: a tensor that may be left off is there where it has dimensions.
func TestResolveOptionalInput(t *testing.T) {
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, nil, 0, 0)
	perm := b.Input(nn.TensorInt32, nil, 0, 0)
	y := b.Temp(nn.TensorFloat32, nil, 0, 0)
	b.Op(nn.OpRelu, []uint32{x}, []uint32{y})
	b.Output(y)
	m, err := b.Build()
	require.NoError(t, err)
	got, err := validate.Resolve(m, []nn.Dims{{3, 5}, nil})
	require.NoError(t, err)
	require.Empty(t, got.Main.Operands[perm].Dims, "nobody reads it")
	require.False(t, validate.Open(got))
}

// resolveAgain blanks what the case states of everything but constants, and requires Resolve to find it again from the
// inputs. It returns false for a model whose sizes depend on data.
func resolveAgain(t *testing.T, c *conformancedata.Case) bool {
	m, dims := c.Model, inputDims(c.Model)
	for i := range dims {
		if c.Inputs[i] == nil {
			dims[i] = nil
		}
	}
	if same, err := validate.Reshape(m, dims); err == nil {
		for i := range m.Main.Operands {
			if have, want := same.Main.Operands[i].Dims, m.Main.Operands[i].Dims; !have.Equal(want) {
				t.Errorf("%s, as it was: operand %d: %v, stated %v", c.Name, i, have, want)
			}
		}
	} else if !errors.Is(err, nn.ErrUnsupported) {
		t.Errorf("%s, as it was: %v", c.Name, err)
	}
	for _, ranks := range []bool{false, true} {
		for _, inputs := range []bool{false, true} {
			open := blank(m, inputs, ranks)
			for k, i := range m.Main.Inputs {
				if c.Inputs[k] == nil {
					open.Main.Operands[i].Dims = m.Main.Operands[i].Dims
				}
			}
			what := fmt.Sprintf("%s, inputs blanked: %v, ranks: %v", c.Name, inputs, ranks)
			if err := validate.Model(open); err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			got, err := validate.Resolve(open, dims)
			data := false
			for i := range open.Main.Operations {
				data = data || validate.NeedsData(open, i) != nil
			}
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			left := false
			for i := range got.Main.Operands {
				o := &got.Main.Operands[i]
				have, want := o.Dims, m.Main.Operands[i].Dims
				if leftOff := slices.Index(m.Main.Inputs, uint32(i)); leftOff >= 0 && c.Inputs[leftOff] == nil && !isKnown(o) {
					continue
				}
				if data && !isKnown(o) && (o.Lifetime == nn.Temporary || o.Lifetime == nn.SubgraphOutput) {
					left = true
				} else if !have.Equal(want) {
					t.Errorf("%s: operand %d: %v, stated %v", what, i, have, want)
				}
			}
			if data != left {
				t.Errorf("%s: data is needed: %v, but dimensions are open: %v", what, data, left)
			}
			if validate.Open(got) != hasOptional(got) {
				t.Errorf("%s: still open", what)
			}
			if data {
				return false
			}
		}
	}
	return true
}

// hasOptional reports whether an operation of m has an optional tensor that is an input: of the model itself, only a request
// tells whether it has a value.
func hasOptional(m *nn.Model) bool {
	return slices.ContainsFunc(m.Main.Operations, func(op nn.Operation) bool {
		return ops.Lookup(op.Type) != nil && (&ops.Call{Model: m, Graph: &m.Main, Op: &op, Unbound: true}).Undecided() != nil
	})
}

func isKnown(o *nn.Operand) bool { return o.Dims.Known() && (len(o.Dims) > 0 || !o.Type.IsTensor()) }

// FuzzResolve: whatever is open and given, nothing panics and nothing that is needed stays open.
func FuzzResolve(f *testing.F) {
	f.Add([]byte{}, []byte{1, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0}, uint8(3))
	f.Add([]byte{2, 7, 2, 0, 0, 0, 0}, []byte{1, 0, 0, 0, 255, 255, 255, 255, 7, 0, 0, 0, 3, 0, 0, 0}, uint8(1))
	for t := range byte(110) { // each operation
		f.Add([]byte{10, 0, 0, t, 0, 0, 0, 13, 0, 0, 0, 0, 0, 0, 10, 1, 0, t, 0, 0, 0}, []byte{2, 0, 0, 0, 3, 0, 0, 0}, uint8(2))
	}
	f.Fuzz(func(t *testing.T, data, given []byte, open uint8) {
		if len(data) > 7*64 || len(given) > 4*80 {
			return
		}
		m := baseModel()
		damage(m, data)
		if open&1 != 0 && validate.Model(m) == nil {
			m = blank(m, open&2 != 0, open&4 != 0)
		}
		if validate.Model(m) != nil {
			return
		}
		dims := make([]nn.Dims, len(m.Main.Inputs))
		for i := range dims {
			for ; len(given) >= 4 && len(dims[i]) < 4+int(open>>4); given = given[4:] {
				dims[i] = append(dims[i], binary.LittleEndian.Uint32(given))
			}
		}
		got, err := validate.Resolve(m, dims)
		if err != nil {
			if s := nn.StatusOf(err); s != nn.StatusInvalidArgument && !errors.Is(err, nn.ErrUnsupported) {
				t.Fatalf("status %v: %v", s, err)
			}
			if !strings.Contains(err.Error(), "input ") && !strings.Contains(err.Error(), "operation ") {
				t.Fatalf("names nothing: %v", err)
			}
			return
		}
		for i, op := range got.Main.Operations {
			call := &ops.Call{Model: got, Graph: &got.Main, Op: &op}
			row := ops.Lookup(op.Type)
			follows := row != nil && validate.NeedsData(got, i) == nil && !slices.ContainsFunc(row.Tensors(call), func(k int) bool {
				o := call.In(k)
				return o != nil && !isKnown(o)
			})
			for _, y := range op.Outputs {
				o := &got.Main.Operands[y]
				if follows && !isKnown(o) {
					t.Fatalf("%v: a result has dimensions %v", op.Type, o.Dims)
				} else if _, err := o.ByteSize(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if validate.Open(got) != hasOptional(got) {
			t.Fatal("still open")
		}
		if err := validate.Model(got); err != nil {
			t.Fatalf("no model any more: %v", err)
		}
		for _, ranks := range []bool{false, true} {
			if err := validate.Model(blank(got, true, ranks)); err != nil {
				t.Fatalf("it has dimensions, but can have none: %v", err)
			}
		}
	})
}

// TestExample finds sizes for a network that only takes some, and none where there are none.
func TestExample(t *testing.T) {
	for _, x := range []nn.Dims{nil, {0, 0, 0, 0}, {0, 0, 0, 3}} {
		m := openNetwork(t, x)
		got := validate.Example(m)
		require.NotNil(t, got, "%v", x)
		require.NoError(t, validate.Model(got))
		require.False(t, validate.Open(got))
	}
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{0}, 0, 0)
	y := b.Temp(nn.TensorFloat32, nn.Dims{3, 7}, 0, 0)
	b.Op(nn.OpReshape, []uint32{x, b.Ints(nn.Dims{2}, 5, -1)}, []uint32{y})
	b.Output(y)
	m, err := b.Build()
	require.NoError(t, err)
	require.NoError(t, validate.Model(m))
	require.Nil(t, validate.Example(m))
}
