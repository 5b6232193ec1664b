package driver_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/gpu/null"
)

// ones computes 1 everywhere.
func ones(_, outputs [][]byte) error {
	for _, out := range outputs {
		for i := range out {
			out[i] = 1
		}
	}
	return nil
}

// rowsRequest is one for openModel: n rows of 3, and room for as many bytes of output.
func rowsRequest(n uint32, room uint32) *nn.Request {
	return &nn.Request{
		Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: 3 * n}, Dims: nn.Dims{n, 3}}},
		Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: room}}},
		Pools:   []nn.Memory{make(nn.HostMemory, 3*n), make(nn.HostMemory, room)},
	}
}

// runRows runs openModel with n rows.
func runRows(pm *driver.PreparedModel, n uint32, opts ...driver.ExecuteOption) error {
	r := rowsRequest(n, 3*n)
	res, err := pm.Execute(context.Background(), r, opts...)
	if err != nil {
		return err
	}
	if d := res.Shapes[0].Dims; !d.Equal(nn.Dims{n, 3}) || !res.Shapes[0].IsSufficient || r.Pools[1].(nn.HostMemory)[3*n-1] != 1 {
		return errors.New("wrong result")
	}
	return nil
}

// TestTemplateCompilesOncePerSizes, whatever form an execution has, and what the backend sees has no open dimension.
func TestTemplateCompilesOncePerSizes(t *testing.T) {
	for name, model := range map[string]*nn.Model{"size": openModel(nn.Dims{0, 3}, nn.Dims{0, 3}), "sizes": openModel(nn.Dims{0, 0}, nil), "rank": openModel(nil, nil)} {
		t.Run(name, func(t *testing.T) {
			var seen []nn.Dims
			b := &null.Backend{Compute: ones, Weights: 100, Model: func(m *nn.Model) {
				seen = append(seen, m.Main.Operands[0].Dims, m.Main.Operands[1].Dims)
			}}
			_, c := open(t, b)
			pm := prepareOn(t, c, model)
			require.Empty(t, b.Calls())
			require.Empty(t, pm.Instances())
			require.Zero(t, pm.Stats())
			require.Zero(t, c.Memory())
			for range 3 {
				for _, n := range []uint32{1, 7, 113} {
					require.NoError(t, runRows(pm, n))
				}
			}
			require.Equal(t, 3, count(b.Calls(), "compile"))
			require.Equal(t, []nn.Dims{{1, 3}, {1, 3}, {7, 3}, {7, 3}, {113, 3}, {113, 3}}, seen)
			require.EqualValues(t, 300, c.Memory())
			require.EqualValues(t, 100, pm.Stats().WeightBytes)
			list := pm.Instances()
			require.Len(t, list, 3)
			require.Equal(t, []nn.Dims{{113, 3}}, list[0].Inputs, "the latest first")
			require.Equal(t, []nn.Dims{{113, 3}}, list[0].Outputs)
			require.EqualValues(t, 100, list[0].Stats.WeightBytes)
			require.NoError(t, pm.Close())
			require.Equal(t, 3, count(b.Calls(), "close executable"))
			require.Zero(t, c.Memory())
			require.ErrorIs(t, runRows(pm, 1), driver.ErrClosed)
		})
	}
}

// TestTemplateEveryForm: all ways to execute find the instance.
func TestTemplateEveryForm(t *testing.T) {
	b := &null.Backend{Compute: ones}
	pm := prepare(t, b, openModel(nil, nil))
	for _, n := range []uint32{2, 5} {
		r := rowsRequest(n, 3*n)
		r.Outputs[0].Dims = nn.Dims{n, 3} // for fenced ones
		for name, run := range forms(t, pm) {
			require.NoError(t, run(r), name)
		}
	}
	require.Equal(t, 2, count(b.Calls(), "compile"))
}

