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
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/tests/internal/ref"
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

// TestParameterOfOpenLengthLeftOff: where the parameter says what dimensions the result has, an execution may bring it or leave
// it off, whether the model knows its length or not, in host memory and in a buffer, and also where an operation needs it whose
// result is known.
func TestParameterOfOpenLengthLeftOff(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, tc := range []struct {
			name   string
			op     nn.OperationType
			in     nn.Dims
			stated nn.Dims // of the result of the same operation before; nil: there is none
			values [][]int32
			out    []nn.Dims
		}{
			{"transpose", nn.OpTranspose, nn.Dims{2, 3, 5}, nil, [][]int32{nil, {0, 2, 1}, {1, 0, 2}}, []nn.Dims{{5, 3, 2}, {2, 5, 3}, {3, 2, 5}}},
			{"twice", nn.OpTranspose, nn.Dims{3, 3, 3}, nn.Dims{3, 3, 3}, [][]int32{{1, 2, 0}, nil}, []nn.Dims{{3, 3, 3}, {3, 3, 3}}},
			{"squeeze", nn.OpSqueeze, nn.Dims{1, 3, 1, 5}, nil, [][]int32{nil, {2}, {0, 2}}, []nn.Dims{{3, 5}, {1, 3, 5}, {3, 5}}},
		} {
			for _, length := range []nn.Dims{nil, {0}, {uint32(len(tc.values[1]) + len(tc.values[0]))}} {
				for _, opened := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, length %v, open input %v", tc.name, length, opened), func(t *testing.T) {
						in := tc.in
						if opened {
							in = make(nn.Dims, len(in))
						}
						pm, client := prepared(t, d, leavable(tc.op, in, tc.stated, nil, length))
						if len(length) == 0 || length[0] == 0 {
							_, err := pm.Execute(t.Context(), leaveOrBring(tc.in, RandomValue(nn.TensorFloat32, tc.in, rand.New(rand.NewPCG(1, 2))), make([]int32, 1<<11)))
							require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%v", err)
						}
						for range 2 {
							for i, values := range tc.values {
								if values != nil && len(length) > 0 && length[0] > 0 && length[0] != uint32(len(values)) {
									continue
								}
								runLeavable(t, client, pm, leavable(tc.op, tc.in, tc.stated, tc.out[i], nn.Dims{uint32(len(values))}), values)
							}
						}
					})
				}
			}
		}
	})
}

// leavable is op once, or twice where there is a result of stated dimensions between, by an input.
func leavable(op nn.OperationType, in, stated, out, param nn.Dims) *nn.Model {
	var b nn.Builder
	x, p := b.Input(nn.TensorFloat32, in, 0, 0), b.Input(nn.TensorInt32, param, 0, 0)
	if stated != nil {
		y := b.Temp(nn.TensorFloat32, stated, 0, 0)
		b.Op(op, []uint32{x, p}, []uint32{y})
		x = y
	}
	y := b.Temp(nn.TensorFloat32, out, 0, 0)
	b.Op(op, []uint32{x, p}, []uint32{y})
	b.Output(y)
	return nntest.Build(&b)
}

func prepared(t *testing.T, d *driver.Device, m *nn.Model) (*driver.PreparedModel, *driver.Client) {
	client, err := d.NewClient(t.Name())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	pm, err := client.PrepareModel(t.Context(), m)
	require.NoError(t, err)
	return pm, client
}

// runLeavable runs pm with these values of its parameter, in host memory and in a buffer, and compares with what stated, where
// all dimensions are known, gives.
func runLeavable(t *testing.T, client *driver.Client, pm *driver.PreparedModel, stated *nn.Model, values []int32) {
	t.Helper()
	x := RandomInputs(stated, rand.New(rand.NewPCG(3, 4)))[0]
	want, err := ref.Evaluate(stated, [][]byte{x, int32Bytes(values)}, ref.Options{Arithmetic: ref.ArithmeticOf(stated)})
	require.NoError(t, err)
	q := leaveOrBring(stated.Main.Operands[stated.Main.Inputs[0]].Dims, x, values)
	room := q.Pools[1].(nn.HostMemory)
	run := func() {
		clear(room)
		res, err := pm.Execute(t.Context(), q)
		require.NoError(t, err, "%v", values)
		require.Equal(t, stated.Main.Operands[stated.Main.Outputs[0]].Dims, res.Shapes[0].Dims, "%v", values)
		require.Equal(t, want.Outputs[0].Bytes(), []byte(room), "%v", values)
	}
	run()
	if values == nil {
		return
	}
	dims := nn.Dims{uint32(len(values))}
	b, err := client.Allocate(driver.BufferDesc{Dims: dims}, []driver.BufferRole{{Model: pm, Index: 1, Probability: 1}}, nil)
	require.NoError(t, err)
	defer b.Close() // the test has ended, or failed
	require.NoError(t, b.CopyFrom(t.Context(), q.Pools[2], dims))
	q.Pools[2] = b.Token()
	q.Inputs[1] = nn.RequestArgument{Location: nn.Location{PoolIndex: 2}}
	run()
}

// leaveOrBring is a request with x, of dimensions dims, and the parameter, nil to leave it off, and room for as much as x.
func leaveOrBring(dims nn.Dims, x []byte, values []int32) *nn.Request {
	q := &nn.Request{
		Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: uint32(len(x))}, Dims: dims}, {HasNoValue: true}},
		Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: uint32(len(x))}}},
		Pools:   []nn.Memory{nn.HostMemory(x), make(nn.HostMemory, len(x))},
	}
	if values != nil {
		q.Pools = append(q.Pools, nn.HostMemory(int32Bytes(values)))
		q.Inputs[1] = nn.RequestArgument{Location: nn.Location{PoolIndex: 2, Length: uint32(4 * len(values))}, Dims: nn.Dims{uint32(len(values))}}
	}
	return q
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
