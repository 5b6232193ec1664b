package compile

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// overlapping returns a model of FULLY_CONNECTED of 32x64 whose filters begin step bytes apart in one pool: the
// same place for 0. The pool's bytes repeat themselves after period.
func overlapping(t *testing.T, typ nn.OperandType, count, step, period int) *nn.Model {
	t.Helper()
	const units, depth = 32, 64
	scale, bias := float32(0), nn.TensorFloat32
	if typ.IsQuant8() {
		scale, bias = 1, nn.TensorInt32
	}
	var b nn.Builder
	x := b.Input(typ, nn.Dims{1, depth}, scale, 0)
	size := units * depth * typ.Bytes()
	pool := make(nn.HostMemory, size+step*count)
	for i := range pool {
		pool[i] = byte((i % period) * (i % period) >> 7 &^ 0x40)
	}
	b.Pool(pool)
	biases := b.Const(bias, nn.Dims{units}, scale, 0, make([]byte, 4*units))
	for i := range count {
		w := b.Reference(typ, nn.Dims{units, depth}, scale, 0, nn.Location{Offset: uint32(step * i), Length: uint32(size)})
		y := b.Temp(typ, nn.Dims{1, units}, scale, 0)
		b.Op(nn.OpFullyConnected, append([]uint32{x, w, biases}, scalars(&b, 0)...), []uint32{y})
		b.Output(y)
	}
	m := nntest.Build(&b)
	require.NoError(t, validate.Model(m))
	return m
}

// asked collects what it is asked for, up to a budget.
type asked struct {
	most   int64
	status nn.Status
	sizes  []int64
}

func (a *asked) fits(n int64) error {
	a.sizes = append(a.sizes, n)
	if n > a.most {
		return nn.Errorf(a.status, "weights", "%d bytes", n)
	}
	return nil
}

// TestWeightsStopAtTheBudget: what is packed is refused when it becomes too large, not when all is there.
func TestWeightsStopAtTheBudget(t *testing.T) {
	for name, facts := range extremeFacts {
		for _, typ := range []nn.OperandType{nn.TensorFloat32, nn.TensorQuant8Asymm} {
			t.Run(fmt.Sprintf("%v on %s", typ, name), func(t *testing.T) {
				m := overlapping(t, typ, 20, 4, 1<<20)
				_, weights, err := Model(t.Context(), &facts, m, nil)
				require.NoError(t, err)
				whole := weights.Size() - plan.Align
				p, same, err := Model(t.Context(), &facts, m, (&asked{most: whole}).fits)
				require.NoError(t, err)
				require.Equal(t, packedBytes(t, weights), packedBytes(t, same))
				require.EqualValues(t, weights.Size(), p.WeightBytes)
				for _, status := range []nn.Status{nn.StatusResourceExhaustedPersistent, nn.StatusResourceExhaustedTransient} {
					for _, most := range []int64{whole - 1, whole / 2, whole / 10, 1, 0} {
						a := asked{most: most, status: status}
						_, _, err := Model(t.Context(), &facts, m, a.fits)
						require.Equal(t, status, nn.StatusOf(err), "%v", err)
						require.ErrorContains(t, err, "FULLY_CONNECTED")
						last := len(a.sizes) - 1
						require.Greater(t, a.sizes[last], most)
						for _, n := range a.sizes[:last] { // nothing is packed after the first refusal
							require.LessOrEqual(t, n, most)
						}
					}
				}
			})
		}
	}
}

func packedBytes(t *testing.T, w *pack.Weights) []byte {
	b, err := w.Bytes()
	require.NoError(t, err)
	return b
}

// TestOneConstantIsPackedOnce, wherever its bytes lie.
func TestOneConstantIsPackedOnce(t *testing.T) {
	for name, facts := range extremeFacts {
		for _, typ := range []nn.OperandType{nn.TensorFloat32, nn.TensorQuant8Asymm} {
			t.Run(fmt.Sprintf("%v on %s", typ, name), func(t *testing.T) {
				asks := func(count, step int) (int, []byte) {
					a := asked{most: 1 << 40}
					_, weights, err := Model(t.Context(), &facts, overlapping(t, typ, count, step, 256), a.fits)
					require.NoError(t, err)
					return len(a.sizes), packedBytes(t, weights)
				}
				one, alone := asks(1, 0)
				for _, step := range []int{0, 256} {
					many, weights := asks(50, step)
					require.Equal(t, one, many, step)
					require.Equal(t, alone, weights, step)
				}
				different, weights := asks(50, 4)
				require.Greater(t, different, one)
				require.Greater(t, len(weights), len(alone))
			})
		}
	}
}

// TestPackingStopsWithItsContext, also in the middle of a node.
func TestPackingStopsWithItsContext(t *testing.T) {
	facts := swiftshader
	facts.MaxTexelElements = 256
	m := overlapping(t, nn.TensorFloat32, 1, 0, 1<<20)
	a := asked{most: 1 << 40}
	_, _, err := Model(t.Context(), &facts, m, a.fits)
	require.NoError(t, err)
	require.Greater(t, len(a.sizes), 2) // slabs of one filter
	for stop := 1; stop < len(a.sizes); stop++ {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		_, _, err := Model(ctx, &facts, m, func(int64) error {
			if calls++; calls == stop {
				cancel()
			}
			return nil
		})
		cancel()
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, stop, calls)
	}
}