// TestTemplateRefuses what contradicts the model or itself, before anything is compiled.
func TestTemplateRefuses(t *testing.T) {
	contradiction := openModel(nn.Dims{0, 3}, nn.Dims{0, 4})
	b := &null.Backend{}
	_, c := open(t, b)
	_, err := c.PrepareModel(t.Context(), contradiction)
	requireStatus(t, nn.StatusInvalidArgument, err)
	refuse(t, openModel(nn.Dims{0, 3}, nil), func() *nn.Request { return rowsRequest(2, 6) }, []badRequest{
		{"other dimensions of the output", func(r *nn.Request) { r.Outputs[0].Dims = nn.Dims{3, 2} }},
		{"another rank", func(r *nn.Request) { r.Inputs[0].Dims = nn.Dims{6} }},
	})
	refuse(t, openModel(nil, nil), func() *nn.Request { return rowsRequest(2, 6) }, []badRequest{
		{"a rank that no operation takes", func(r *nn.Request) { r.Inputs[0].Dims = nn.Dims{1, 1, 1, 1, 1, 1, 1, 2, 3} }},
	})
	_, c = open(t, &null.Backend{Refuse: func(nn.OperationType) error { return errors.New("not here") }})
	_, err = c.PrepareModel(t.Context(), openModel(nil, nil))
	require.ErrorIs(t, err, nn.ErrUnsupported)
}

// TestTemplateTellsWhatIsNeeded: too little room compiles nothing, writes nothing, and can be repeated.
func TestTemplateTellsWhatIsNeeded(t *testing.T) {
	b := &null.Backend{Compute: ones}
	pm := prepare(t, b, openModel(nil, nil))
	r := rowsRequest(4, 11)
	for range 2 {
		res, err := pm.Execute(t.Context(), r)
		requireStatus(t, nn.StatusOutputInsufficientSize, err)
		require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{4, 3}}}, res.Shapes)
		require.Equal(t, make(nn.HostMemory, 11), r.Pools[1])
	}
	require.Empty(t, b.Calls())
	require.NoError(t, runRows(pm, 4))
}

// TestTemplateCompilesOnceForAllWhoWait, and holds up nobody else.
func TestTemplateCompilesOnceForAllWhoWait(t *testing.T) {
	b := newPhased()
	c := openStoring(t, b, uncached)
	m := binaryModel(nn.OpAdd, 3)
	blankBinary(m)
	pm, err := c.PrepareModel(t.Context(), m)
	require.NoError(t, err)
	require.NoError(t, runLong(pm, 5))
	b.hold = make(chan struct{})
	await(t, b.began)
	errs := make(chan error)
	for range 8 {
		go func() { errs <- runLong(pm, 9) }()
	}
	await(t, b.began)
	for range 10 {
		require.NoError(t, runLong(pm, 5), "its instance is ready")
	}
	err = runLong(pm, 9, driver.WithTimeout(5*time.Millisecond))
	require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err), "%v", err)
	close(b.hold)
	for range 8 {
		require.NoError(t, <-errs)
	}
	require.EqualValues(t, 2, b.optimised.Load())
}

// blankBinary opens binaryModel's input and output, whose constant becomes a single byte.
func blankBinary(m *nn.Model) {
	for i := range m.Main.Operands {
		if o := &m.Main.Operands[i]; o.Lifetime == nn.SubgraphInput || o.Lifetime == nn.SubgraphOutput {
			o.Dims = nil
		} else if o.Type == nn.TensorQuant8Asymm {
			o.Dims, o.Location.Length = nn.Dims{1}, 1
		}
	}
}

// runLong runs binaryModel with 3 on n bytes of 7.
func runLong(pm *driver.PreparedModel, n uint32, opts ...driver.ExecuteOption) error {
	in, out := make(nn.HostMemory, n), make(nn.HostMemory, n)
	for i := range in {
		in[i] = 7
	}
	_, err := pm.Execute(context.Background(), &nn.Request{
		Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: n}, Dims: nn.Dims{n}}},
		Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: n}}},
		Pools:   []nn.Memory{in, out},
	}, opts...)
	if err == nil && out[n-1] != 10 {
		err = errors.New("wrong result")
	}
	return err
}

