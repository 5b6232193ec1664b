package driver_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/null"
)

// addModel is z = x + y of 8-bit tensors [2, 3]: two inputs of 6 bytes, an output of 6.
func addModel() *nn.Model {
	var b nn.Builder
	x := b.Input(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 1, 0)
	y := b.Input(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 1, 0)
	z := b.Temp(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 1, 0)
	b.Op(nn.OpAdd, []uint32{x, y, b.Scalar(0)}, []uint32{z})
	b.Output(z)
	return nntest.Build(&b)
}

// addRequest lays the arguments of addModel out in one pool of 24 bytes: x at 0, y at 8, z at 16.
func addRequest() *nn.Request {
	at := func(offset uint32) nn.RequestArgument {
		return nn.RequestArgument{Location: nn.Location{Offset: offset, Length: 6}}
	}
	pool := make(nn.HostMemory, 24)
	for i := range pool {
		pool[i] = byte(i + 1)
	}
	return &nn.Request{Inputs: []nn.RequestArgument{at(0), at(8)}, Outputs: []nn.RequestArgument{at(16)}, Pools: []nn.Memory{pool}}
}

// add is what a backend computes for addModel.
func add(inputs, outputs [][]byte) error {
	for i := range outputs[0] {
		outputs[0][i] = inputs[0][i] + inputs[1][i]
	}
	return nil
}

// open returns a client of a device on b, which is closed with the test.
func open(t *testing.T, b *null.Backend) (*driver.Device, *driver.Client) {
	t.Helper()
	d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	c, err := d.NewClient("test")
	require.NoError(t, err)
	return d, c
}

// prepare prepares m on a new device on b.
func prepare(t *testing.T, b *null.Backend, m *nn.Model) *driver.PreparedModel {
	t.Helper()
	_, c := open(t, b)
	pm, err := c.PrepareModel(t.Context(), m)
	require.NoError(t, err)
	return pm
}

func requireStatus(t *testing.T, want nn.Status, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, nn.StatusOf(err), "%v", err)
}

func TestExecuteFindsArgumentsInTheirPools(t *testing.T) {
	b := &null.Backend{Compute: add}
	pm := prepare(t, b, addModel())
	r := addRequest()
	res, err := pm.Execute(t.Context(), r, driver.WithTiming())
	require.NoError(t, err)
	require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{2, 3}, IsSufficient: true}}, res.Shapes)
	require.Positive(t, res.InDriver)
	require.Zero(t, res.OnDevice)
	pool := r.Pools[0].(nn.HostMemory)
	require.Equal(t, []byte{1 + 9, 2 + 10, 3 + 11, 4 + 12, 5 + 13, 6 + 14}, []byte(pool[16:22]))
	require.Equal(t, []string{"compile", "begin", "submit", "finish", "release"}, b.Calls())
}

func TestRunTakesWholeBuffers(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	out := pm.NewOutputs()
	require.Len(t, out, 1)
	_, err := pm.Run(t.Context(), [][]byte{{1, 2, 3, 4, 5, 6}, {1, 1, 1, 1, 1, 1}}, out)
	require.NoError(t, err)
	require.Equal(t, []byte{2, 3, 4, 5, 6, 7}, out[0])
	_, err = pm.Run(t.Context(), [][]byte{{1, 2, 3, 4, 5, 6}, nil}, out)
	requireStatus(t, nn.StatusInvalidArgument, err)
	_, err = pm.Run(t.Context(), [][]byte{{1, 2, 3, 4, 5, 6}, {}}, out)
	requireStatus(t, nn.StatusInvalidArgument, err)
}

func TestV19PreferenceIsRefused(t *testing.T) {
	b := &null.Backend{}
	_, c := open(t, b)
	for _, p := range []nn.Preference{-1, 3} {
		pm, err := c.PrepareModel(t.Context(), addModel(), driver.WithPreference(p))
		require.Nil(t, pm)
		requireStatus(t, nn.StatusInvalidArgument, err)
	}
	require.Empty(t, b.Calls())
	for _, p := range []nn.Preference{nn.LowPower, nn.FastSingleAnswer, nn.SustainedSpeed} {
		_, err := c.PrepareModel(t.Context(), addModel(), driver.WithPreference(p))
		require.NoError(t, err)
	}
}

