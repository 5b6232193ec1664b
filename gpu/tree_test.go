package gpu

import (
	"encoding/binary"
	"math"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// adding adds 2 to each of five numbers as often as its second input says.
func adding() *nn.Model {
	condition, body, main := &nn.Builder{}, &nn.Builder{}, &nn.Builder{}
	row, one, i32, f32 := nn.Dims{5}, nn.Dims{1}, nn.TensorInt32, nn.TensorFloat32
	apply := func(b *nn.Builder, op nn.OperationType, t nn.OperandType, dims nn.Dims, inputs ...uint32) uint32 {
		y := b.Temp(t, dims, 0, 0)
		b.Op(op, inputs, []uint32{y})
		return y
	}
	_, k, n := condition.Input(f32, row, 0, 0), condition.Input(i32, one, 0, 0), condition.Input(i32, one, 0, 0)
	condition.Output(apply(condition, nn.OpLess, nn.TensorBool8, one, k, n))
	x, k, _ := body.Input(f32, row, 0, 0), body.Input(i32, one, 0, 0), body.Input(i32, one, 0, 0)
	body.Output(apply(body, nn.OpAdd, f32, row, x, body.Floats(one, 2), body.Scalar(0)))
	body.Output(apply(body, nn.OpAdd, i32, one, k, body.Ints(one, 1), body.Scalar(0)))
	x, n = main.Input(f32, row, 0, 0), main.Input(i32, one, 0, 0)
	c, b := main.Scalar(0), main.Scalar(0)
	main.Output(apply(main, nn.OpWhile, f32, row, c, b, x, main.Ints(one, 0), n))
	return nntest.Join(nntest.Graph{B: main, Refer: map[uint32]uint32{c: 0, b: 1}}, nntest.Graph{B: condition}, nntest.Graph{B: body})
}

// add runs adding n times, and says how many parts it had.
func add(t *testing.T, x backend.Executable, n uint32) (parts int, err error) {
	t.Helper()
	out := make([]byte, 20)
	e, err := x.Begin(t.Context(), backend.Hosts([][]byte{make([]byte, 20), binary.LittleEndian.AppendUint32(nil, n)}), backend.Hosts([][]byte{out}))
	if err != nil {
		return 0, err
	}
	defer e.Release()
	for more := true; more; parts++ {
		f, err := e.Submit(0, e.Segments())
		if err == nil {
			err = f.Wait(t.Context())
		}
		if err != nil {
			return parts, err
		}
		segments, later, err := e.(backend.Continuing).Next(t.Context())
		if err != nil {
			return parts, err
		}
		require.GreaterOrEqual(t, later, time.Duration(0))
		if more = len(segments) > 0; more {
			require.Len(t, segments, e.Segments())
			require.Error(t, e.Finish(), "it goes on")
		}
	}
	require.NoError(t, e.Finish())
	require.Positive(t, e.DeviceTime())
	require.NotZero(t, e.Traffic())
	for i := range 5 {
		require.Equal(t, float32(2*n), math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:])))
	}
	return parts, nil
}

// TestTreeIteratesInOneSubmission: an iteration is one part with the condition of the next; beside them there are the
// inputs, the first condition and the outputs. What is expected later is learned.
func TestTreeIteratesInOneSubmission(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openAlone(t, selector, Options{})
			x, err := b.Compile(t.Context(), adding(), backend.Options{Storable: true})
			require.NoError(t, err)
			for _, n := range []uint32{0, 1, 2, 3, 100} {
				parts, err := add(t, x, n)
				require.NoError(t, err)
				require.Equal(t, int(n)+3, parts)
			}
			many := x.Later()
			for range 8 {
				_, err := add(t, x, 2)
				require.NoError(t, err)
			}
			n, known := x.(*tree).loops[0].known()
			require.True(t, known)
			require.Equal(t, 2, n)
			require.Less(t, x.Later(), many/2, "fifty times fewer, on a machine that may have become slower")
			require.Positive(t, x.Later())
			require.NoError(t, x.Close())
			require.NoError(t, x.Close())
			_, err = add(t, x, 1)
			require.ErrorIs(t, err, nn.ErrClosed)
			used, _, _ := b.Memory()
			require.Zero(t, used)
			require.Empty(t, b.ValidationMessages())
			require.NoError(t, b.Close())
		})
	}
}

// TestTreeIsRebuilt loses the device in the middle of a loop; the next execution is right again, on memory that is new.
func TestTreeIsRebuilt(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		for _, call := range []vk.Call{vk.CallSubmit, vk.CallWait} {
			t.Run(selector+" call "+strconv.Itoa(int(call)), func(t *testing.T) {
				goroutines := runtime.NumGoroutine()
				b := openAlone(t, selector, Options{})
				x, err := b.Compile(t.Context(), adding(), backend.Options{})
				require.NoError(t, err)
				_, err = add(t, x, 5)
				require.NoError(t, err)
				lose(b, call)
				_, err = add(t, x, 5)
				unavailable(t, err)
				for range 3 {
					_, err = add(t, x, 5)
					require.NoError(t, err)
				}
				require.NoError(t, x.Close())
				require.Empty(t, b.ValidationMessages())
				require.NoError(t, b.Close())
				settled(t, goroutines)
			})
		}
	}
}

// TestTreeRefusesWrongBindings: bindings of another size or number begin nothing.
func TestTreeRefusesWrongBindings(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		b := openAlone(t, selector, Options{})
		x, err := b.Compile(t.Context(), adding(), backend.Options{})
		require.NoError(t, err)
		for _, sizes := range [][]int{{20, 4}, {20, 4, 20, 4}, {16, 4, 20}, {20, 8, 20}, {20, 4, 16}, {20, 4, 24}} {
			var list [][]byte
			for _, n := range sizes {
				list = append(list, make([]byte, n))
			}
			_, err := x.Begin(t.Context(), backend.Hosts(list[:2]), backend.Hosts(list[2:]))
			require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err), "%v: %v", sizes, err)
		}
		_, err = add(t, x, 2)
		require.NoError(t, err)
		require.NoError(t, x.Close())
		require.NoError(t, b.Close())
	}
}