// TestTemplateDeadlineEndsTheWaitAlone: a later execution finds the instance.
func TestTemplateDeadlineEndsTheWaitAlone(t *testing.T) {
	b := &null.Backend{Compute: ones, Hold: make(chan struct{})}
	pm := prepare(t, b, openModel(nil, nil))
	err := runRows(pm, 2, driver.WithTimeout(5*time.Millisecond))
	require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err), "%v", err)
	close(b.Hold)
	require.NoError(t, runRows(pm, 2, driver.WithTimeout(time.Minute)))
	require.Equal(t, 1, count(b.Calls(), "compile"))
}

// TestTemplateKeepsTheLatest: beyond the number the least recently used goes, and not the one that is in use.
func TestTemplateKeepsTheLatest(t *testing.T) {
	b := &null.Backend{Compute: ones, Weights: 10}
	_, c := open(t, b)
	pm, err := c.PrepareModel(t.Context(), openModel(nil, nil), driver.WithInstances(2))
	require.NoError(t, err)
	for _, n := range []uint32{1, 2, 1, 3, 1, 2} { // 3 takes the place of 2, 2 that of 3
		require.NoError(t, runRows(pm, n))
	}
	require.Equal(t, 4, count(b.Calls(), "compile"))
	require.Equal(t, 2, count(b.Calls(), "close executable"))
	require.EqualValues(t, 20, c.Memory())

	b = &null.Backend{Compute: ones, Gate: make(chan struct{}), Weights: 10}
	_, c = open(t, b)
	pm, err = c.PrepareModel(t.Context(), openModel(nil, nil), driver.WithInstances(1))
	require.NoError(t, err)
	errs := make(chan error)
	for n := range uint32(3) {
		go func() { errs <- runRows(pm, n+1) }()
		require.Eventually(t, func() bool { return len(pm.Instances()) == int(n)+1 }, 5*time.Second, time.Millisecond)
	}
	close(b.Gate)
	for range 3 {
		require.NoError(t, <-errs)
	}
	require.Len(t, pm.Instances(), 1, "the others went when nobody used them any more")
	require.EqualValues(t, 10, c.Memory())
}

// TestTemplateWithinTheBudget: idle instances make room, and only they.
func TestTemplateWithinTheBudget(t *testing.T) {
	b := &null.Backend{Compute: ones, Weights: 100}
	d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
	defer d.Close()
	c, err := d.NewClient("small", driver.WithClientBudget(250))
	require.NoError(t, err)
	pm := prepareOn(t, c, openModel(nil, nil))
	for n := range uint32(10) {
		require.NoError(t, runRows(pm, n+1))
		require.LessOrEqual(t, c.Memory(), int64(250))
	}
	require.Len(t, pm.Instances(), 1, "one is not more than half")
	prepareOn(t, c, openModel(nn.Dims{2, 3}, nil))
	_, err = c.PrepareModel(t.Context(), openModel(nn.Dims{2, 3}, nil))
	requireStatus(t, nn.StatusResourceExhaustedTransient, err) // another model has no claim on it
	compiled := count(b.Calls(), "compile")
	require.NoError(t, runRows(pm, 10), "it is there still")
	require.Equal(t, compiled, count(b.Calls(), "compile"))
	require.NoError(t, runRows(pm, 11), "and makes room for another")
	require.Len(t, pm.Instances(), 1)
}

