// Package differential compares the driver with the oracle on random shapes and parameters.
package differential

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/conformancedata"
	"github.com/nngpu/nngpu/tests/internal/ref"
)

// Tolerance of one output: absolute and relative for floats; for integers the absolute part is in steps. It covers
// no infinity and no NaN.
type Tolerance = conformancedata.Tolerance

// Tolerances by type. Convolutions of floats sum thousands of products in another order than the oracle.
var (
	Float32Tol = Tolerance{Abs: 1e-5, Rel: 1e-5}
	Float16Tol = Tolerance{Abs: 5e-3, Rel: 5e-3}
	Exact      = Tolerance{}
	OneStep    = Tolerance{Abs: 1}
)

// ToleranceOf is the tolerance of an output of type t: 8-bit results are exact.
func ToleranceOf(t nn.OperandType) Tolerance {
	switch t {
	case nn.TensorFloat32:
		return Float32Tol
	case nn.TensorFloat16:
		return Float16Tol
	}
	return Exact
}

// Compare runs m on d and in the oracle and compares every output.
func Compare(t *testing.T, d *driver.Device, m *nn.Model, tol Tolerance, seed uint64) {
	t.Helper()
	CompareOn(t, d, m, RandomInputs(m, rand.New(rand.NewPCG(seed, 7))), tol)
}

// CompareOn is Compare on inputs of the caller's choice.
func CompareOn(t *testing.T, d *driver.Device, m *nn.Model, inputs [][]byte, tol Tolerance) {
	t.Helper()
	compareWith(t, d, m, inputs, tol, ref.ArithmeticOf(m))
}

// compareWith is CompareOn with an oracle of another arithmetic.
func compareWith(t *testing.T, d *driver.Device, m *nn.Model, inputs [][]byte, tol Tolerance, a func(nn.OperationType) ref.Arithmetic) {
	t.Helper()
	client, err := d.NewClient(t.Name())
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	pm, err := client.PrepareModel(context.Background(), m)
	require.NoError(t, err, "prepare")
	compareOutputs(t, pm, m, inputs, tol, a)
}

// comparePrepared runs pm, which was made of m, and compares every output with the oracle's.
func comparePrepared(t *testing.T, pm *driver.PreparedModel, m *nn.Model, inputs [][]byte, tol Tolerance) {
	t.Helper()
	compareOutputs(t, pm, m, inputs, tol, ref.ArithmeticOf(m))
}

func compareOutputs(t *testing.T, pm *driver.PreparedModel, m *nn.Model, inputs [][]byte, tol Tolerance, a func(nn.OperationType) ref.Arithmetic) {
	t.Helper()
	want, err := ref.Evaluate(m, inputs, ref.Options{Arithmetic: a})
	require.NoError(t, err, "oracle")
	got := pm.NewOutputs()
	_, err = pm.Run(context.Background(), inputs, got)
	require.NoError(t, err, "run")
	for i := range got {
		o := m.Main.Operands[m.Main.Outputs[i]]
		err := conformancedata.CompareValues(o.Type, tol, got[i], want.Outputs[i].Bytes())
		require.NoError(t, err, "output %d %v %v", i, o.Type, o.Dims)
	}
}

// RandomInputs fills the inputs of m: floats in [-2, 2), 8-bit types with any byte, int32 small.
func RandomInputs(m *nn.Model, rng *rand.Rand) [][]byte {
	var inputs [][]byte
	for _, index := range m.Main.Inputs {
		o := &m.Main.Operands[index]
		inputs = append(inputs, RandomValue(o.Type, o.Dims, rng))
	}
	return inputs
}

// RandomValue is a dense tensor of random elements.
func RandomValue(t nn.OperandType, dims nn.Dims, rng *rand.Rand) []byte {
	n, err := dims.Elements()
	if err != nil {
		panic(err) // the tests choose the shapes
	}
	var b []byte
	for range n {
		switch t {
		case nn.TensorFloat32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(rng.Float32()*4-2))
		case nn.TensorFloat16:
			// Exponents 2^-6 to 2^1.
			b = binary.LittleEndian.AppendUint16(b, uint16(rng.UintN(2)<<15|(9+rng.UintN(7))<<10|rng.UintN(1024)))
		case nn.TensorInt32:
			b = binary.LittleEndian.AppendUint32(b, uint32(int32(rng.IntN(2001)-1000)))
		case nn.TensorQuant16Symm, nn.TensorQuant16Asymm:
			b = binary.LittleEndian.AppendUint16(b, uint16(rng.UintN(1<<16)))
		default:
			b = append(b, byte(rng.UintN(256)))
		}
	}
	return b
}
