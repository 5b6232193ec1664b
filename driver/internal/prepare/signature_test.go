package prepare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// TestStoredSignature: what a request is checked against comes back, without what lies between.
func TestStoredSignature(t *testing.T) {
	var b nn.Builder
	x := b.Input(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 0.5, 7)
	order := b.Input(nn.TensorInt32, nn.Dims{0}, 0, 0)
	y := b.Temp(nn.TensorQuant8Asymm, nn.Dims{2, 3}, 0.5, 7)
	z := b.Temp(nn.TensorQuant8Asymm, nn.Dims{3, 2}, 0.5, 7)
	b.Op(nn.OpRelu, []uint32{x}, []uint32{y})
	b.Op(nn.OpTranspose, []uint32{y, order}, []uint32{z})
	b.Output(z)
	m := nntest.Build(&b)
	m.Names = nn.Names{Inputs: []string{"image", "order"}, Outputs: []string{"\x1b[0m \xff"}}
	o := &backend.Options{Preference: nn.SustainedSpeed, Priority: nn.PriorityHigh}

	stored, err := encodeSignature(m, o, optimised, false)
	require.NoError(t, err)
	s, rest, err := decodeSignature(append(stored, "plan"...))
	require.NoError(t, err)
	require.Equal(t, "plan", string(rest))
	require.Equal(t, m.Names, s.model().Names)
	require.Equal(t, []string{"operation 0 (RELU)", ""}, s.Needed)
	require.Equal(t, o, &backend.Options{Preference: s.Preference, Priority: s.Priority})
	g := s.model().Main
	require.Equal(t, []nn.Operand{m.Main.Operands[x], m.Main.Operands[order], m.Main.Operands[z]}, g.Operands)
	require.Empty(t, g.Operations)
	for n := range stored {
		_, _, err := decodeSignature(stored[:n])
		require.Error(t, err)
	}
}