// TestTemplate50Sizes: a thousand executions of fifty sizes in random order grow nothing.
func TestTemplate50Sizes(t *testing.T) {
	b := &null.Backend{Compute: ones, Weights: 1000}
	_, c := open(t, b)
	pm := prepareOn(t, c, openModel(nil, nil))
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		require.NoError(t, runRows(pm, 1+random.Uint32N(50)))
		require.LessOrEqual(t, c.Memory(), int64(16*1000))
		require.LessOrEqual(t, len(pm.Instances()), 16)
	}
	calls := b.Calls()
	require.Equal(t, 16, count(calls, "compile")-count(calls, "close executable"))
	var wg sync.WaitGroup
	for range 8 {
		random := rand.New(rand.NewPCG(random.Uint64(), 3))
		wg.Go(func() {
			for range 200 {
				if err := runRows(pm, 1+random.Uint32N(50)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, c.Memory(), int64(16*1000))
	require.NoError(t, pm.Close())
	require.Zero(t, c.Memory())
	calls = b.Calls()
	require.Equal(t, count(calls, "compile"), count(calls, "close executable"))
}

// TestTemplateCloses while executions come with ever new sizes: what has begun ends, the rest says that it is closed.
func TestTemplateCloses(t *testing.T) {
	for range 20 {
		b := &null.Backend{Compute: ones, Weights: 1}
		_, c := open(t, b)
		pm := prepareOn(t, c, openModel(nil, nil))
		var wg sync.WaitGroup
		var began atomic.Int32
		for k := range uint32(4) {
			wg.Go(func() {
				for n := uint32(1); ; n++ {
					err := runRows(pm, 4*n+k)
					if errors.Is(err, driver.ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					began.Add(1)
				}
			})
		}
		require.Eventually(t, func() bool { return began.Load() > 10 }, 5*time.Second, time.Millisecond)
		require.NoError(t, pm.Close())
		wg.Wait()
		require.Zero(t, c.Memory())
	}
}

// TestTemplateClosesWhileItCompiles what nobody waits for any more.
func TestTemplateClosesWhileItCompiles(t *testing.T) {
	b := newPhased()
	b.hold = make(chan struct{})
	c := openStoring(t, b, uncached)
	m := binaryModel(nn.OpAdd, 3)
	blankBinary(m)
	pm, err := c.PrepareModel(t.Context(), m)
	require.NoError(t, err)
	require.Error(t, runLong(pm, 9, driver.WithTimeout(5*time.Millisecond)))
	await(t, b.began)
	require.NoError(t, pm.Close(), "it gives the compilation up")
	require.Zero(t, b.open.Load())
}

// TestTemplateFailures are those of the executions that needed the instance; the next one tries again.
func TestTemplateFailures(t *testing.T) {
	b := newPhased()
	broken := atomic.Bool{}
	broken.Store(true)
	b.fail = func(backend.Options) error {
		if broken.Load() {
			return nn.Errorf(nn.StatusDeviceUnavailable, "model", "gone")
		}
		return nil
	}
	c := openStoring(t, b, uncached)
	m := binaryModel(nn.OpAdd, 3)
	blankBinary(m)
	pm, err := c.PrepareModel(t.Context(), m)
	require.NoError(t, err)
	requireStatus(t, nn.StatusDeviceUnavailable, runLong(pm, 5))
	require.Empty(t, pm.Instances())
	broken.Store(false)
	require.NoError(t, runLong(pm, 5))
	lost := &null.Backend{Compute: ones}
	rows := prepare(t, lost, openModel(nil, nil))
	require.NoError(t, runRows(rows, 3))
	lost.Lose()
	require.NoError(t, runRows(rows, 3))
	require.NoError(t, runRows(rows, 4))
	require.Equal(t, 2, count(lost.Calls(), "compile"))
}

// TestTemplateGivesWay: an instance is compiled piece by piece while others use the device, unless it is urgent itself.
func TestTemplateGivesWay(t *testing.T) {
	b := &null.Backend{Compute: ones, Pieces: 2, Gate: make(chan struct{})}
	_, c := open(t, b)
	busy := prepareOn(t, c, addModel())
	e := busy.ExecuteAsync(t.Context(), addRequest())
	require.Eventually(t, func() bool { return count(b.Calls(), "submit") == 1 }, 5*time.Second, time.Millisecond)
	for priority, pieces := range map[nn.Priority]int{nn.PriorityMedium: 2, nn.PriorityHigh: 0} {
		before := count(b.Calls(), "piece")
		pm, err := c.PrepareModel(t.Context(), openModel(nil, nil), driver.WithPriority(priority))
		require.NoError(t, err)
		begin := time.Now()
		err = runRows(pm, 2, driver.WithTimeout(2*time.Second))
		require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err), "the device is held: %v", err)
		require.Equal(t, pieces, count(b.Calls(), "piece")-before, priority)
		require.Greater(t, time.Since(begin), time.Duration(pieces)*140*time.Millisecond, "before the first one, too")
	}
	close(b.Gate)
	_, err := e.Wait()
	require.NoError(t, err)
	idle, err := c.PrepareModel(t.Context(), openModel(nil, nil))
	require.NoError(t, err)
	before := count(b.Calls(), "piece")
	require.NoError(t, runRows(idle, 2))
	require.Equal(t, before, count(b.Calls(), "piece"), "nobody to give way to")
}

// TestTemplateBuffers: dimensions that only a buffer knows find their instance, and an output's buffer gets its own.
func TestTemplateBuffers(t *testing.T) {
	b := &null.Backend{Compute: ones}
	_, c := open(t, b)
	pm := prepareOn(t, c, openModel(nil, nil))
	x := allocate(t, c, nil, roleOf(pm, 0), nil)
	y := allocate(t, c, nil, nil, roleOf(pm, 0))
	r := &nn.Request{
		Inputs: []nn.RequestArgument{{}}, Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1}}},
		Pools: []nn.Memory{x.Token(), y.Token()},
	}
	_, err := pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusGeneralFailure, err) // not initialised
	again, err := pm.NewExecution(r)
	require.NoError(t, err)
	for _, dims := range []nn.Dims{{2, 3}, {5}, {2, 3}, {1, 1, 7}} {
		n, err := dims.Elements()
		require.NoError(t, err)
		require.NoError(t, x.CopyFrom(t.Context(), make(nn.HostMemory, n), dims))
		for _, run := range []func() (*driver.Result, error){
			func() (*driver.Result, error) { return pm.Execute(t.Context(), r) },
			func() (*driver.Result, error) { return again.Run(t.Context()) },
		} {
			res, err := run()
			require.NoError(t, err)
			require.Equal(t, dims, res.Shapes[0].Dims)
			got := make(nn.HostMemory, n)
			require.NoError(t, y.CopyTo(t.Context(), got))
			require.EqualValues(t, 1, got[n-1])
		}
	}
	require.Equal(t, 3, count(b.Calls(), "compile"))
}

