package differential

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/tests/internal/devices"
)

// fedCase is an operation whose paddings, permutation or axes are an input of the model.
type fedCase struct {
	name    string
	op      nn.OperationType
	in, out nn.Dims
	param   nn.Dims
	values  []int32 // nil: the parameter is left off
	mode    int     // MIRROR_PAD, or MEAN's keep dims
}

var fedCases = []fedCase{
	{name: "vector", op: nn.OpPad, in: nn.Dims{5}, out: nn.Dims{9}, param: nn.Dims{1, 2}, values: []int32{3, 1}},
	{name: "nothing", op: nn.OpPad, in: nn.Dims{2, 3}, out: nn.Dims{2, 3}, param: nn.Dims{2, 2}, values: []int32{0, 0, 0, 0}},
	{name: "image", op: nn.OpPad, in: nn.Dims{1, 5, 7, 3}, out: nn.Dims{1, 8, 10, 4}, param: nn.Dims{4, 2}, values: []int32{0, 0, 2, 1, 0, 3, 1, 0}},
	{name: "prime dims", op: nn.OpPadV2, in: nn.Dims{3, 41, 37}, out: nn.Dims{5, 43, 47}, param: nn.Dims{3, 2}, values: []int32{1, 1, 0, 2, 7, 3}},
	{name: "rank 6", op: nn.OpPadV2, in: nn.Dims{2, 1, 3, 2, 2, 5}, out: nn.Dims{3, 2, 3, 4, 2, 6}, param: nn.Dims{6, 2}, values: []int32{1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1}},
	{name: "reflect", op: nn.OpMirrorPad, in: nn.Dims{3, 5}, out: nn.Dims{5, 13}, param: nn.Dims{2, 2}, values: []int32{0, 2, 4, 4}},
	{name: "symmetric", op: nn.OpMirrorPad, mode: 1, in: nn.Dims{2, 3, 7}, out: nn.Dims{6, 4, 19}, param: nn.Dims{3, 2}, values: []int32{2, 2, 0, 1, 5, 7}},
	{name: "rank 10", op: nn.OpMirrorPad, in: nn.Dims{1, 1, 2, 1, 2, 1, 3, 1, 1, 3}, out: nn.Dims{1, 1, 3, 1, 2, 1, 5, 1, 1, 6}, param: nn.Dims{10, 2},
		values: []int32{0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 2, 1}},
	{name: "matrix", op: nn.OpTranspose, in: nn.Dims{5, 7}, out: nn.Dims{7, 5}, param: nn.Dims{2}, values: []int32{1, 0}},
	{name: "left off", op: nn.OpTranspose, in: nn.Dims{5, 3, 7}, out: nn.Dims{7, 3, 5}, param: nn.Dims{3}},
	{name: "left off, of open length", op: nn.OpTranspose, in: nn.Dims{5, 3, 7}, out: nn.Dims{7, 3, 5}, param: nn.Dims{0}},
	{name: "equal sizes", op: nn.OpTranspose, in: nn.Dims{3, 3, 3}, out: nn.Dims{3, 3, 3}, param: nn.Dims{3}, values: []int32{1, 2, 0}},
	{name: "identity", op: nn.OpTranspose, in: nn.Dims{6}, out: nn.Dims{6}, param: nn.Dims{1}, values: []int32{0}},
	{name: "rank 5", op: nn.OpTranspose, in: nn.Dims{2, 3, 4, 5, 6}, out: nn.Dims{6, 3, 5, 2, 4}, param: nn.Dims{5}, values: []int32{4, 1, 3, 0, 2}},
	{name: "image", op: nn.OpMean, in: nn.Dims{2, 7, 5, 3}, out: nn.Dims{2, 3}, param: nn.Dims{2}, values: []int32{2, 1}},
	{name: "kept, from the end, named twice", op: nn.OpMean, mode: 1, in: nn.Dims{2, 5, 9}, out: nn.Dims{2, 1, 1}, param: nn.Dims{5}, values: []int32{-1, 1, 2, -2, -1}},
	{name: "all", op: nn.OpMean, in: nn.Dims{13, 7}, out: nn.Dims{1}, param: nn.Dims{2}, values: []int32{0, 1}},
	{name: "outermost", op: nn.OpMean, in: nn.Dims{6, 5, 1, 7}, out: nn.Dims{5, 1, 7}, param: nn.Dims{1}, values: []int32{0}},
	{name: "nothing", op: nn.OpMean, mode: 1, in: nn.Dims{3, 1, 6}, out: nn.Dims{3, 1, 6}, param: nn.Dims{1}, values: []int32{1}},
	{name: "long", op: nn.OpMean, in: nn.Dims{2, 31, 700}, out: nn.Dims{2}, param: nn.Dims{2}, values: []int32{1, 2}},
}

