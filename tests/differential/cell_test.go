package differential

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// fixed are the dimensions of a tensor that is a constant of the model.
type fixed []int

// tensorIf is an argument of cellModel: a tensor that is an input or a constant, or none.
func tensorIf(there, fed bool, dims ...int) any {
	switch {
	case !there:
		return nil
	case fed:
		return dims
	}
	return fixed(dims)
}

// cellModel is a model of one operation on tensors of type typ. An argument is the dimensions of a tensor that is an input
// ([]int) or a constant, nil for one that is left off, or the value of a scalar.
func cellModel(typ nn.OperandType, op nn.OperationType, args []any, outs ...[]int) *nn.Model {
	var b nn.Builder
	rng := rand.New(rand.NewPCG(11, 13))
	var in, out []uint32
	for _, a := range args {
		var id uint32
		switch a := a.(type) {
		case nil:
			id = b.Omitted(typ)
		case []int:
			id = b.Input(typ, dimsOf(a), 0, 0)
		case fixed:
			n := 1
			for _, d := range a {
				n *= d
			}
			values := make([]float64, n)
			for i := range values {
				values[i] = rng.Float64() - 0.5
			}
			id = b.Const(typ, dimsOf(a), 0, 0, encode(typ, values))
		case float64:
			if id = b.Scalar(float32(a)); typ == nn.TensorFloat16 {
				id = b.Scalar(nn.HalfOf(a))
			}
		case int:
			id = b.Scalar(a)
		case bool:
			id = b.Scalar(a)
		default:
			panic(fmt.Sprintf("%T", a))
		}
		in = append(in, id)
	}
	for _, d := range outs {
		y := b.Temp(typ, dimsOf(d), 0, 0)
		out = append(out, y)
		b.Output(y)
	}
	b.Op(op, in, out)
	return nntest.Build(&b)
}

// compareCells compares a model of each float type with the oracle on each device.
func compareCells(t *testing.T, model func(typ nn.OperandType) *nn.Model) {
	t.Helper()
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, typ := range floatTypes {
			t.Run(typ.String(), func(t *testing.T) { Compare(t, d, model(typ), ToleranceOf(typ), 17) })
		}
	})
}

func dimsOf(shape []int) nn.Dims {
	d := make(nn.Dims, len(shape))
	for i, n := range shape {
		d[i] = uint32(n)
	}
	return d
}
