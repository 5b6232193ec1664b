package differential

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// TestFill: of every rank and type, with awkward sizes and numbers; to the bit, and also where the shape comes at run time and
// the model says what it becomes.
func TestFill(t *testing.T) {
	values := map[nn.OperandType][]any{
		nn.TensorFloat32: {float32(1.5), float32(math.Inf(1)), float32(math.Copysign(0, -1)), float32(math.NaN()), float32(1e-40)},
		nn.TensorFloat16: {nn.Half(0x3e00), nn.Half(0xfc00), nn.Half(0x8000), nn.Half(1)},
		nn.TensorInt32:   {int32(-7), int32(math.MaxInt32), int32(math.MinInt32), int32(0)},
	}
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		for typ, list := range values {
			for i, dims := range []nn.Dims{{1}, {7}, {1, 1}, {2, 3}, {3, 4}, {1, 113}, {41, 1}, {2, 3, 5}, {1, 2, 3, 4, 5}, {2, 1, 3, 1, 2, 1, 2, 3}, {89, 1031}} {
				v := list[i%len(list)]
				for _, fed := range []bool{false, true} {
					t.Run(fmt.Sprint(typ, dims, v, fed), func(t *testing.T) {
						sizes := make([]int32, len(dims))
						for k, n := range dims {
							sizes[k] = int32(n)
						}
						var b nn.Builder
						inputs := [][]byte{nn.Bytes(sizes)}
						shape := b.Input(nn.TensorInt32, nn.Dims{uint32(len(dims))}, 0, 0)
						y := b.Temp(typ, dims, 0, 0)
						if fed {
							b.Op(nn.OpFill, []uint32{shape, b.Scalar(v)}, []uint32{y})
						} else {
							b.Op(nn.OpFill, []uint32{b.Ints(nn.Dims{uint32(len(dims))}, sizes...), b.Scalar(v)}, []uint32{y})
						}
						b.Output(y)
						pm, err := client.PrepareModel(t.Context(), nntest.Build(&b))
						require.NoError(t, err)
						defer pm.Close()
						out := pm.NewOutputs()
						_, err = pm.Run(t.Context(), inputs, out)
						require.NoError(t, err)
						want := scalarBytes(v)
						for k := 0; k < len(out[0]); k += len(want) {
							require.Equal(t, want, out[0][k:k+len(want)], k)
						}
					})
				}
			}
		}
	})
}

func scalarBytes(v any) []byte {
	switch v := v.(type) {
	case float32:
		return nn.Bytes([]float32{v})
	case nn.Half:
		return nn.Bytes([]uint16{uint16(v)})
	case int32:
		return nn.Bytes([]int32{v})
	}
	panic(v)
}

// TestFillIsPadded: a mean over the innermost dimension finds nothing in the padding behind it, and what is computed from it
// agrees with the oracle.
func TestFillIsPadded(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		var b nn.Builder
		x := b.Input(nn.TensorFloat32, nn.Dims{3}, 0, 0)
		y, z, w := b.Temp(nn.TensorFloat32, nn.Dims{2, 3, 5}, 0, 0), b.Temp(nn.TensorFloat32, nn.Dims{2, 3}, 0, 0), b.Temp(nn.TensorFloat32, nn.Dims{2, 3}, 0, 0)
		b.Op(nn.OpFill, []uint32{b.Ints(nn.Dims{3}, 2, 3, 5), b.Scalar(float32(2.25))}, []uint32{y})
		b.Op(nn.OpMean, []uint32{y, b.Ints(nn.Dims{1}, 2), b.Scalar(0)}, []uint32{z})
		b.Op(nn.OpAdd, []uint32{z, x, b.Scalar(0)}, []uint32{w})
		b.Output(w)
		Compare(t, d, nntest.Build(&b), Float32Tol, 4)
	})
}

// TestFillOfRunTimeShape: the model leaves the dimensions of the output open, which then only the data tells. They are reported
// whatever room there is, and a buffer becomes as large as what it takes.
func TestFillOfRunTimeShape(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		var b nn.Builder
		shape := b.Input(nn.TensorInt32, nn.Dims{3}, 0, 0)
		y, z := b.Temp(nn.TensorFloat32, nil, 0, 0), b.Temp(nn.TensorFloat32, nil, 0, 0)
		b.Op(nn.OpFill, []uint32{shape, b.Scalar(float32(-1.5))}, []uint32{y})
		b.Op(nn.OpAbs, []uint32{y}, []uint32{z})
		b.Output(z)
		pm, err := client.PrepareModel(t.Context(), nntest.Build(&b))
		require.NoError(t, err)
		defer pm.Close()
		buffer, err := client.Allocate(driver.BufferDesc{}, nil, []driver.BufferRole{{Model: pm, Index: 0, Probability: 1}})
		require.NoError(t, err)
		defer buffer.Close()
		for _, dims := range []nn.Dims{{2, 3, 5}, {1, 1, 1}, {7, 1, 113}, {2, 3, 5}} {
			n, err := dims.Elements()
			require.NoError(t, err)
			want := make([]float32, n)
			for i := range want {
				want[i] = 1.5
			}
			request := func(room nn.Memory) *nn.Request {
				length := uint32(0)
				if h, ok := room.(nn.HostMemory); ok {
					length = uint32(len(h))
				}
				return &nn.Request{
					Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: 12}}},
					Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: length}}},
					Pools:   []nn.Memory{nn.HostMemory(nn.Bytes([]int32{int32(dims[0]), int32(dims[1]), int32(dims[2])})), room},
				}
			}
			room := make(nn.HostMemory, 4*n+8)
			res, err := pm.Execute(t.Context(), request(room))
			require.NoError(t, err)
			require.Equal(t, dims, res.Shapes[0].Dims)
			require.Equal(t, nn.Bytes(want), []byte(room[:4*n]))
			require.Equal(t, make(nn.HostMemory, 8), room[4*n:])
			res, err = pm.Execute(t.Context(), request(make(nn.HostMemory, 4*n-1)))
			require.Equal(t, nn.StatusOutputInsufficientSize, nn.StatusOf(err), "%v", err)
			require.Equal(t, []nn.OutputShape{{Dims: dims}}, res.Shapes)
			for range 2 {
				res, err = pm.Execute(t.Context(), request(buffer.Token()))
				require.NoError(t, err)
				require.Equal(t, dims, res.Shapes[0].Dims)
				got := make(nn.HostMemory, 4*n)
				require.NoError(t, buffer.CopyTo(t.Context(), got))
				require.Equal(t, nn.Bytes(want), []byte(got))
			}
		}
		for _, bad := range [][]int32{{0, 1, 1}, {-1, 2, 2}, {1 << 20, 1 << 20, 1}} {
			_, err := pm.Execute(t.Context(), &nn.Request{
				Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: 12}}},
				Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: 64}}},
				Pools:   []nn.Memory{nn.HostMemory(nn.Bytes(bad)), make(nn.HostMemory, 64)},
			})
			require.Error(t, err, bad)
			require.NotEqual(t, nn.StatusOutputInsufficientSize, nn.StatusOf(err), bad)
		}
	})
}
