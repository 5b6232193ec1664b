package driver_test

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/null"
	"github.com/nngpu/nngpu/memory"
)

// sizing is a backend that computes RESHAPE by a shape that an input says, for the first output, and RELU for a second one,
// after half of its segments. Memory that it allocates knows its dimensions.
type sizing struct {
	*null.Backend
	say func(dims []nn.Dims) []nn.Dims // what it reports instead; nil: nothing else
	end func(err error) error          // how it ends instead

	mu     sync.Mutex
	memory map[backend.Memory]nn.Dims
	begun  int
}

func newSizing() *sizing {
	return &sizing{
		Backend: &null.Backend{Segments: 4, SegmentTime: time.Millisecond, Compute: func(inputs, outputs [][]byte) error {
			for _, y := range outputs {
				copy(y, inputs[0])
			}
			return nil
		}},
		memory: map[backend.Memory]nn.Dims{},
	}
}

func (b *sizing) Allocate(t nn.OperandType, dims nn.Dims, budget int64) (backend.Memory, error) {
	m, err := b.Backend.Allocate(t, dims, budget)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.memory[m] = slices.Clone(dims)
	return m, err
}

func (b *sizing) Compile(ctx context.Context, m *nn.Model, o backend.Options) (backend.Executable, error) {
	exe, err := b.Backend.Compile(ctx, m, o)
	return &sizingExecutable{exe, b}, err
}

type sizingExecutable struct {
	backend.Executable
	b *sizing
}

func (e *sizingExecutable) Begin(ctx context.Context, inputs, outputs []backend.Binding) (backend.Execution, error) {
	e.b.mu.Lock()
	defer e.b.mu.Unlock()
	e.b.begun++
	elements := int64(len(inputs[0].Host))
	if m := inputs[0].Memory; m != nil {
		elements = inputs[0].Length
	}
	shape := nn.Dims{}
	for b := inputs[1].Host; len(b) > 0; b = b[4:] {
		shape = append(shape, binary.LittleEndian.Uint32(b))
	}
	x := &sizingExecution{b: e.b, dims: []nn.Dims{shape, {uint32(elements)}}[:len(outputs)]}
	for i, d := range x.dims {
		if n, _ := d.Elements(); outputs[i].Size() < int64(n) {
			x.short = true
		}
		if at, ok := e.b.memory[outputs[i].Memory]; ok && !at.Equal(d) {
			x.short = true
		}
		if outputs[i].Memory == nil && outputs[i].Host == nil {
			outputs[i].Host = []byte{}
		}
	}
	var err error
	x.Execution, err = e.Executable.Begin(ctx, inputs, outputs)
	return x, err
}

// sizingExecution knows the dimensions of outputs behind the data.
type sizingExecution struct {
	backend.Execution
	b     *sizing
	dims  []nn.Dims
	short bool
	done  bool
}

func (x *sizingExecution) Submit(first, last int) (backend.Fence, error) {
	if x.done = last > 2; x.done && x.short {
		return nil, nn.Errorf(nn.StatusOutputInsufficientSize, "output", "no room")
	}
	return x.Execution.Submit(first, last)
}

func (x *sizingExecution) Finish() error {
	err := x.Execution.Finish()
	if x.b.end != nil {
		return x.b.end(err)
	}
	return err
}

func (x *sizingExecution) OutputDims() []nn.Dims {
	if !x.done {
		return make([]nn.Dims, len(x.dims))
	}
	if x.b.say != nil {
		return x.b.say(x.dims)
	}
	return x.dims
}

// shapedModel is y = RESHAPE(x, shape), and with outputs 2 also RELU(x). What is open of x makes it a template.
func shapedModel(x, y nn.Dims, outputs int) *nn.Model {
	var b nn.Builder
	in := b.Input(nn.TensorQuant8Asymm, x, 1, 0)
	shape := b.Input(nn.TensorInt32, nn.Dims{2}, 0, 0)
	out := b.Temp(nn.TensorQuant8Asymm, y, 1, 0)
	b.Op(nn.OpReshape, []uint32{in, shape}, []uint32{out})
	b.Output(out)
	if outputs > 1 {
		same := b.Temp(nn.TensorQuant8Asymm, nil, 1, 0)
		b.Op(nn.OpRelu, []uint32{in}, []uint32{same})
		b.Output(same)
	}
	return nntest.Build(&b)
}

// shapedRequest gives y, which becomes [rows, columns], so many bytes of room.
func shapedRequest(rows, columns uint32, room int) *nn.Request {
	x := make(nn.HostMemory, rows*columns)
	for i := range x {
		x[i] = byte(i + 1)
	}
	shape := make(nn.HostMemory, 8)
	binary.LittleEndian.PutUint32(shape, rows)
	binary.LittleEndian.PutUint32(shape[4:], columns)
	return &nn.Request{
		Inputs: []nn.RequestArgument{
			{Location: nn.Location{Length: rows * columns}, Dims: nn.Dims{rows * columns}}, {Location: nn.Location{PoolIndex: 1, Length: 8}},
		},
		Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 2, Length: uint32(room)}}},
		Pools:   []nn.Memory{x, shape, make(nn.HostMemory, room)},
	}
}

