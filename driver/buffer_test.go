package driver_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// bufferRequest is addRequest with buffers in place of x, y and z, where they are not nil.
func bufferRequest(x, y, z *driver.Buffer) *nn.Request {
	r := addRequest()
	for i, b := range []*driver.Buffer{x, y, z} {
		if b == nil {
			continue
		}
		r.Pools = append(r.Pools, b.Token())
		a := nn.RequestArgument{Location: nn.Location{PoolIndex: uint32(len(r.Pools) - 1)}}
		if i < 2 {
			r.Inputs[i] = a
		} else {
			r.Outputs[0] = a
		}
	}
	return r
}

// forms are the ways to execute.
func forms(t *testing.T, pm *driver.PreparedModel) map[string]func(*nn.Request) error {
	return map[string]func(*nn.Request) error{
		"sync": func(r *nn.Request) error {
			_, err := pm.Execute(t.Context(), r)
			return err
		},
		"async": func(r *nn.Request) error {
			_, err := pm.ExecuteAsync(t.Context(), r).Wait()
			return err
		},
		"fenced": func(r *nn.Request) error {
			e, err := pm.ExecuteFenced(t.Context(), r, nil)
			if err != nil {
				return err
			}
			return wait(t, e.Fence())
		},
		"burst": func(r *nn.Request) error {
			slots := make([]int32, len(r.Pools))
			for i := range slots {
				slots[i] = int32(i)
			}
			_, err := pm.Burst().Execute(t.Context(), r, slots)
			return err
		},
	}
}

// refuseForms requires the status from each way to execute.
func refuseForms(t *testing.T, status nn.Status, pm *driver.PreparedModel, r *nn.Request) {
	t.Helper()
	for name, run := range forms(t, pm) {
		err := run(r)
		require.Equal(t, status, nn.StatusOf(err), "%s: %v", name, err)
	}
}

func TestM14Tokens(t *testing.T) {
	b, c, pm := domain(t)
	buffer := allocate(t, c, nil, roleOf(pm, 0), roleOf(pm, 0))
	for _, token := range []nn.BufferToken{0, 100, buffer.Token() + 1} {
		for _, r := range []*nn.Request{bufferRequest(buffer, nil, nil), bufferRequest(nil, nil, buffer)} {
			r.Pools[1] = token
			refuseForms(t, nn.StatusInvalidArgument, pm, r)
		}
		r := addRequest() // no argument uses it
		r.Pools = append(r.Pools, token)
		refuseForms(t, nn.StatusInvalidArgument, pm, r)
	}
	require.Zero(t, count(b.Calls(), "begin"))
}

func TestM15AnotherModel(t *testing.T) {
	b, c, pm := domain(t)
	equal := prepareOn(t, c, addModel())
	buffer := allocate(t, c, nil, roleOf(pm, 0), roleOf(pm, 0))
	refuseForms(t, nn.StatusInvalidArgument, equal, bufferRequest(nil, nil, buffer))
	require.NoError(t, buffer.CopyFrom(t.Context(), make(nn.HostMemory, 6), nil))
	refuseForms(t, nn.StatusInvalidArgument, equal, bufferRequest(buffer, nil, nil))
	require.Zero(t, count(b.Calls(), "begin"))
}

func TestM16Roles(t *testing.T) {
	b, c, pm := domain(t)
	in, out := allocate(t, c, nil, roleOf(pm, 0), nil), allocate(t, c, nil, nil, roleOf(pm, 0))
	for _, x := range []*driver.Buffer{in, out} {
		require.NoError(t, x.CopyFrom(t.Context(), make(nn.HostMemory, 6), nil))
	}
	refuseForms(t, nn.StatusInvalidArgument, pm, bufferRequest(nil, in, nil))
	refuseForms(t, nn.StatusInvalidArgument, pm, bufferRequest(nil, nil, in))
	refuseForms(t, nn.StatusInvalidArgument, pm, bufferRequest(out, nil, nil))
	require.Zero(t, count(b.Calls(), "begin"))
}

func TestM17Uninitialised(t *testing.T) {
	b, c, pm := domain(t)
	buffer := allocate(t, c, nil, roleOf(pm, 0), roleOf(pm, 0))
	refuseForms(t, nn.StatusGeneralFailure, pm, bufferRequest(buffer, nil, nil))
	require.Zero(t, count(b.Calls(), "begin"))
	for name, run := range forms(t, pm) {
		require.NoError(t, run(bufferRequest(nil, nil, buffer)), name)
		require.NoError(t, run(bufferRequest(buffer, nil, nil)), name)
	}
	require.Equal(t, addResult, read(t, buffer, 6))
}

