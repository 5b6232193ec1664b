package live

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// network has outputs of the given dimensions, of floats but where types say else.
func network(labels []string, types map[int]nn.OperandType, dims ...nn.Dims) *importer.Network {
	m := &nn.Model{}
	for i, d := range dims {
		o := nn.Operand{Type: nn.TensorFloat32, Dims: d}
		if t, ok := types[i]; ok {
			o.Type, o.Scale = t, 1
		}
		m.Main.Outputs = append(m.Main.Outputs, uint32(len(m.Main.Operands)))
		m.Main.Operands = append(m.Main.Operands, o)
	}
	net := &importer.Network{Model: m}
	if labels != nil {
		net.Metadata.Outputs = []importer.TensorMetadata{{Labels: labels}}
	}
	return net
}

func TestKinds(t *testing.T) {
	u8 := map[int]nn.OperandType{0: nn.TensorQuant8Asymm}
	for _, tc := range []struct {
		name   string
		labels []string
		types  map[int]nn.OperandType
		dims   []nn.Dims
		want   Kind
	}{
		{name: "classifier", types: u8, dims: []nn.Dims{{1, 1001}}, want: Labels},
		{name: "classifier of rank 4", dims: []nn.Dims{{1, 1, 1, 10}}, want: Labels},
		{name: "labelled, with a second output", labels: []string{"a", "b", "c"}, dims: []nn.Dims{{1, 3}, {1, 1}}, want: Labels},
		{name: "segmentation", dims: []nn.Dims{{1, 257, 257, 21}}, want: Mask},
		{name: "two classes", dims: []nn.Dims{{1, 8, 8, 2}}, want: Mask},
		{name: "picture", dims: []nn.Dims{{1, 384, 384, 3}}, want: Image},
		{name: "grey picture", types: u8, dims: []nn.Dims{{1, 20, 30, 1}}, want: Image},
		{name: "face", dims: []nn.Dims{{1, 1, 1, 1404}, {1, 1, 1, 1}}, want: Points},
		{name: "detections", dims: []nn.Dims{{1, 10, 4}, {1, 10}, {1, 10}, {1}}, want: Boxes},
		{name: "one number", dims: []nn.Dims{{1, 1}}, want: Raw},
		{name: "sequences", dims: []nn.Dims{{1, 20, 30}}, want: Raw},
		{name: "integers", types: map[int]nn.OperandType{0: nn.TensorInt32}, dims: []nn.Dims{{1, 9, 9, 3}}, want: Raw},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, KindOf(network(tc.labels, tc.types, tc.dims...)))
		})
	}
}

func TestRefusedKinds(t *testing.T) {
	for _, tc := range []struct {
		kind  Kind
		types map[int]nn.OperandType
		dims  nn.Dims
		says  string
	}{
		{Mask, nil, nn.Dims{1, 10}, "no scores of classes for each pixel"},
		{Mask, nil, nn.Dims{1, 4, 4, 1}, "no scores of classes for each pixel"},
		{Image, nil, nn.Dims{1, 4, 4, 4}, "no picture"},
		{Image, nil, nn.Dims{2, 4, 4, 3}, "no picture"},
		{Image, map[int]nn.OperandType{0: nn.TensorInt32}, nn.Dims{1, 4, 4, 3}, "TENSOR_INT32"},
		{Boxes, nil, nn.Dims{1, 10, 4}, "no boxes"},
		{Points, nil, nn.Dims{1, 7}, "no list of points"},
		{Labels, nil, nn.Dims{1, 20000}, "80000 bytes; of a frame at most 65536"},
		{Raw, map[int]nn.OperandType{0: nn.TensorBool8}, nn.Dims{1, 20}, "TENSOR_BOOL8"},
		{Raw, nil, nn.Dims{0, 20}, "only an execution tells"},
		{"bars", nil, nn.Dims{1, 20}, "no kind"},
	} {
		require.ErrorContains(t, tc.kind.Check(network(nil, tc.types, tc.dims)), tc.says, "%v", tc)
	}
}

func TestStatedRanges(t *testing.T) {
	nan := float32(math.NaN())
	for _, tc := range []struct {
		name      string
		mean, std []float32
		want      [2]float32
	}{
		{name: "nothing"},
		{name: "0 to 1", mean: []float32{0}, std: []float32{1. / 255}, want: [2]float32{0, 1}},
		{name: "-1 to 1", mean: []float32{-1, -1, -1}, std: []float32{1 / 127.5, 1 / 127.5, 1 / 127.5}, want: [2]float32{-1, 1}},
		{name: "colours", mean: []float32{0}, want: [2]float32{0, 255}},
		{name: "upside down", std: []float32{-1}},
		{name: "nothing between", mean: []float32{1e20}, std: []float32{1}},
		{name: "too far apart", std: []float32{1e30}},
		{name: "no number", mean: []float32{nan}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			net := network(nil, nil, nn.Dims{1, 4, 4, 3})
			require.Zero(t, StatedRange(net))
			net.Metadata.Outputs = []importer.TensorMetadata{{Mean: tc.mean, Std: tc.std}}
			require.Equal(t, tc.want, StatedRange(net))
		})
	}
	s := (&session{Setup: &Setup{Network: network(nil, nil, nn.Dims{1, 4, 4, 3}), Kind: Image, Range: [2]float32{-1, 1}}}).scene()
	require.Equal(t, []float32{-1, 1}, []float32{s.Low, s.High})
}

func TestPointSizes(t *testing.T) {
	for _, tc := range []struct {
		dims nn.Dims
		want int
	}{
		{nn.Dims{1, 1404}, 3}, {nn.Dims{1, 8}, 2}, {nn.Dims{1, 7}, 0}, {nn.Dims{1, 1}, 0}, {nn.Dims{1, 21, 2}, 2}, {nn.Dims{1, 4, 3}, 3}, {nn.Dims{1, 6, 4}, 3},
	} {
		require.Equal(t, tc.want, pointSize(tc.dims), tc.dims)
	}
}

func TestOutcomes(t *testing.T) {
	missedTransient := nn.Errorf(nn.StatusMissedDeadlineTransient, "execution", "late")
	other := errors.New("lost")
	for _, tc := range []struct {
		err            error
		took, deadline time.Duration
		want           outcome
		fails          bool
	}{
		{nil, 5, 0, met, false}, {nil, 5, 5, met, false}, {nil, 6, 5, late, false},
		{missedTransient, 6, 5, missed, false},
		{nn.Errorf(nn.StatusMissedDeadlinePersistent, "execution", "%w", qos.ErrRefused), 1, 5, refused, false},
		{nn.Errorf(nn.StatusResourceExhaustedTransient, "execution", "full"), 1, 5, refused, false},
		{context.Canceled, 1, 5, 0, true}, {other, 1, 5, 0, true},
	} {
		got, err := outcomeOf(tc.err, tc.took, tc.deadline)
		require.Equal(t, tc.want, got, tc.err)
		require.Equal(t, tc.fails, err != nil, tc.err)
	}
}
