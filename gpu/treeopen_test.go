package gpu

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// growing is a loop that appends the number 7 to 1, 2 as often as its input says.
func growing() *nn.Model {
	condition, body, main := &nn.Builder{}, &nn.Builder{}, &nn.Builder{}
	open, one, i32, f32 := nn.Dims{1, 0}, nn.Dims{1}, nn.TensorInt32, nn.TensorFloat32
	_, k, n := condition.Input(f32, open, 0, 0), condition.Input(i32, one, 0, 0), condition.Input(i32, one, 0, 0)
	condition.Output(applied(condition, nn.OpLess, nn.TensorBool8, one, k, n))
	x, k, _ := body.Input(f32, open, 0, 0), body.Input(i32, one, 0, 0), body.Input(i32, one, 0, 0)
	body.Output(applied(body, nn.OpConcatenation, f32, open, x, body.Floats(nn.Dims{1, 1}, 7), body.Scalar(1)))
	body.Output(applied(body, nn.OpAdd, i32, one, k, body.Ints(one, 1), body.Scalar(0)))
	n = main.Input(i32, one, 0, 0)
	c, b := main.Scalar(0), main.Scalar(0)
	main.Output(applied(main, nn.OpWhile, f32, open, c, b, main.Floats(nn.Dims{1, 2}, 1, 2), main.Ints(one, 0), n))
	return nntest.Join(nntest.Graph{B: main, Refer: map[uint32]uint32{c: 0, b: 1}}, nntest.Graph{B: condition}, nntest.Graph{B: body})
}

// sliced doubles six numbers, and doubles again the part that begins at twice its second input, as long as its third says.
func sliced() *nn.Model {
	b := &nn.Builder{}
	one, f32, i32 := nn.Dims{1}, nn.TensorFloat32, nn.TensorInt32
	x, begin, size := b.Input(f32, nn.Dims{6}, 0, 0), b.Input(i32, one, 0, 0), b.Input(i32, one, 0, 0)
	y := applied(b, nn.OpAdd, f32, nn.Dims{6}, x, x, b.Scalar(0))
	at := applied(b, nn.OpAdd, i32, one, begin, begin, b.Scalar(0))
	y = applied(b, nn.OpSlice, f32, nn.Dims{0}, y, at, size)
	b.Output(applied(b, nn.OpAdd, f32, nn.Dims{0}, y, y, b.Scalar(0)))
	return nntest.Join(nntest.Graph{B: b})
}

func applied(b *nn.Builder, op nn.OperationType, t nn.OperandType, dims nn.Dims, inputs ...uint32) uint32 {
	y := b.Temp(t, dims, 0, 0)
	b.Op(op, inputs, []uint32{y})
	return y
}

// runParts runs x on inputs, and says what it knows of the dimensions of its outputs, also where it failed.
func runParts(ctx context.Context, x backend.Executable, inputs, outputs []backend.Binding) (dims []nn.Dims, err error) {
	e, err := x.Begin(ctx, inputs, outputs)
	if err != nil {
		return nil, err
	}
	defer e.Release()
	known := func() (list []nn.Dims) {
		for _, d := range e.OutputDims() {
			list = append(list, append(nn.Dims(nil), d...))
		}
		return list
	}
	for more := true; more; {
		f, err := e.Submit(0, e.Segments())
		if err == nil {
			err = f.Wait(ctx)
		}
		if err != nil {
			return known(), err
		}
		segments, _, err := e.(backend.Continuing).Next(ctx)
		if err != nil {
			return known(), err
		}
		more = len(segments) > 0
	}
	return known(), e.Finish()
}