func (c *fedCase) types() []nn.OperandType {
	if c.op == nn.OpMirrorPad {
		return anyType
	}
	return asymmTypes
}

func (c *fedCase) model(typ nn.OperandType) *nn.Model {
	var b nn.Builder
	scale, zero := quant(typ, 0)
	args := []uint32{b.Input(typ, c.in, scale, zero), b.Input(nn.TensorInt32, c.param, 0, 0)}
	switch c.op {
	case nn.OpPadV2:
		switch typ {
		case nn.TensorFloat32:
			args = append(args, b.Scalar(-9.5))
		case nn.TensorFloat16:
			args = append(args, b.Const(nn.Float16, nil, 0, 0, []byte{0xc0, 0xc8})) // -9.5
		default:
			args = append(args, b.Scalar(77))
		}
	case nn.OpMirrorPad, nn.OpMean:
		args = append(args, b.Scalar(c.mode))
	}
	y := b.Temp(typ, c.out, scale, zero)
	b.Op(c.op, args, []uint32{y})
	b.Output(y)
	return nntest.Build(&b)
}

// inputs of the model with the right parameter.
func (c *fedCase) inputs(typ nn.OperandType) [][]byte {
	return [][]byte{RandomValue(typ, c.in, rand.New(rand.NewPCG(1, 9))), int32Bytes(c.values)}
}

func int32Bytes(v []int32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}

func eachFed(t *testing.T, f func(t *testing.T, c *fedCase, typ nn.OperandType, m *nn.Model, pm *driver.PreparedModel)) {
	for i := range fedCases {
		c := &fedCases[i]
		t.Run(fmt.Sprintf("%v, %s", c.op, c.name), func(t *testing.T) {
			eachType(t, c.types(), func(t *testing.T, d *driver.Device, typ nn.OperandType) {
				client, err := d.NewClient(t.Name())
				require.NoError(t, err)
				defer func() { require.NoError(t, client.Close()) }()
				m := c.model(typ)
				pm, err := client.PrepareModel(context.Background(), m)
				require.NoError(t, err)
				f(t, c, typ, m, pm)
			})
		})
	}
}

func (c *fedCase) tolerance(typ nn.OperandType) Tolerance {
	if c.op == nn.OpMean {
		return elementTolerance(typ)
	}
	return Exact
}

// TestFedParameters: what was constant elsewhere is an input here.
func TestFedParameters(t *testing.T) {
	eachFed(t, func(t *testing.T, c *fedCase, typ nn.OperandType, m *nn.Model, pm *driver.PreparedModel) {
		comparePrepared(t, pm, m, c.inputs(typ), c.tolerance(typ))
	})
}

// TestParameterLeftOff: what one execution brought does not count in the next, which leaves it off.
func TestParameterLeftOff(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		c := fedCase{op: nn.OpTranspose, in: nn.Dims{5, 5, 5}, out: nn.Dims{5, 5, 5}, param: nn.Dims{3}}
		m := c.model(nn.TensorFloat32)
		pm, err := client.PrepareModel(context.Background(), m)
		require.NoError(t, err)
		for _, c.values = range [][]int32{{1, 2, 0}, nil, {0, 2, 1}, nil} {
			comparePrepared(t, pm, m, c.inputs(nn.TensorFloat32), Exact)
		}
	})
}

