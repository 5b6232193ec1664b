package driver_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// TestExecutionsKeepNothing: what an execution was given is garbage once it has ended and its caller lets go of it.
func TestExecutionsKeepNothing(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	run := func(length uint32) weak.Pointer[[24]byte] {
		memory := new([24]byte)
		r := addRequest()
		r.Pools[0], r.Inputs[0].Location.Length = nn.HostMemory(memory[:]), length
		_, err := pm.Execute(t.Context(), r, driver.WithTiming())
		require.Equal(t, length == 6, err == nil, "%v", err)
		return weak.Make(memory)
	}
	for _, length := range []uint32{6, 5} { // the second is refused
		memory := run(length)
		runtime.GC() // a sync.Pool outlives one
		require.Nil(t, memory.Value())
	}
}

// TestResultsStay: an execution does not write into the result of one before.
func TestResultsStay(t *testing.T) {
	m := reluModel(nn.TensorFloat32, 0, 0, nn.Dims{0, 3}, nil)
	pm := prepare(t, &null.Backend{}, m)
	run := func(rows uint32) *driver.Result {
		at := func(offset uint32) nn.RequestArgument {
			return nn.RequestArgument{Location: nn.Location{Offset: offset, Length: 12 * rows}, Dims: nn.Dims{rows, 3}}
		}
		res, err := pm.Execute(t.Context(), &nn.Request{
			Inputs: []nn.RequestArgument{at(0)}, Outputs: []nn.RequestArgument{at(100)}, Pools: []nn.Memory{make(nn.HostMemory, 200)},
		})
		require.NoError(t, err)
		return res
	}
	var list []*driver.Result
	for rows := uint32(1); rows < 8; rows++ {
		list = append(list, run(rows))
	}
	for i, res := range list {
		require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{uint32(i + 1), 3}, IsSufficient: true}}, res.Shapes)
	}
}
