package driver_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/null"
)

// roleOf is one role with probability 1.
func roleOf(p *driver.PreparedModel, index int) []driver.BufferRole {
	return []driver.BufferRole{{Model: p, Index: index, Probability: 1}}
}

// domain is a client on a null backend that adds, with addModel prepared.
func domain(t *testing.T) (*null.Backend, *driver.Client, *driver.PreparedModel) {
	t.Helper()
	b := &null.Backend{Compute: add}
	_, c := open(t, b)
	return b, c, prepareOn(t, c, addModel())
}

func prepareOn(t *testing.T, c *driver.Client, m *nn.Model) *driver.PreparedModel {
	t.Helper()
	pm, err := c.PrepareModel(t.Context(), m)
	require.NoError(t, err)
	return pm
}

func allocate(t *testing.T, c *driver.Client, dims nn.Dims, in, out []driver.BufferRole) *driver.Buffer {
	t.Helper()
	b, err := c.Allocate(driver.BufferDesc{Dims: dims}, in, out)
	require.NoError(t, err)
	require.NotZero(t, b.Token())
	return b
}

// refuseAllocation requires INVALID_ARGUMENT, no buffer and nothing allocated.
func refuseAllocation(t *testing.T, b *null.Backend, c *driver.Client, dims nn.Dims, in, out []driver.BufferRole) {
	t.Helper()
	before := count(b.Calls(), "allocate")
	buffer, err := c.Allocate(driver.BufferDesc{Dims: dims}, in, out)
	require.Nil(t, buffer)
	requireStatus(t, nn.StatusInvalidArgument, err)
	require.Equal(t, before, count(b.Calls(), "allocate"))
}

func TestM1NoRoles(t *testing.T) {
	b, c, _ := domain(t)
	refuseAllocation(t, b, c, nil, nil, nil)
	refuseAllocation(t, b, c, nn.Dims{2, 3}, nil, []driver.BufferRole{})
}

func TestM2ForeignModels(t *testing.T) {
	b, c, pm := domain(t)
	_, elsewhere, theirs := domain(t)
	other, err := c.PrepareModel(t.Context(), addModel())
	require.NoError(t, err)
	refuseAllocation(t, b, c, nil, roleOf(nil, 0), nil)
	refuseAllocation(t, b, c, nil, roleOf(theirs, 0), nil)
	refuseAllocation(t, b, c, nil, roleOf(pm, 0), roleOf(theirs, 0))
	refuseAllocation(t, b, c, nil, nil, roleOf(nil, 0))
	_, err = elsewhere.Allocate(driver.BufferDesc{}, roleOf(other, 0), nil)
	requireStatus(t, nn.StatusInvalidArgument, err)
}

func TestM3Indexes(t *testing.T) {
	b, c, pm := domain(t)
	for _, i := range []int{2, -1, math.MaxInt, math.MinInt} {
		refuseAllocation(t, b, c, nil, roleOf(pm, i), nil)
	}
	for _, i := range []int{1, -1} {
		refuseAllocation(t, b, c, nil, nil, roleOf(pm, i))
	}
}

func TestM4Probabilities(t *testing.T) {
	b, c, pm := domain(t)
	for _, p := range []float32{10, 0, -0.5, 1.0001, float32(math.NaN()), float32(math.Inf(1))} {
		refuseAllocation(t, b, c, nil, []driver.BufferRole{{Model: pm, Probability: p}}, nil)
		refuseAllocation(t, b, c, nil, nil, []driver.BufferRole{{Model: pm, Probability: p}})
	}
	for _, p := range []float32{math.SmallestNonzeroFloat32, 0.5, 1} {
		_, err := c.Allocate(driver.BufferDesc{}, []driver.BufferRole{{Model: pm, Probability: p}}, nil)
		require.NoError(t, err)
	}
}

func TestM5RolesTwice(t *testing.T) {
	b, c, pm := domain(t)
	twice := append(roleOf(pm, 0), driver.BufferRole{Model: pm, Index: 0, Probability: 0.5})
	refuseAllocation(t, b, c, nil, twice, nil)
	refuseAllocation(t, b, c, nil, nil, twice)
	allocate(t, c, nil, roleOf(pm, 0), roleOf(pm, 0)) // input 0 and output 0
}

// reluModel is y = RELU(x), of one type and quantisation.
func reluModel(t nn.OperandType, scale float32, zero int32, x, y nn.Dims) *nn.Model {
	var b nn.Builder
	in := b.Input(t, x, scale, zero)
	out := b.Temp(t, y, scale, zero)
	b.Op(nn.OpRelu, []uint32{in}, []uint32{out})
	b.Output(out)
	return nntest.Build(&b)
}