func TestM18OneBufferTwice(t *testing.T) {
	b, c, pm := domain(t)
	both := append(roleOf(pm, 0), roleOf(pm, 1)...)
	buffer := allocate(t, c, nil, both, roleOf(pm, 0))
	require.NoError(t, buffer.CopyFrom(t.Context(), nn.HostMemory{1, 2, 3, 4, 5, 6}, nil))
	refuseForms(t, nn.StatusInvalidArgument, pm, bufferRequest(buffer, nil, buffer))
	require.Zero(t, count(b.Calls(), "begin"))
	r := bufferRequest(buffer, buffer, nil)
	_, err := pm.Execute(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, []byte{2, 4, 6, 8, 10, 12}, []byte(r.Pools[0].(nn.HostMemory)[16:22]))

	// Two outputs, of a model that has them.
	m := reluModel(nn.TensorQuant8Asymm, 1, 0, nn.Dims{2, 3}, nn.Dims{2, 3})
	m.Main.Operands = append(m.Main.Operands, m.Main.Operands[1])
	m.Main.Operations = append(m.Main.Operations, nn.Operation{Type: nn.OpRelu, Inputs: []uint32{0}, Outputs: []uint32{2}})
	m.Main.Outputs = append(m.Main.Outputs, 2)
	b = &null.Backend{}
	_, c = open(t, b)
	two := prepareOn(t, c, m)
	buffer = allocate(t, c, nil, nil, append(roleOf(two, 0), roleOf(two, 1)...))
	at := nn.RequestArgument{Location: nn.Location{PoolIndex: 1}}
	refuseForms(t, nn.StatusInvalidArgument, two, &nn.Request{
		Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: 6}}},
		Outputs: []nn.RequestArgument{at, at},
		Pools:   []nn.Memory{make(nn.HostMemory, 6), buffer.Token()},
	})
}

func TestM19OutputsThatDoNotFit(t *testing.T) {
	b, pm, buffer := openBuffer(t, nn.Dims{1, 3})
	r := openRequest()
	r.Pools = append(r.Pools, buffer.Token())
	r.Outputs[0] = nn.RequestArgument{Location: nn.Location{PoolIndex: 1}}
	_, err := pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusGeneralFailure, err)
	r.Outputs[0].Dims = nn.Dims{2, 3}
	_, err = pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusInvalidArgument, err)
	r.Outputs[0].Dims = nn.Dims{0, 3, 1}
	_, err = pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusInvalidArgument, err)
	require.Zero(t, count(b.Calls(), "begin"))
	r.Inputs[0] = nn.RequestArgument{Location: nn.Location{Length: 3}, Dims: nn.Dims{1, 3}}
	for _, d := range []nn.Dims{nil, {1, 3}, {0, 3}} {
		r.Outputs[0].Dims = d
		_, err = pm.Execute(t.Context(), r)
		require.NoError(t, err)
	}
}

func TestM20ShapeOfTheLastWrite(t *testing.T) {
	_, pm, buffer := openBuffer(t, nil)
	r := openRequest()
	r.Pools = append(r.Pools, buffer.Token())
	input := func(d nn.Dims) error {
		r.Inputs[0] = nn.RequestArgument{Location: nn.Location{PoolIndex: 1}, Dims: d}
		r.Outputs[0].Location.Length = 12
		res, err := pm.Execute(t.Context(), r)
		if err == nil && d != nil {
			require.Equal(t, d, res.Shapes[0].Dims)
		}
		return err
	}
	requireStatus(t, nn.StatusGeneralFailure, input(nil))
	require.NoError(t, buffer.CopyFrom(t.Context(), make(nn.HostMemory, 6), nn.Dims{2, 3}))
	require.NoError(t, input(nil))
	require.NoError(t, input(nn.Dims{2, 3}))
	requireStatus(t, nn.StatusInvalidArgument, input(nn.Dims{1, 3}))
	requireStatus(t, nn.StatusInvalidArgument, input(nn.Dims{4, 3}))
	require.NoError(t, buffer.CopyFrom(t.Context(), make(nn.HostMemory, 3), nn.Dims{1, 3}))
	requireStatus(t, nn.StatusInvalidArgument, input(nn.Dims{2, 3}))
	require.NoError(t, input(nn.Dims{1, 3}))
}

// TestM21EverythingInBuffers, and a chain: the sum of one step is an input of the next.
func TestM21EverythingInBuffers(t *testing.T) {
	b, c, pm := domain(t)
	step := allocate(t, c, nil, roleOf(pm, 1), nil)
	states := []*driver.Buffer{
		allocate(t, c, nil, roleOf(pm, 0), roleOf(pm, 0)), allocate(t, c, nil, roleOf(pm, 0), roleOf(pm, 0)),
	}
	require.NoError(t, step.CopyFrom(t.Context(), nn.HostMemory{1, 2, 3, 4, 5, 6}, nil))
	require.NoError(t, states[0].CopyFrom(t.Context(), make(nn.HostMemory, 6), nil))
	before := count(b.Calls(), "allocate")
	for i := range 20 {
		res, err := pm.Execute(t.Context(), bufferRequest(states[i%2], step, states[1-i%2]))
		require.NoError(t, err)
		require.Zero(t, res.Traffic)
		require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{2, 3}, IsSufficient: true}}, res.Shapes)
	}
	require.Equal(t, []byte{20, 40, 60, 80, 100, 120}, read(t, states[0], 6))
	require.Equal(t, before, count(b.Calls(), "allocate"))
}

