package differential

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// TestRank: of every type and rank, of inputs and constants; a scalar is the output.
func TestRank(t *testing.T) {
	types := []nn.OperandType{
		nn.TensorFloat32, nn.TensorFloat16, nn.TensorInt32, nn.TensorBool8, nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned,
		nn.TensorQuant16Symm, nn.TensorQuant16Asymm, nn.TensorQuant8Symm, nn.TensorQuant8PerChannel,
	}
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		for i, typ := range types {
			t.Run(fmt.Sprint(typ), func(t *testing.T) {
				rank := 1 + i%5
				dims := nn.Dims{3, 1, 2, 5, 1}[:rank]
				n, err := dims.Elements()
				require.NoError(t, err)
				value := make([]byte, int(n)*typ.Bytes())
				scale := float32(0)
				if typ.IsQuant8() || typ == nn.TensorQuant16Symm || typ == nn.TensorQuant16Asymm || typ == nn.TensorQuant8Symm {
					scale = 0.5
				}
				for _, fixed := range []bool{false, true} {
					var b nn.Builder
					var x uint32
					inputs := [][]byte{}
					if fixed {
						x = b.Const(typ, dims, scale, 0, value)
					} else {
						x, inputs = b.Input(typ, dims, scale, 0), [][]byte{value}
					}
					y := b.Temp(nn.Int32, nil, 0, 0)
					b.Op(nn.OpRank, []uint32{x}, []uint32{y})
					b.Output(y)
					m := nntest.Build(&b)
					if typ == nn.TensorQuant8PerChannel {
						m.Main.Operands[x].Channel = &nn.ChannelQuant{Scales: make([]float32, dims[0])}
						for k := range m.Main.Operands[x].Channel.Scales {
							m.Main.Operands[x].Channel.Scales[k] = 1
						}
					}
					pm, err := client.PrepareModel(t.Context(), m)
					require.NoError(t, err)
					out := pm.NewOutputs()
					_, err = pm.Run(t.Context(), inputs, out)
					require.NoError(t, err)
					require.Equal(t, nn.Bytes([]int32{int32(rank)}), out[0])
					require.NoError(t, pm.Close())
				}
			})
		}
	})
}