// TestTemplateOfManyDimensions: what sizes are tried to judge a model must not be so large that they are why it is refused.
func TestTemplateOfManyDimensions(t *testing.T) {
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, make(nn.Dims, 20), 0, 0)
	y := b.Temp(nn.TensorFloat32, nil, 0, 0)
	b.Op(nn.OpAbs, []uint32{x}, []uint32{y})
	b.Output(y)
	largest := uint32(0)
	back := &judging{judge: func(m *nn.Model) {
		n, err := m.Main.Operands[x].Dims.Elements()
		require.NoError(t, err)
		largest = max(largest, n)
	}}
	d := driver.NewDevice(back, driver.WithCache(driver.CacheOptions{Off: true}))
	defer d.Close()
	supported, _, err := d.SupportedOperations(nntest.Build(&b))
	require.NoError(t, err)
	require.Equal(t, []bool{true}, supported)
	require.LessOrEqual(t, largest, uint32(1<<20))
	require.Positive(t, largest, "an example was judged")
}

// judging is a backend that refuses open dimensions, and shows what else it is asked about.
type judging struct {
	null.Backend
	judge func(*nn.Model)
}

func (b *judging) Supports(m *nn.Model) ([]error, error) {
	if validate.Open(m) {
		return slices.Repeat([]error{fmt.Errorf("not yet: %w", ops.ErrOpenShape)}, len(m.Main.Operations)), nil
	}
	b.judge(m)
	return b.Backend.Supports(m)
}