func words(list ...int32) (b []byte) {
	for _, v := range list {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func numbersOf(b []byte) (list []float32) {
	for ; len(b) > 0; b = b[4:] {
		list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return list
}

// grow runs growing n times in room for some numbers.
func grow(ctx context.Context, x backend.Executable, n, room int) (out []byte, dims []nn.Dims, err error) {
	out = make([]byte, 4*room)
	dims, err = runParts(ctx, x, backend.Hosts([][]byte{words(int32(n))}), backend.Hosts([][]byte{out}))
	return out, dims, err
}

func requireGrown(t *testing.T, n int, out []byte, dims []nn.Dims, err error) {
	t.Helper()
	require.NoError(t, err)
	require.Equal(t, []nn.Dims{{1, uint32(2 + n)}}, dims)
	want := []float32{1, 2}
	for range n {
		want = append(want, 7)
	}
	require.Equal(t, want, numbersOf(out)[:2+n])
	for _, v := range numbersOf(out)[2+n:] {
		require.Zero(t, v, "written behind the result")
	}
}

// TestTreeStateGrows: the state of a loop has another shape in each iteration; the output is written at the front of what is
// bound, and what has too little room is left alone and tells its dimensions.
func TestTreeStateGrows(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			goroutines := runtime.NumGoroutine()
			b := openAlone(t, selector, Options{})
			reasons, err := b.Supports(growing())
			require.NoError(t, err)
			require.Equal(t, []error{nil}, reasons)
			x, err := b.Compile(t.Context(), growing(), backend.Options{})
			require.NoError(t, err)
			for _, n := range []int{3, 0, 1, 12, 3} {
				out, dims, err := grow(t.Context(), x, n, 2+n+5)
				requireGrown(t, n, out, dims, err)
			}
			before := b.Counters().Allocations
			for range 3 {
				out, dims, err := grow(t.Context(), x, 3, 5)
				requireGrown(t, 3, out, dims, err)
			}
			out, dims, err := grow(t.Context(), x, 3, 4)
			require.Equal(t, nn.StatusOutputInsufficientSize, nn.StatusOf(err), "%v", err)
			require.Equal(t, []nn.Dims{{1, 5}}, dims)
			require.Equal(t, make([]byte, 16), out)
			require.LessOrEqual(t, b.Counters().Allocations, before+1, "all but room for the output was there")

			m, err := b.Allocate(nn.TensorFloat32, nn.Dims{1, 5}, 0)
			require.NoError(t, err)
			for n, fits := range map[int]bool{3: true, 2: false, 4: false} {
				_, err = runParts(t.Context(), x, backend.Hosts([][]byte{words(int32(n))}), []backend.Binding{{Memory: m, Length: 20}})
				require.Equal(t, fits, err == nil, "%v", err)
				if !fits {
					require.Equal(t, nn.StatusOutputInsufficientSize, nn.StatusOf(err), "%v", err)
				}
			}
			got := make([]byte, 20)
			require.NoError(t, m.Read(t.Context(), got))
			require.Equal(t, []float32{1, 2, 7, 7, 7}, numbersOf(got))
			require.NoError(t, m.Close())

			require.NoError(t, x.Close())
			used, _, _ := b.Memory()
			require.Zero(t, used)
			require.Empty(t, b.ValidationMessages())
			require.NoError(t, b.Close())
			settled(t, goroutines)
		})
	}
}

// slice runs sliced from begin on, size numbers, into out.
func slice(ctx context.Context, x backend.Executable, begin, size int32, out []byte) ([]nn.Dims, error) {
	in := make([]byte, 0, 24)
	for i := range 6 {
		in = binary.LittleEndian.AppendUint32(in, math.Float32bits(float32(i)))
	}
	return runParts(ctx, x, backend.Hosts([][]byte{in, words(begin), words(size)}), backend.Hosts([][]byte{out}))
}

// TestTreeTakesParameters: one that is computed, and one that is an input. Whatever they are, the execution ends, and the next
// one is right.
func TestTreeTakesParameters(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openAlone(t, selector, Options{})
			x, err := b.Compile(t.Context(), sliced(), backend.Options{})
			require.NoError(t, err)
			for _, tc := range []struct{ begin, size int32 }{{0, 6}, {1, 2}, {2, -1}, {0, 1}} {
				n := tc.size
				if n < 0 {
					n = 6 - 2*tc.begin
				}
				out := make([]byte, 24)
				dims, err := slice(t.Context(), x, tc.begin, tc.size, out)
				require.NoError(t, err)
				require.Equal(t, []nn.Dims{{uint32(n)}}, dims)
				for i, v := range numbersOf(out) {
					want := 4 * float32(2*tc.begin+int32(i))
					if int32(i) >= n {
						want = 0
					}
					require.Equal(t, want, v)
				}
				for _, wrong := range [][2]int32{{3, 1}, {0, 7}, {0, 0}, {-1, 1}, {math.MaxInt32, math.MaxInt32}, {math.MinInt32, 1}, {0, math.MinInt32}} {
					dims, err := slice(t.Context(), x, wrong[0], wrong[1], out)
					if wrong[0] == math.MinInt32 { // twice that is 0
						require.NoError(t, err)
						continue
					}
					require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%v: %v", wrong, err)
					require.Equal(t, []nn.Dims{nil}, dims)
				}
			}
			require.NoError(t, x.Close())
			require.Empty(t, b.ValidationMessages())
			require.NoError(t, b.Close())
		})
	}
}