// openSizing prepares shapedModel on b.
func openSizing(t *testing.T, b backend.Backend, m *nn.Model) (*driver.Device, *driver.Client, *driver.PreparedModel) {
	t.Helper()
	d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	c, err := d.NewClient(t.Name())
	require.NoError(t, err)
	return d, c, prepareOn(t, c, m)
}

// TestSizedOutputs: whatever form an execution has, and whether the inputs are known when the model is prepared, the response
// tells the dimensions that came out; what is behind them stays; too little room is OUTPUT_INSUFFICIENT_SIZE with what is
// needed.
func TestSizedOutputs(t *testing.T) {
	for name, m := range map[string]*nn.Model{
		"fixed": shapedModel(nn.Dims{6}, nil, 1), "template": shapedModel(nil, nil, 1), "rank": shapedModel(nn.Dims{6}, nn.Dims{0, 0}, 1),
	} {
		t.Run(name, func(t *testing.T) {
			b := newSizing()
			d, _, pm := openSizing(t, b, m)
			burst := pm.Burst()
			reusable := map[int]*driver.ReusableExecution{}
			requests := map[int]*nn.Request{}
			for _, room := range []int{6, 9, 5, 0} {
				requests[room] = shapedRequest(2, 3, room)
				var err error
				reusable[room], err = pm.NewExecution(requests[room])
				require.NoError(t, err)
			}
			before := len(b.Calls())
			for form, run := range map[string]func(room int) (*driver.Result, error){
				"plain": func(room int) (*driver.Result, error) { return pm.Execute(t.Context(), requests[room]) },
				"profiled": func(room int) (*driver.Result, error) {
					return pm.Execute(t.Context(), requests[room], driver.WithProfile())
				},
				"async": func(room int) (*driver.Result, error) { return pm.ExecuteAsync(t.Context(), requests[room]).Wait() },
				"burst": func(room int) (*driver.Result, error) {
					return burst.Execute(t.Context(), requests[room], []int32{0, 1, 2})
				},
				"reusable": func(room int) (*driver.Result, error) { return reusable[room].Run(t.Context()) },
			} {
				for _, room := range []int{6, 5, 9, 0, 6, 9} {
					y := requests[room].Pools[2].(nn.HostMemory)
					for i := range y {
						y[i] = 99
					}
					res, err := run(room)
					if room < 6 {
						require.Equal(t, nn.StatusOutputInsufficientSize, nn.StatusOf(err), "%s: %v", form, err)
						require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{2, 3}}}, res.Shapes, form)
						require.Equal(t, slices.Repeat(nn.HostMemory{99}, room), y, form)
						continue
					}
					require.NoError(t, err, form)
					require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{2, 3}, IsSufficient: true}}, res.Shapes, form)
					require.Equal(t, nn.HostMemory{1, 2, 3, 4, 5, 6}, y[:6], form)
					require.Equal(t, slices.Repeat(nn.HostMemory{99}, room-6), y[6:], form)
					if p := res.Profile(); p != nil {
						var sum time.Duration
						for _, r := range p.Rows {
							sum += r.Time
						}
						require.Equal(t, p.Wall, sum)
					}
				}
			}
			calls := b.Calls()[before:]
			require.Equal(t, count(calls, "begin"), count(calls, "release"))
			ended := d.Metrics().Executions[nn.PriorityMedium].Ended
			require.EqualValues(t, 20, ended["NONE"])
			require.EqualValues(t, 10, ended["OUTPUT_INSUFFICIENT_SIZE"])
		})
	}
}

// TestSizedStaged: the form that gives way to a better one tells the dimensions, too.
func TestSizedStaged(t *testing.T) {
	b := newSizing()
	b.Quick = true
	d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	c, err := d.NewClient(t.Name())
	require.NoError(t, err)
	pm, err := c.PrepareModel(t.Context(), shapedModel(nn.Dims{6}, nil, 1), driver.WithStagedCompilation(100))
	require.NoError(t, err)
	require.True(t, pm.Stats().Quick)
	res, err := pm.Execute(t.Context(), shapedRequest(2, 3, 6))
	require.NoError(t, err)
	require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{2, 3}, IsSufficient: true}}, res.Shapes)
}

