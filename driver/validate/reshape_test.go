package validate_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// fixedNetwork is a network for one picture of 8x8x2: a pool, a RESHAPE to shape, which is y, and a sum with itself.
func fixedNetwork(t *testing.T, y nn.Dims, shape ...int32) *nn.Model {
	t.Helper()
	var b nn.Builder
	in := b.Input(nn.TensorFloat32, nn.Dims{1, 8, 8, 2}, 0, 0)
	pool, flat, sum := b.Temp(nn.TensorFloat32, nn.Dims{1, 4, 4, 2}, 0, 0), b.Temp(nn.TensorFloat32, y, 0, 0), b.Temp(nn.TensorFloat32, y, 0, 0)
	two, none := b.Scalar(2), b.Scalar(0)
	b.Op(nn.OpMaxPool2D, []uint32{in, b.Scalar(nn.PaddingValid), two, two, two, two, none}, []uint32{pool})
	b.Op(nn.OpReshape, []uint32{pool, b.Ints(nn.Dims{uint32(len(shape))}, shape...)}, []uint32{flat})
	b.Op(nn.OpAdd, []uint32{flat, flat, none}, []uint32{sum})
	b.Output(sum)
	m, err := b.Build()
	require.NoError(t, err)
	require.NoError(t, validate.Model(m))
	return m
}

func TestReshape(t *testing.T) {
	for name, tc := range map[string]struct {
		shape []int32 // of the RESHAPE
		y     nn.Dims // its result in the file
		given nn.Dims
		want  nn.Dims // its result
		err   string
	}{
		"as it is":                    {[]int32{1, 32}, nn.Dims{1, 32}, nil, nn.Dims{1, 32}, ""},
		"batch":                       {[]int32{1, 32}, nn.Dims{1, 32}, nn.Dims{17, 8, 8, 2}, nn.Dims{17, 32}, ""},
		"batch, the rest is open":     {[]int32{1, -1}, nn.Dims{1, 32}, nn.Dims{3, 8, 8, 2}, nn.Dims{3, 32}, ""},
		"the batch is open":           {[]int32{-1, 32}, nn.Dims{1, 32}, nn.Dims{3, 8, 8, 2}, nn.Dims{3, 32}, ""},
		"size, the rest is open":      {[]int32{1, -1}, nn.Dims{1, 32}, nn.Dims{1, 13, 7, 2}, nn.Dims{1, 36}, ""},
		"size that makes no picture":  {[]int32{1, 32}, nn.Dims{1, 32}, nn.Dims{1, 16, 16, 2}, nil, "operation 1 (RESHAPE)"},
		"never a batch of its pieces": {[]int32{1, 4, 8}, nn.Dims{1, 4, 8}, nn.Dims{1, 16, 8, 2}, nil, "operation 1 (RESHAPE)"},
		"a batch that is mixed":       {[]int32{4, 8}, nn.Dims{4, 8}, nn.Dims{2, 8, 8, 2}, nil, "operation 1 (RESHAPE)"},
		"rank":                        {[]int32{1, 32}, nn.Dims{1, 32}, nn.Dims{8, 8, 2}, nil, "operation 0 (MAX_POOL_2D)"},
		"too small":                   {[]int32{1, -1}, nn.Dims{1, 32}, nn.Dims{1, 1, 8, 2}, nil, "operation 0 (MAX_POOL_2D)"},
		"open":                        {[]int32{1, 32}, nn.Dims{1, 32}, nn.Dims{0, 8, 8, 2}, nil, "input 0"},
		"too large":                   {[]int32{1, -1}, nn.Dims{1, 32}, nn.Dims{1 << 16, 1 << 15, 8, 2}, nil, "INVALID_ARGUMENT"},
	} {
		t.Run(name, func(t *testing.T) {
			m := fixedNetwork(t, tc.y, tc.shape...)
			before := clone(m)
			got, err := validate.Reshape(m, []nn.Dims{tc.given})
			require.Equal(t, before, clone(m), "m is only read")
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
				return
			}
			require.NoError(t, err)
			require.NoError(t, validate.Model(got))
			require.Equal(t, tc.want, got.Main.Operands[got.Main.Operations[1].Outputs[0]].Dims)
			require.Equal(t, tc.want, got.Main.Operands[got.Main.Outputs[0]].Dims)
		})
	}
}

// TestReshapeTwice: shapes of one network do not get into another of the same file.
func TestReshapeTwice(t *testing.T) {
	m := fixedNetwork(t, nn.Dims{1, 32}, 1, 32)
	three, err := validate.Reshape(m, []nn.Dims{{3, 8, 8, 2}})
	require.NoError(t, err)
	seven, err := validate.Reshape(three, []nn.Dims{{7, 8, 8, 2}})
	require.NoError(t, err)
	require.NoError(t, validate.Model(three))
	require.Equal(t, nn.Dims{3, 32}, three.Main.Operands[three.Main.Outputs[0]].Dims)
	require.Equal(t, nn.Dims{7, 32}, seven.Main.Operands[seven.Main.Outputs[0]].Dims)

	_, err = validate.Reshape(m, nil)
	require.ErrorContains(t, err, "inputs")
}

// FuzzReshape: whatever the model and the dimensions, nothing panics, and what comes out is a model.
func FuzzReshape(f *testing.F) {
	f.Add([]byte{}, []byte{1, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0})
	for t := range byte(110) { // each operation
		f.Add([]byte{10, 0, 0, t, 0, 0, 0, 13, 0, 0, 0, 0, 0, 0, 10, 1, 0, t, 0, 0, 0}, []byte{2, 0, 0, 0, 3, 0, 0, 0})
	}
	f.Fuzz(func(t *testing.T, data, given []byte) {
		if len(data) > 7*64 || len(given) > 4*80 {
			return
		}
		m := baseModel()
		damage(m, data)
		if validate.Model(m) != nil {
			return
		}
		dims := make([]nn.Dims, len(m.Main.Inputs))
		for i := range dims {
			for ; len(given) >= 4 && len(dims[i]) < 5; given = given[4:] {
				dims[i] = append(dims[i], binary.LittleEndian.Uint32(given))
			}
		}
		values := slices.Clone(m.Values)
		got, err := validate.Reshape(m, dims)
		if !slices.Equal(values, m.Values) {
			t.Fatal("the model was changed")
		}
		if err != nil {
			if s := nn.StatusOf(err); s != nn.StatusInvalidArgument && !errors.Is(err, nn.ErrUnsupported) {
				t.Fatalf("status %v: %v", s, err)
			}
			if !strings.Contains(err.Error(), "input ") && !strings.Contains(err.Error(), "opera") { // operand or operation
				t.Fatalf("names nothing: %v", err)
			}
			return
		}
		if err := validate.Model(got); err != nil {
			t.Fatalf("no model any more: %v", err)
		}
	})
}
