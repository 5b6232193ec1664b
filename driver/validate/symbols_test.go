package validate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// TestOpenContradictions are found before any dimension is given; what some dimensions fit is left alone.
func TestOpenContradictions(t *testing.T) {
	type d = nn.Dims
	f32 := nn.TensorFloat32
	relu := func(x, y d) func(*nn.Builder) {
		return func(b *nn.Builder) {
			out := b.Temp(f32, y, 0, 0)
			b.Op(nn.OpRelu, []uint32{b.Input(f32, x, 0, 0)}, []uint32{out})
			b.Output(out)
		}
	}
	add := func(x, y, z d) func(*nn.Builder) {
		return func(b *nn.Builder) {
			out := b.Temp(f32, z, 0, 0)
			b.Op(nn.OpAdd, []uint32{b.Input(f32, x, 0, 0), b.Input(f32, y, 0, 0), b.Scalar(0)}, []uint32{out})
			b.Output(out)
		}
	}
	// conv is a convolution of 3 to 5 channels, with rest behind it.
	conv := func(x, y d, rest ...func(b *nn.Builder, x, y uint32)) func(*nn.Builder) {
		return func(b *nn.Builder) {
			in, out, one := b.Input(f32, x, 0, 0), b.Temp(f32, y, 0, 0), b.Scalar(1)
			b.Op(nn.OpConv2D, []uint32{in, b.Floats(d{5, 3, 3, 3}, make([]float32, 135)...), b.Floats(d{5}, make([]float32, 5)...),
				b.Scalar(nn.PaddingSame), one, one, b.Scalar(0)}, []uint32{out})
			for _, f := range rest {
				f(b, in, out)
			}
			b.Output(out)
		}
	}
	alsoAdd := func(b *nn.Builder, x, y uint32) {
		out := b.Temp(f32, nil, 0, 0)
		b.Op(nn.OpAdd, []uint32{x, y, b.Scalar(0)}, []uint32{out})
		b.Output(out)
	}
	fully := func(x d, y d) func(*nn.Builder) {
		return func(b *nn.Builder) {
			out := b.Temp(f32, y, 0, 0)
			b.Op(nn.OpFullyConnected, []uint32{b.Input(f32, x, 0, 0), b.Floats(d{7, 5}, make([]float32, 35)...), b.Floats(d{7}, make([]float32, 7)...), b.Scalar(0)}, []uint32{out})
			b.Output(out)
		}
	}
	concat := func(x, y, z d, axis int) func(*nn.Builder) {
		return func(b *nn.Builder) {
			out := b.Temp(f32, z, 0, 0)
			b.Op(nn.OpConcatenation, []uint32{b.Input(f32, x, 0, 0), b.Input(f32, y, 0, 0), b.Scalar(axis)}, []uint32{out})
			b.Output(out)
		}
	}
	transpose := func(x, y d) func(*nn.Builder) {
		return func(b *nn.Builder) {
			out := b.Temp(f32, y, 0, 0)
			b.Op(nn.OpTranspose, []uint32{b.Input(f32, x, 0, 0), b.Ints(d{3}, 2, 0, 1)}, []uint32{out})
			b.Output(out)
		}
	}
	for name, tc := range map[string]struct {
		build func(*nn.Builder)
		err   string // "": it is left alone
	}{
		"same":                         {relu(d{0, 3}, d{7, 0}), ""},
		"another size":                 {relu(d{0, 3}, d{0, 4}), "operation 0 (RELU): INVALID_ARGUMENT: whatever"},
		"another rank":                 {relu(d{0, 3}, d{0, 3, 1}), "can have no rank"},
		"unknown rank":                 {relu(nil, d{0, 4}), ""},
		"broadcast open":               {add(d{0, 3}, d{0, 1}, d{0, 3}), ""},
		"broadcast known":              {add(d{0, 3}, d{0, 4}, nil), "sizes 3 and 4"},
		"broadcast by an open one":     {add(d{0, 3}, d{0, 0}, d{0, 4}), "dimension 1 of the result"},
		"broadcast of two open ones":   {add(d{0, 0}, d{0, 0}, d{0, 4}), ""},
		"broadcast of ones":            {add(d{0, 1}, d{1}, d{0, 4}), "dimension 1 of the result"},
		"broadcast to a smaller rank":  {add(d{0, 3, 1}, nil, d{0, 3}), "rank"},
		"rank of a convolution":        {conv(d{0, 0, 3}, nil), "input 0 (input): rank 3"},
		"channels":                     {conv(d{0, 0, 0, 4}, nil), "dimension 3 of operand 0"},
		"channels of the result":       {conv(nil, d{0, 0, 0, 4}), "are to be the same"},
		"batch of the result":          {conv(d{2, 0, 0, 3}, d{3, 0, 0, 5}), "are to be the same"},
		"3 channels and 5 of the same": {conv(nil, nil, alsoAdd), "sizes 3 and 5"},
		"a good convolution":           {conv(nil, nil), ""},
		"units":                        {fully(nil, d{0, 6}), "are to be the same"},
		"rows":                         {fully(nil, d{9, 7}), ""},
		"concatenation":                {concat(d{0, 3}, d{0, 4}, d{2, 0}, -1), ""},
		"another concatenation":        {concat(d{0, 3}, d{0, 4}, nil, 0), ""},
		"concatenation of others":      {concat(d{0, 3}, d{0, 4}, d{0, 3}, 0), "are to be the same"},
		"transposition":                {transpose(d{2, 0, 0}, d{0, 2, 0}), ""},
		"another transposition":        {transpose(d{2, 0, 0}, d{0, 3, 0}), "are to be the same"},
	} {
		t.Run(name, func(t *testing.T) {
			var b nn.Builder
			tc.build(&b)
			m, err := b.Build()
			require.NoError(t, err)
			err = validate.Model(m)
			if tc.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.err)
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
		})
	}
}
