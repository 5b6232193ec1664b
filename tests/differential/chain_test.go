package differential

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/internal/conformancedata"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/tests/internal/ref"
)

var (
	chains     = flag.Int("chains", 120, "random graphs of each kind that TestChains runs")
	chainsFrom = flag.Int("chains-from", 0, "number of the first random graph")
)

// themes are the types that random graphs start with.
var themes = []struct {
	name  string
	types []nn.OperandType
}{
	{"f32", []nn.OperandType{nn.TensorFloat32}},
	{"u8", []nn.OperandType{nn.TensorQuant8Asymm}},
	{"s8", []nn.OperandType{nn.TensorQuant8AsymmSigned}},
	{"f16", []nn.OperandType{nn.TensorFloat16}},
	{"mixed", []nn.OperandType{nn.TensorFloat32, nn.TensorQuant8Asymm, nn.TensorInt32, nn.TensorFloat16}},
}

// TestChains runs random graphs of 5 to 15 operations, which try the planning of memory, aliases, barriers
// and fusion rather than single kernels. Tensors are read several times or never, outputs lie in the middle
// of the graph. A failing graph is run again with -run 'TestChains/.*/f32.17$'.
func TestChains(t *testing.T) {
	for _, o := range []struct {
		name  string
		gpu   gpu.Options
		share int // every so many graphs only
	}{
		{"unified", gpu.Options{}, 1},
		{"staged", gpu.Options{Staged: true}, 4},
	} {
		t.Run(o.name, func(t *testing.T) {
			devices.EachWith(t, o.gpu, func(t *testing.T, d *driver.Device) {
				for k, theme := range themes {
					for n := *chainsFrom; n < *chainsFrom+*chains; n += o.share {
						t.Run(fmt.Sprintf("%s.%d", theme.name, n), func(t *testing.T) {
							c := newChain(rand.New(rand.NewPCG(uint64(n), uint64(k))), theme.types)
							c.grow(5 + n%11)
							runChain(t, d, c, uint64(n))
						})
					}
				}
			})
		})
	}
}

// runChain executes the graph twice, the second time in memory that the first has used.
func runChain(t *testing.T, d *driver.Device, c *chain, seed uint64) {
	m := nntest.Build(&c.b)
	client, err := d.NewClient(t.Name())
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	pm, err := client.PrepareModel(context.Background(), m)
	require.NoError(t, err, "prepare\n%s", describe(m))
	for run := range uint64(2) {
		inputs := RandomInputs(m, rand.New(rand.NewPCG(seed, run)))
		want, err := ref.Evaluate(m, inputs, ref.Options{Arithmetic: ref.ArithmeticOf(m)})
		require.NoError(t, err, "oracle\n%s", describe(m))
		largest := largestFloat(want.Operands)
		got := pm.NewOutputs()
		_, err = pm.Run(context.Background(), inputs, got)
		require.NoError(t, err, "run")
		for i, index := range m.Main.Outputs {
			o := m.Main.Operands[index]
			tol := chainTolerance(o.Type, c.rough[index], largest)
			err := conformancedata.CompareValues(o.Type, tol, got[i], want.Outputs[i].Bytes())
			if err != nil {
				t.Fatalf("run %d, output %d, operand %d: %v\n%s", run, i, index, err, describe(m))
			}
		}
	}
}

// chainTolerance: errors of floats add up over a dozen operations, in proportion to the largest number on
// the way; 8-bit results are exact unless something before them may be a step off.
func chainTolerance(t nn.OperandType, rough bool, largest float64) Tolerance {
	switch {
	case t == nn.TensorFloat32 && rough: // there is a float16 before it
		return Tolerance{Abs: 5e-3 * (1 + largest)}
	case t == nn.TensorFloat32:
		return Tolerance{Abs: 1e-5 * (1 + largest)}
	case t == nn.TensorFloat16:
		return Tolerance{Abs: 5e-3 * (1 + largest)}
	case rough:
		return OneStep
	}
	return Exact
}

// largestFloat is the largest finite magnitude among the operands.
func largestFloat(operands []*ref.Tensor) float64 {
	largest := 0.0
	for _, t := range operands {
		if t == nil || !t.Type.IsFloat() {
			continue
		}
		for _, v := range t.V {
			if !math.IsInf(v, 0) {
				largest = max(largest, math.Abs(v))
			}
		}
	}
	return largest
}

// describe prints the operations of m.
func describe(m *nn.Model) string {
	var s strings.Builder
	operand := func(i uint32) string {
		o := m.Main.Operands[i]
		text := fmt.Sprintf("%%%d", i)
		switch {
		case o.Lifetime == nn.NoValue:
			return "_"
		case o.Lifetime == nn.ConstantCopy && (!o.Type.IsTensor() || o.Type == nn.TensorInt32):
			v, _ := ref.FromBytes(o.Type, shape(o.Dims), 0, 0, m.Values[o.Location.Offset:o.Location.Offset+o.Location.Length])
			return fmt.Sprint(v.V)
		case o.Lifetime == nn.ConstantCopy:
			text = "const " + text
		case o.Lifetime == nn.SubgraphInput:
			text = "input " + text
		case o.Lifetime == nn.SubgraphOutput:
			text = "output " + text
		}
		text += fmt.Sprintf(" %v%v", strings.TrimPrefix(o.Type.String(), "TENSOR_"), []uint32(o.Dims))
		if o.Scale != 0 {
			text += fmt.Sprintf("(%g,%d)", o.Scale, o.ZeroPoint)
		}
		return text
	}
	for i, op := range m.Main.Operations {
		fmt.Fprintf(&s, "%d: %v(", i, op.Type)
		for k, in := range op.Inputs {
			if k > 0 {
				s.WriteString(", ")
			}
			s.WriteString(operand(in))
		}
		fmt.Fprintf(&s, ") -> %s\n", operand(op.Outputs[0]))
	}
	return s.String()
}

func shape(d nn.Dims) []int {
	s := make([]int, len(d))
	for i, n := range d {
		s[i] = int(n)
	}
	return s
}