// TestComputedParameters: an operation in front of the pad computes its paddings.
func TestComputedParameters(t *testing.T) {
	eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		var b nn.Builder
		scale, zero := quant(typ, 0)
		x := b.Input(typ, nn.Dims{3, 5, 7}, scale, zero)
		pads := b.Temp(nn.TensorInt32, nn.Dims{3, 2}, 0, 0)
		y := b.Temp(typ, nn.Dims{6, 5, 11}, scale, zero) // paddings 2, 1, 0, 0, 2, 2
		b.Op(nn.OpAdd, []uint32{b.Ints(nn.Dims{3, 2}, 3, 2, 0, 0, 2, 2), b.Ints(nn.Dims{3, 1}, -1, 0, 0), b.Scalar(0)}, []uint32{pads})
		b.Op(nn.OpPad, []uint32{x, pads}, []uint32{y})
		b.Output(y)
		Compare(t, d, nntest.Build(&b), Exact, 3)
	})
}

// TestHostileParameters: whatever a parameter holds, the run ends, moved elements are elements of the input,
// and the next execution is right.
func TestHostileParameters(t *testing.T) {
	edges := []int32{0, 1, -1, 2, 7, -8, 255, 1 << 16, 1 << 29, 1<<30 - 1, math.MaxInt32, math.MinInt32, math.MinInt32 + 1}
	eachFed(t, func(t *testing.T, c *fedCase, typ nn.OperandType, m *nn.Model, pm *driver.PreparedModel) {
		if c.values == nil {
			t.Skip("no parameter")
		}
		rng := rand.New(rand.NewPCG(5, 5))
		inputs := c.inputs(typ)
		right := inputs[1]
		known := c.elements(typ, inputs[0])
		try := func(v []int32) {
			inputs[1] = int32Bytes(v)
			got := pm.NewOutputs()
			_, err := pm.Run(context.Background(), inputs, got)
			require.NoError(t, err)
			if size := typ.Bytes(); known != nil {
				for i := 0; i < len(got[0]); i += size {
					if e := got[0][i : i+size]; !known[string(e)] {
						t.Fatalf("%v: element %d is % x", v, i/size, e)
					}
				}
			}
		}
		v := make([]int32, len(c.values))
		for _, x := range edges {
			for i := range v {
				v[i] = x
			}
			try(v)
		}
		for range 20 {
			for i := range v {
				switch v[i] = edges[rng.IntN(len(edges))]; rng.IntN(3) {
				case 0:
					v[i] = int32(rng.Uint32())
				case 1:
					v[i] = c.values[i]
				}
			}
			try(v)
		}
		inputs[1] = right
		comparePrepared(t, pm, m, inputs, c.tolerance(typ))
	})
}

// elements are what an operation that moves elements may write: those of x, what PAD fills with, and the
// zeroes behind the rows of x; nil where anything may come out.
func (c *fedCase) elements(typ nn.OperandType, x []byte) map[string]bool {
	if c.op == nn.OpMean || c.op == nn.OpTranspose && typ.IsQuant8() {
		return nil
	}
	size := typ.Bytes()
	known := map[string]bool{}
	for i := 0; i < len(x); i += size {
		known[string(x[i:i+size])] = true
	}
	known[string(make([]byte, size))] = true
	switch {
	case typ.IsQuant8():
		_, zero := quant(typ, 0)
		known[string([]byte{byte(zero)})], known[string([]byte{77})] = true, true
	case typ == nn.TensorFloat32:
		known[string(binary.LittleEndian.AppendUint32(nil, math.Float32bits(-9.5)))] = true
	case typ == nn.TensorFloat16:
		known[string([]byte{0xc0, 0xc8})] = true
	}
	return known
}