// TestSizedFenced: a fenced execution says the dimensions, and fails where others come out.
func TestSizedFenced(t *testing.T) {
	b := newSizing()
	_, _, pm := openSizing(t, b, shapedModel(nil, nil, 1))
	r := shapedRequest(2, 3, 6)
	_, err := pm.ExecuteFenced(t.Context(), r, nil)
	requireStatus(t, nn.StatusInvalidArgument, err)
	r.Outputs[0].Dims = nn.Dims{2, 3}
	e, err := pm.ExecuteFenced(t.Context(), r, nil, driver.WithSyncFile())
	require.NoError(t, err)
	require.NoError(t, e.Fence().Wait(t.Context()))
	res, err := e.Result()
	require.NoError(t, err)
	require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{2, 3}, IsSufficient: true}}, res.Shapes)
	_, err = e.SyncFile(t.Context())
	require.ErrorIs(t, err, backend.ErrNoSyncFile)
	r.Outputs[0].Dims = nn.Dims{3, 2}
	e, err = pm.ExecuteFenced(t.Context(), r, nil)
	require.NoError(t, err)
	requireStatus(t, nn.StatusInvalidArgument, e.Fence().Wait(t.Context()))
}

// TestSizedBuffers: a buffer of open dimensions takes what comes out; it runs twice only where that has other dimensions than
// the buffer had, and never more often than there is hope. One of other dimensions is GENERAL_FAILURE (M19).
func TestSizedBuffers(t *testing.T) {
	b := newSizing()
	d, c, pm := openSizing(t, b, shapedModel(nil, nil, 1))
	y := allocate(t, c, nil, nil, roleOf(pm, 0))
	run := func(rows, columns uint32, y *driver.Buffer) error {
		r := shapedRequest(rows, columns, 0)
		r.Outputs[0].Location, r.Pools[2] = nn.Location{PoolIndex: 2}, y.Token()
		res, err := pm.Execute(t.Context(), r)
		if err != nil {
			return err
		}
		require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{rows, columns}, IsSufficient: true}}, res.Shapes)
		got := make(nn.HostMemory, rows*columns)
		require.NoError(t, y.CopyTo(t.Context(), got))
		require.Equal(t, r.Pools[0], got)
		return nil
	}
	for _, tc := range []struct {
		rows, columns uint32
		begun         int
	}{{2, 3, 2}, {2, 3, 1}, {3, 2, 2}, {5, 7, 2}, {5, 7, 1}, {1, 1, 2}} {
		b.begun = 0
		require.NoError(t, run(tc.rows, tc.columns, y))
		require.Equal(t, tc.begun, b.begun, tc)
	}
	m := d.Metrics().Executions[nn.PriorityMedium]
	require.Equal(t, map[string]uint64{"NONE": 6}, m.Ended)
	require.EqualValues(t, 6, m.DeviceTime.Count)

	fixed := allocate(t, c, nn.Dims{2, 3}, nil, roleOf(pm, 0))
	require.NoError(t, run(2, 3, fixed))
	requireStatus(t, nn.StatusGeneralFailure, run(3, 2, fixed))
	requireStatus(t, nn.StatusGeneralFailure, fixed.CopyTo(t.Context(), make(nn.HostMemory, 6)))

	b.begun, b.say = 0, func(dims []nn.Dims) []nn.Dims { return []nn.Dims{{1, uint32(b.begun)}} }
	b.memory = map[backend.Memory]nn.Dims{}
	requireStatus(t, nn.StatusGeneralFailure, run(4, 3, y))
	require.Less(t, b.begun, 10)
}

// TestSizedPools: the room may be a part of a pool that is used in place, of one that is not, or of a file, of which nothing
// is written behind the output.
func TestSizedPools(t *testing.T) {
	pool, err := memory.NewAshmem("room", 64)
	require.NoError(t, err)
	defer pool.Close()
	mapping, err := pool.Bytes()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "room")
	require.NoError(t, os.WriteFile(path, slices.Repeat([]byte{99}, 64), 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	file, err := memory.FromFile(f, memory.ProtRead|memory.ProtWrite, 0, 64)
	require.NoError(t, err)
	defer file.Close()
	for name, tc := range map[string]struct {
		pool     nn.Memory
		noImport bool
		bytes    func() []byte
	}{
		"in place": {pool, false, func() []byte { return mapping }}, "copied": {pool, true, func() []byte { return mapping }},
		"file": {file, false, func() []byte { b, _ := os.ReadFile(path); return b }},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range mapping {
				mapping[i] = 99
			}
			b := newSizing()
			b.NoImport = tc.noImport
			_, _, pm := openSizing(t, b, shapedModel(nil, nil, 1))
			r := shapedRequest(2, 3, 0)
			r.Outputs[0].Location, r.Pools[2] = nn.Location{PoolIndex: 2, Offset: 16, Length: 32}, tc.pool
			res, err := pm.Execute(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, nn.Dims{2, 3}, res.Shapes[0].Dims)
			want := slices.Repeat([]byte{99}, 64)
			copy(want[16:], r.Pools[0].(nn.HostMemory))
			require.Equal(t, want, tc.bytes())
			r.Outputs[0].Location.Length = 5
			res, err = pm.Execute(t.Context(), r)
			requireStatus(t, nn.StatusOutputInsufficientSize, err)
			require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{2, 3}}}, res.Shapes)
			require.Equal(t, want, tc.bytes())
		})
	}
}

