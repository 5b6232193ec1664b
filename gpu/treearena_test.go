package gpu

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

const (
	wideBranches = 6
	wide         = 1 << 16 // numbers that a branch has in between
)

// branching takes a number to its absolute value, which it counts up in each of some branches: by 1 or by 2, as the inputs
// behind it say. In between a branch has many numbers.
func branching() *nn.Model {
	f32, one := nn.TensorFloat32, nn.Dims{1}
	main := &nn.Builder{}
	graphs, refer := []nntest.Graph{{}}, map[uint32]uint32{}
	x := main.Input(f32, one, 0, 0)
	var conditions []uint32
	for range wideBranches {
		conditions = append(conditions, main.Input(nn.TensorBool8, one, 0, 0))
	}
	for _, c := range conditions {
		list := []uint32{c}
		for _, more := range []float32{1, 2} {
			b := &nn.Builder{}
			y := applied(b, nn.OpPad, f32, nn.Dims{wide}, b.Input(f32, one, 0, 0), b.Ints(nn.Dims{1, 2}, 0, wide-1))
			y = applied(b, nn.OpAbs, f32, nn.Dims{wide}, y)
			y = applied(b, nn.OpMean, f32, one, y, b.Ints(one, 0), b.Scalar(int32(1)))
			y = applied(b, nn.OpMul, f32, one, y, b.Floats(one, wide), b.Scalar(0))
			b.Output(applied(b, nn.OpAdd, f32, one, y, b.Floats(one, more), b.Scalar(0)))
			operand := main.Scalar(0)
			refer[operand] = uint32(len(graphs) - 1)
			graphs, list = append(graphs, nntest.Graph{B: b}), append(list, operand)
		}
		x = applied(main, nn.OpIf, f32, one, append(list, x)...)
	}
	main.Output(x)
	graphs[0] = nntest.Graph{B: main, Refer: refer}
	return nntest.Join(graphs[0], graphs[1:]...)
}

// branch runs branching on v, whose branches count up by two from the first one to twos.
func branch(ctx context.Context, x backend.Executable, v float32, twos int) (float32, error) {
	inputs := [][]byte{floatBytes(v)}
	for k := range wideBranches {
		c := byte(1)
		if k < twos {
			c = 0
		}
		inputs = append(inputs, []byte{c})
	}
	out := make([]byte, 4)
	_, err := runParts(ctx, x, backend.Hosts(inputs), backend.Hosts([][]byte{out}))
	return numbersOf(out)[0], err
}

func floatBytes(v float32) []byte { return words(int32(math.Float32bits(v))) }

// TestRegionsShareAnArena: regions take turns, and an execution has memory for the largest of them alone. Executions that
// run side by side have an arena each.
func TestRegionsShareAnArena(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openAlone(t, selector, Options{})
			x, err := b.Compile(t.Context(), branching(), backend.Options{})
			require.NoError(t, err)
			var sum, largest int64
			for _, p := range x.(*tree).parts {
				sum += p.Stats().ArenaBytes
				largest = max(largest, p.Stats().ArenaBytes)
			}
			require.GreaterOrEqual(t, largest, int64(4*wide))
			require.GreaterOrEqual(t, sum, 2*wideBranches*largest*3/4)
			one, _, _ := b.Memory()
			require.Less(t, one, 2*largest)
			require.Less(t, x.Stats().ArenaBytes, 2*largest)

			var group errgroup.Group
			for k := range 3 {
				group.Go(func() error {
					for n := range 20 {
						v := float32(100*k + n)
						got, err := branch(t.Context(), x, -v, n%wideBranches)
						if err != nil {
							return err
						}
						require.Equal(t, v+float32(wideBranches+n%wideBranches), got)
					}
					return nil
				})
			}
			require.NoError(t, group.Wait())
			two, _, _ := b.Memory()
			require.LessOrEqual(t, two, maxFrames*one)
			require.NoError(t, x.Close())
			used, _, _ := b.Memory()
			require.Zero(t, used)
			require.Empty(t, b.ValidationMessages())
			require.NoError(t, b.Close())
		})
	}
}

// TestAnExecutionWaitsForAnArena: where there is no memory for another execution's arena, it waits for the first one.
func TestAnExecutionWaitsForAnArena(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openAlone(t, selector, Options{})
			measured, err := b.Compile(t.Context(), branching(), backend.Options{})
			require.NoError(t, err)
			one, _, _ := b.Memory()
			require.NoError(t, measured.Close())
			x, err := b.Compile(t.Context(), branching(), backend.Options{MemoryBudget: one + wide})
			require.NoError(t, err)
			inputs := [][]byte{floatBytes(-3)}
			for range wideBranches {
				inputs = append(inputs, []byte{1})
			}
			first, err := x.Begin(t.Context(), backend.Hosts(inputs), backend.Hosts([][]byte{make([]byte, 4)}))
			require.NoError(t, err)
			short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err = branch(short, x, -5, 0)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			second := make(chan error, 1)
			go func() {
				got, err := branch(t.Context(), x, -5, 0)
				if err == nil && got != 5+wideBranches {
					err = context.Canceled
				}
				second <- err
			}()
			first.Release()
			require.NoError(t, <-second)
			require.NoError(t, x.Close())
			require.NoError(t, b.Close())
		})
	}
}