// TestHostileShapes: sizes from data that no device could hold, that contradict each other or are out of range end the
// execution, whatever operation takes them, and take no memory.
func TestHostileShapes(t *testing.T) {
	f32, i32 := nn.TensorFloat32, nn.TensorInt32
	const most = math.MaxInt32
	for name, tc := range map[string]struct {
		op    nn.OperationType
		shape nn.Dims // of the parameter
		right []int32
		want  nn.Dims
		wrong [][]int32
	}{
		"RESHAPE": {nn.OpReshape, nn.Dims{2}, []int32{-1, 2}, nn.Dims{3, 2},
			[][]int32{{-1, -1}, {4, 2}, {0, 6}, {most, most}, {math.MinInt32, 1}, {1 << 16, 1 << 16}}},
		"PAD": {nn.OpPad, nn.Dims{2, 2}, []int32{1, 0, 0, 2}, nn.Dims{3, 5},
			[][]int32{{-1, 0, 0, 0}, {most, most, most, most}, {most, most, 0, 0}}},
		"TRANSPOSE": {nn.OpTranspose, nn.Dims{2}, []int32{1, 0}, nn.Dims{3, 2}, [][]int32{{0, 0}, {2, 0}, {-3, most}}},
		"MEAN":      {nn.OpMean, nn.Dims{1}, []int32{0}, nn.Dims{3}, [][]int32{{2}, {-3}, {most}, {math.MinInt32}}},
	} {
		b := &nn.Builder{}
		x, p := b.Input(f32, nn.Dims{2, 3}, 0, 0), b.Input(i32, tc.shape, 0, 0)
		in := []uint32{x, p}
		if tc.op == nn.OpMean {
			in = append(in, b.Scalar(0))
		}
		b.Output(applied(b, nn.OpAbs, f32, nil, applied(b, tc.op, f32, nil, in...)))
		m := nntest.Join(nntest.Graph{B: b})
		for _, selector := range vktest.Selectors() {
			t.Run(name+" "+selector, func(t *testing.T) {
				d := openAlone(t, selector, Options{})
				x, err := d.Compile(t.Context(), m, backend.Options{MemoryBudget: 64 << 20})
				require.NoError(t, err)
				_, before, _ := d.Memory() // the device may have been measured again
				run := func(list []int32) ([]nn.Dims, error) {
					return runParts(t.Context(), x, backend.Hosts([][]byte{make([]byte, 24), words(list...)}), backend.Hosts([][]byte{make([]byte, 256)}))
				}
				for _, wrong := range tc.wrong {
					dims, err := run(tc.right)
					require.NoError(t, err)
					require.Equal(t, []nn.Dims{tc.want}, dims)
					_, err = run(wrong)
					require.Contains(t, []nn.Status{nn.StatusInvalidArgument, nn.StatusGeneralFailure}, nn.StatusOf(err), "%v: %v", wrong, err)
				}
				_, peak, _ := d.Memory()
				require.Less(t, peak, before+1<<20)
				require.NoError(t, x.Close())
				require.NoError(t, d.Close())
			})
		}
	}
}

// TestInstancesAreBounded: 200 executions of 30 shapes take no more memory after the first round of them than in it, two at a
// time, and leave nothing.
func TestInstancesAreBounded(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			goroutines := runtime.NumGoroutine()
			b := openAlone(t, selector, Options{})
			x, err := b.Compile(t.Context(), growing(), backend.Options{})
			require.NoError(t, err)
			run := func(count int) {
				var wg sync.WaitGroup
				defer wg.Wait()
				for worker := range 2 {
					wg.Go(func() {
						for i := range count / 2 {
							n := (7*i + 3*worker) % 30
							out, dims, err := grow(t.Context(), x, n, 40)
							if err != nil || len(dims) != 1 || dims[0][1] != uint32(2+n) || numbersOf(out)[n+1] == 0 || numbersOf(out)[n+2] != 0 {
								t.Errorf("%d: %v %v", n, dims, err)
							}
						}
					})
				}
			}
			run(60)
			_, first, _ := b.Memory()
			run(200)
			_, peak, _ := b.Memory()
			require.LessOrEqual(t, peak, first+first/4)
			for _, p := range x.(*tree).open {
				if p != nil {
					require.LessOrEqual(t, len(p.list), maxInstances)
				}
			}
			require.NoError(t, x.Close())
			used, _, _ := b.Memory()
			require.Zero(t, used)
			require.NoError(t, b.Close())
			settled(t, goroutines)
		})
	}
}