func TestM22OtherClients(t *testing.T) {
	b := &null.Backend{}
	d, c := open(t, b)
	pm := prepareOn(t, c, addModel())
	buffer := allocate(t, c, nil, roleOf(pm, 0), roleOf(pm, 0))
	other, err := d.NewClient("other")
	require.NoError(t, err)
	theirs := prepareOn(t, other, addModel())
	refuseForms(t, nn.StatusInvalidArgument, theirs, bufferRequest(nil, nil, buffer))
	require.NoError(t, other.Close())
	_, err = pm.Execute(t.Context(), bufferRequest(nil, nil, buffer))
	require.NoError(t, err)
}

// TestExecutionsTakeTurns, and a buffer that is closed meanwhile stays as long as they use it.
func TestExecutionsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &null.Backend{Gate: make(chan struct{}), Compute: add}
		d, c, pm := start(t, b)
		buffer := allocate(t, c, nil, roleOf(pm, 0), roleOf(pm, 0))
		require.NoError(t, buffer.CopyFrom(context.Background(), make(nn.HostMemory, 6), nil))
		var readers []*driver.Execution
		for range 3 {
			readers = append(readers, pm.ExecuteAsync(context.Background(), bufferRequest(buffer, nil, nil)))
		}
		synctest.Wait()
		writer := pm.ExecuteAsync(context.Background(), bufferRequest(nil, nil, buffer))
		synctest.Wait()
		late := pm.ExecuteAsync(context.Background(), bufferRequest(buffer, nil, nil))
		ctx, cancel := context.WithCancel(context.Background())
		impatient := pm.ExecuteAsync(ctx, bufferRequest(nil, nil, buffer))
		copied := make(chan error)
		out := make(nn.HostMemory, 6)
		go func() { copied <- buffer.CopyTo(context.Background(), out) }()
		synctest.Wait()
		cancel()
		_, err := impatient.Wait()
		require.ErrorIs(t, err, context.Canceled)
		closed := make(chan error)
		go func() { closed <- buffer.Close() }()
		require.NoError(t, <-closed, "does not wait")
		_, err = pm.Execute(context.Background(), bufferRequest(buffer, nil, nil))
		requireStatus(t, nn.StatusInvalidArgument, err)
		require.EqualValues(t, 6, b.Used(), "used")
		close(b.Gate)
		for _, e := range append(readers, writer, late) {
			_, err := e.Wait()
			require.NoError(t, err)
		}
		require.NoError(t, <-copied)
		require.Equal(t, addResult, []byte(out), "of the writer that came before")
		require.Zero(t, b.Used())
		require.NoError(t, d.Close())
	})
}

// TestBuffersInAnyOrder: executions that take two buffers the other way round do not wait for each other forever.
func TestBuffersInAnyOrder(t *testing.T) {
	_, c, pm := domain(t)
	x := allocate(t, c, nil, roleOf(pm, 0), roleOf(pm, 0))
	y := allocate(t, c, nil, roleOf(pm, 0), roleOf(pm, 0))
	for _, b := range []*driver.Buffer{x, y} {
		require.NoError(t, b.CopyFrom(t.Context(), make(nn.HostMemory, 6), nil))
	}
	var wg sync.WaitGroup
	for i := range 8 {
		from, to := x, y
		if i%2 == 0 {
			from, to = y, x
		}
		wg.Go(func() {
			for range 200 {
				_, err := pm.Execute(context.Background(), bufferRequest(from, nil, to))
				require.NoError(t, err)
			}
		})
	}
	wg.Wait()
}

// TestDynamicShapesWithParameters: what an open model computes follows from the request, constants included.
func TestDynamicShapesWithParameters(t *testing.T) {
	b := &null.Backend{Compute: add}
	_, c := open(t, b)
	m := addModel()
	for i := range 2 {
		m.Main.Operands[i].Dims = nn.Dims{0, 3}
	}
	m.Main.Operands[m.Main.Outputs[0]].Dims = nil
	pm := prepareOn(t, c, m)
	buffer := allocate(t, c, nil, nil, roleOf(pm, 0))
	require.Zero(t, b.Used())
	r := bufferRequest(nil, nil, buffer)
	r.Inputs[0].Dims, r.Inputs[1].Dims = nn.Dims{2, 3}, nn.Dims{2, 3}
	res, err := pm.Execute(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, nn.Dims{2, 3}, res.Shapes[0].Dims)
	require.Equal(t, addResult, read(t, buffer, 6))
	r.Inputs[1] = nn.RequestArgument{Location: nn.Location{Length: 12}, Dims: nn.Dims{4, 3}}
	_, err = pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusInvalidArgument, err)
}