// TestSizedSecondOutput: of two outputs only the one that lacks room is insufficient, and what is not known yet is told as far
// as it is.
func TestSizedSecondOutput(t *testing.T) {
	b := newSizing()
	_, _, pm := openSizing(t, b, shapedModel(nil, nn.Dims{0, 3}, 2))
	r := shapedRequest(2, 3, 6)
	r.Outputs = append(r.Outputs, nn.RequestArgument{Location: nn.Location{PoolIndex: 3, Length: 6}})
	r.Pools = append(r.Pools, make(nn.HostMemory, 6))
	res, err := pm.Execute(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{2, 3}, IsSufficient: true}, {Dims: nn.Dims{6}, IsSufficient: true}}, res.Shapes)
	r.Outputs[0].Location.Length = 3
	res, err = pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusOutputInsufficientSize, err)
	require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{2, 3}}, {Dims: nn.Dims{6}, IsSufficient: true}}, res.Shapes)
	// The second is short before anything runs, when nothing is known of the first but what the model says.
	b.begun = 0
	r.Outputs[1].Location.Length = 5
	res, err = pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusOutputInsufficientSize, err)
	require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{0, 3}, IsSufficient: true}, {Dims: nn.Dims{6}}}, res.Shapes)
	require.Zero(t, b.begun)
}

// TestSizedHostile: a backend that reports what cannot be is GENERAL_FAILURE, and so is one that says nothing.
func TestSizedHostile(t *testing.T) {
	short := nn.Errorf(nn.StatusOutputInsufficientSize, "output", "no room")
	for name, tc := range map[string]struct {
		say  []nn.Dims
		end  error
		room int
	}{
		"another rank":                 {[]nn.Dims{{6}}, nil, 6},
		"a size that the model knows":  {[]nn.Dims{{3, 2}}, nil, 6},
		"more than is bound":           {[]nn.Dims{{4, 3}}, nil, 6},
		"more than a buffer can be":    {[]nn.Dims{{1 << 31, 3}}, nil, 6},
		"none of what the model knows": {[]nn.Dims{{2, 0}}, nil, 6},
		"open, and short":              {[]nn.Dims{{0, 3}}, short, 6},
		"nothing":                      {[]nn.Dims{nil}, nil, 6},
		"nothing, and short":           {[]nn.Dims{nil}, short, 6},
		"fewer outputs":                {nil, nil, 6},
		"more outputs":                 {[]nn.Dims{{2, 3}, {2, 3}}, nil, 6},
		"short, with enough room":      {[]nn.Dims{{2, 3}}, short, 7},
		"short, of another rank":       {[]nn.Dims{{7}}, short, 6},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSizing()
			b.say = func([]nn.Dims) []nn.Dims { return tc.say }
			b.end = func(error) error { return tc.end }
			_, _, pm := openSizing(t, b, shapedModel(nil, nn.Dims{0, 3}, 1))
			res, err := pm.Execute(t.Context(), shapedRequest(2, 3, tc.room))
			requireStatus(t, nn.StatusGeneralFailure, err)
			require.Nil(t, res)
		})
	}
	// One that says that there is nothing is believed, and so is what there is no room for where nothing was written.
	b := newSizing()
	b.say = func([]nn.Dims) []nn.Dims { return []nn.Dims{{0, 3}} }
	_, _, empty := openSizing(t, b, shapedModel(nil, nn.Dims{0, 3}, 1))
	result, err := empty.Execute(t.Context(), shapedRequest(2, 3, 6))
	require.NoError(t, err)
	require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{0, 3}, IsSufficient: true}}, result.Shapes)
	b = newSizing()
	b.say, b.end = func([]nn.Dims) []nn.Dims { return []nn.Dims{{4, 3}} }, func(error) error { return short }
	_, _, pm := openSizing(t, b, shapedModel(nil, nn.Dims{0, 3}, 1))
	res, err := pm.Execute(t.Context(), shapedRequest(2, 3, 6))
	requireStatus(t, nn.StatusOutputInsufficientSize, err)
	require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{4, 3}}}, res.Shapes)
	silent := &null.Backend{}
	pm = prepare(t, silent, shapedModel(nil, nil, 1))
	_, err = pm.Execute(t.Context(), shapedRequest(2, 3, 6))
	requireStatus(t, nn.StatusGeneralFailure, err)
}