// TestInstancesGiveWay: where memory is short, idle instances and memory of other sizes go.
func TestInstancesGiveWay(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			var least int64
			for round := range 2 { // the first finds out what one size takes
				b := openAlone(t, selector, Options{MemoryBudget: least})
				x, err := b.Compile(t.Context(), growing(), backend.Options{})
				require.NoError(t, err)
				sizes := []int{2}
				if round == 1 {
					sizes = []int{1, 2, 0, 2, 1}
				}
				for _, n := range sizes {
					out, dims, err := grow(t.Context(), x, n, 8)
					requireGrown(t, n, out, dims, err)
				}
				_, least, _ = b.Memory()
				require.NoError(t, x.Close())
				require.NoError(t, b.Close())
			}
		})
	}
}

// TestInstanceOutlivesItsExecution: one that is given up while it waits for a region to be compiled breaks nothing.
func TestInstanceOutlivesItsExecution(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openAlone(t, selector, Options{})
			x, err := b.Compile(t.Context(), growing(), backend.Options{})
			require.NoError(t, err)
			for n := range 6 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*time.Millisecond)
				if _, _, err := grow(ctx, x, 4, 8); err != nil {
					require.ErrorIs(t, err, context.DeadlineExceeded)
				}
				cancel()
			}
			out, dims, err := grow(t.Context(), x, 4, 8)
			requireGrown(t, 4, out, dims, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, _, _ = grow(ctx, x, 20, 40) // its compilation may go on
			cancel()
			require.NoError(t, x.Close())
			used, _, _ := b.Memory()
			require.Zero(t, used)
			require.NoError(t, b.Close())
		})
	}
}

// TestInstancesPause: each region that an execution has compiled gives way, what is compiled does not; where that is refused
// the execution ends, and the next one tries again.
func TestInstancesPause(t *testing.T) {
	b := openAlone(t, vktest.Selectors()[0], Options{})
	var paused atomic.Int32
	refuse := errors.New("not now")
	var refusal atomic.Pointer[error]
	x, err := b.Compile(t.Context(), growing(), backend.Options{PauseWithin: func(context.Context) error {
		paused.Add(1)
		if err := refusal.Load(); err != nil {
			return *err
		}
		return nil
	}})
	require.NoError(t, err)
	require.Zero(t, paused.Load())
	refusal.Store(&refuse)
	_, _, err = grow(t.Context(), x, 3, 5)
	require.ErrorIs(t, err, refuse)
	refusal.Store(nil)
	for range 3 {
		before := paused.Load()
		out, dims, err := grow(t.Context(), x, 3, 5)
		requireGrown(t, 3, out, dims, err)
		if before > 1 {
			require.Equal(t, before, paused.Load())
		} else {
			require.GreaterOrEqual(t, paused.Load(), before+4, "three bodies and a copy")
		}
	}
	require.NoError(t, x.Close())
	require.NoError(t, b.Close())
}

// TestOpenTreeIsRebuilt loses the device in the middle of a loop whose state grows.
func TestOpenTreeIsRebuilt(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openAlone(t, selector, Options{})
			x, err := b.Compile(t.Context(), growing(), backend.Options{})
			require.NoError(t, err)
			for round := range 2 {
				out, dims, err := grow(t.Context(), x, 3, 5)
				requireGrown(t, 3, out, dims, err)
				if round == 0 {
					lose(b, vk.CallWait)
					_, _, err = grow(t.Context(), x, 5, 7)
					unavailable(t, err)
				}
			}
			require.NoError(t, x.Close())
			require.Empty(t, b.ValidationMessages())
			require.NoError(t, b.Close())
		})
	}
}