func TestM6RolesDisagree(t *testing.T) {
	b, c, pm := domain(t)
	q, d := nn.TensorQuant8Asymm, nn.Dims{2, 3}
	for name, m := range map[string]*nn.Model{
		"type":       reluModel(nn.TensorFloat32, 0, 0, d, d),
		"signedness": reluModel(nn.TensorQuant8AsymmSigned, 1, 0, d, d),
		"scale":      reluModel(q, 0.5, 0, d, d),
		"zero point": reluModel(q, 1, 3, d, d),
		"rank":       reluModel(q, 1, 0, nn.Dims{6}, nn.Dims{6}),
		"dimension":  reluModel(q, 1, 0, nn.Dims{3, 2}, nn.Dims{3, 2}),
		"one known":  reluModel(q, 1, 0, nn.Dims{3, 0}, nn.Dims{3, 0}),
	} {
		t.Run(name, func(t *testing.T) {
			other := prepareOn(t, c, m)
			refuseAllocation(t, b, c, nil, append(roleOf(pm, 0), roleOf(other, 0)...), nil)
			refuseAllocation(t, b, c, nil, roleOf(pm, 0), roleOf(other, 0))
			refuseAllocation(t, b, c, nil, nil, append(roleOf(other, 0), roleOf(pm, 0)...))
		})
	}
	open := prepareOn(t, c, reluModel(q, 1, 0, nn.Dims{0, 3}, nn.Dims{0, 3}))
	unranked := prepareOn(t, c, reluModel(q, 1, 0, nil, nil))
	buffer := allocate(t, c, nil, append(roleOf(open, 0), roleOf(unranked, 0)...), roleOf(pm, 0))
	require.Equal(t, nn.Dims{2, 3}, buffer.Dims())
}

func TestM7Description(t *testing.T) {
	b, c, pm := domain(t)
	for _, d := range []nn.Dims{{6}, {2, 3, 1}, {3, 2}, {2, 4}, {0, 2}} {
		refuseAllocation(t, b, c, d, roleOf(pm, 0), nil)
		refuseAllocation(t, b, c, d, nil, roleOf(pm, 0))
	}
	for _, d := range []nn.Dims{nil, {2, 3}, {0, 3}, {0, 0}} {
		require.Equal(t, nn.Dims{2, 3}, allocate(t, c, d, roleOf(pm, 0), nil).Dims())
	}
	open := prepareOn(t, c, reluModel(nn.TensorQuant8Asymm, 1, 0, nn.Dims{0, 3}, nil))
	refuseAllocation(t, b, c, nn.Dims{math.MaxUint32, 3}, roleOf(open, 0), nil)
	require.Equal(t, nn.Dims{4, 3}, allocate(t, c, nn.Dims{4, 0}, roleOf(open, 0), nil).Dims())
	require.Equal(t, nn.Dims{0, 3}, allocate(t, c, nil, roleOf(open, 0), nil).Dims())
}

func TestM8Scalars(t *testing.T) {
	b, c, _ := domain(t)
	var mb nn.Builder
	x, y := mb.Input(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 1, 0), mb.Input(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 1, 0)
	z := mb.Temp(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 1, 0)
	mb.Op(nn.OpAdd, []uint32{x, y, mb.Input(nn.Int32, nil, 0, 0)}, []uint32{z})
	mb.Output(z)
	pm := prepareOn(t, c, nntest.Build(&mb))
	refuseAllocation(t, b, c, nn.Dims{1}, roleOf(pm, 2), nil)
	require.Empty(t, allocate(t, c, nil, roleOf(pm, 2), nil).Dims())
}

func TestM9Tokens(t *testing.T) {
	b, c, pm := domain(t)
	tokens := map[nn.BufferToken]bool{}
	for range 100 {
		buffer := allocate(t, c, nil, roleOf(pm, 0), nil)
		require.False(t, tokens[buffer.Token()])
		tokens[buffer.Token()] = true
		require.EqualValues(t, 6, b.Used())
		require.NoError(t, buffer.Close())
		require.NoError(t, buffer.Close())
		require.Zero(t, b.Used())
	}
	large := 0
	for token := range tokens {
		if token > math.MaxUint32 {
			large++
		}
	}
	require.Greater(t, large, 50, "not small numbers in a row")
}

// TestBudgets: what the device cannot give, and what the client may not have.
func TestBudgets(t *testing.T) {
	b := &null.Backend{Compute: add, MaxMemory: 20}
	d, c := open(t, b)
	pm := prepareOn(t, c, addModel())
	var list []*driver.Buffer
	for range 3 {
		list = append(list, allocate(t, c, nil, roleOf(pm, 0), nil))
	}
	_, err := c.Allocate(driver.BufferDesc{}, roleOf(pm, 0), nil)
	requireStatus(t, nn.StatusResourceExhaustedTransient, err)
	require.NoError(t, list[0].Close())
	allocate(t, c, nil, roleOf(pm, 0), nil)
	large := prepareOn(t, c, reluModel(nn.TensorQuant8Asymm, 1, 0, nn.Dims{21}, nn.Dims{21}))
	_, err = c.Allocate(driver.BufferDesc{}, roleOf(large, 0), nil)
	requireStatus(t, nn.StatusResourceExhaustedPersistent, err)

	small, err := d.NewClient("small", driver.WithClientBudget(5))
	require.NoError(t, err)
	pm = prepareOn(t, small, addModel())
	require.NoError(t, list[1].Close())
	_, err = small.Allocate(driver.BufferDesc{}, roleOf(pm, 0), nil)
	requireStatus(t, nn.StatusResourceExhaustedPersistent, err)
	require.Zero(t, small.Memory())
	require.EqualValues(t, 12, b.Used())
	require.NoError(t, c.Close())
	require.Zero(t, b.Used())
}