func TestV20PriorityIsRefused(t *testing.T) {
	b := &null.Backend{}
	_, c := open(t, b)
	for _, p := range []nn.Priority{-1, 3} {
		pm, err := c.PrepareModel(t.Context(), addModel(), driver.WithPriority(p))
		require.Nil(t, pm)
		requireStatus(t, nn.StatusInvalidArgument, err)
	}
	require.Empty(t, b.Calls())
	for _, p := range []nn.Priority{nn.PriorityLow, nn.PriorityMedium, nn.PriorityHigh} {
		_, err := c.PrepareModel(t.Context(), addModel(), driver.WithPriority(p))
		require.NoError(t, err)
	}
}

func TestInvalidModelsNeverReachTheBackend(t *testing.T) {
	b := &null.Backend{}
	d, c := open(t, b)
	for name, m := range map[string]*nn.Model{"none": nil, "empty": {}, "unknown type": func() *nn.Model {
		m := addModel()
		m.Main.Operands[0].Type = 99
		return m
	}()} {
		_, _, err := d.SupportedOperations(m)
		requireStatus(t, nn.StatusInvalidArgument, err)
		pm, err := c.PrepareModel(t.Context(), m)
		require.Nil(t, pm, name)
		requireStatus(t, nn.StatusInvalidArgument, err)
	}
	require.Empty(t, b.Calls())
}

func TestSupportedOperationsSayWhyNot(t *testing.T) {
	why := errors.New("it is too hard")
	refuseRelu := func(o nn.OperationType) error {
		if o == nn.OpRelu {
			return why
		}
		return nil
	}
	d, c := open(t, &null.Backend{Refuse: refuseRelu})
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{3}, 0, 0)
	y, z := b.Temp(nn.TensorFloat32, nn.Dims{3}, 0, 0), b.Temp(nn.TensorFloat32, nn.Dims{3}, 0, 0)
	b.Op(nn.OpRelu, []uint32{x}, []uint32{y})
	b.Op(nn.OpAbs, []uint32{y}, []uint32{z})
	b.Output(z)
	m := nntest.Build(&b)
	supported, reasons, err := d.SupportedOperations(m)
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, supported)
	require.Equal(t, []error{why, nil}, reasons)
	_, err = c.PrepareModel(t.Context(), m)
	require.ErrorIs(t, err, why)
	require.ErrorIs(t, err, driver.ErrUnsupported)
	requireStatus(t, nn.StatusGeneralFailure, err)
	var u *driver.UnsupportedError
	require.ErrorAs(t, err, &u)
	require.Equal(t, []nn.UnsupportedOperation{{Index: 0, Type: nn.OpRelu, Reason: why}}, u.Operations)

	// What is invalid, too, is INVALID_ARGUMENT, whatever is not supported, before it or after.
	m.Main.Operands[z].Dims = nn.Dims{4}
	_, _, err = d.SupportedOperations(m)
	requireStatus(t, nn.StatusInvalidArgument, err)
	_, err = c.PrepareModel(t.Context(), m)
	requireStatus(t, nn.StatusInvalidArgument, err)
	require.NotErrorIs(t, err, driver.ErrUnsupported)
	m.Main.Operands[z].Dims, m.Main.Operations[1].Type = nn.Dims{3}, 9999
	_, _, err = d.SupportedOperations(m)
	requireStatus(t, nn.StatusInvalidArgument, err)
}

func TestStatusOfWhatLeavesTheDriver(t *testing.T) {
	expired, cancel := context.WithTimeout(context.Background(), -1)
	defer cancel()
	cancelled, stop := context.WithCancel(context.Background())
	stop()
	b := &null.Backend{Compute: func(_, _ [][]byte) error { return errors.New("the device is on fire") }}
	_, c := open(t, b)
	pm, err := c.PrepareModel(t.Context(), addModel())
	require.NoError(t, err)

	res, err := pm.Execute(t.Context(), addRequest())
	require.Nil(t, res)
	require.ErrorContains(t, err, "on fire")
	requireStatus(t, nn.StatusGeneralFailure, err)
	_, err = pm.Execute(expired, addRequest())
	requireStatus(t, nn.StatusMissedDeadlinePersistent, err)
	_, err = pm.Execute(cancelled, addRequest())
	requireStatus(t, nn.StatusGeneralFailure, err)
	require.ErrorIs(t, err, context.Canceled)
	_, err = c.PrepareModel(expired, addModel())
	requireStatus(t, nn.StatusMissedDeadlinePersistent, err)
	require.NotContains(t, b.Calls()[len(b.Calls())-1], "submit")
}
