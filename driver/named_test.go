package driver_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/null"
)

// namedAdd is addModel with names.
func namedAdd() *nn.Model {
	m := addModel()
	m.Names = nn.Names{Inputs: []string{"x", "y"}, Outputs: []string{"sum", "of nothing"}}
	return m
}

func TestRunNamed(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, namedAdd())
	x, y := []byte{1, 2, 3, 4, 5, 6}, []byte{1, 1, 1, 1, 1, 1}
	out, err := pm.RunNamed(t.Context(), map[string][]byte{"y": y, "x": x})
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"sum": {2, 3, 4, 5, 6, 7}}, out)
	for _, tc := range []struct {
		name, want string
		inputs     map[string][]byte
	}{
		{"missing", `input "y": INVALID_ARGUMENT: is missing: the model has "x", "y"`, map[string][]byte{"x": x}},
		{"nil", `input "x": INVALID_ARGUMENT: is missing`, map[string][]byte{"x": nil, "y": y}},
		{"none", `input "x": INVALID_ARGUMENT: is missing`, nil},
		{"unknown", `input "z": INVALID_ARGUMENT: there is none of this name: the model has "x", "y"`, map[string][]byte{"x": x, "y": y, "z": x}},
		{"empty", `input "": INVALID_ARGUMENT: there is none of this name`, map[string][]byte{"x": x, "y": y, "": x}},
		{"an output", `input "sum": INVALID_ARGUMENT: there is none of this name`, map[string][]byte{"x": x, "sum": y}},
		{"too short", `input "x": values: INVALID_ARGUMENT: 5 bytes; TENSOR_QUANT8_ASYMM[2 3] has 6`, map[string][]byte{"x": x[:5], "y": y}},
		{"no bytes", `input "x": values: INVALID_ARGUMENT: 0 bytes`, map[string][]byte{"x": {}, "y": y}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := pm.RunNamed(t.Context(), tc.inputs)
			require.Nil(t, out)
			requireStatus(t, nn.StatusInvalidArgument, err)
			require.ErrorContains(t, err, tc.want)
		})
	}
	require.NoError(t, pm.Close())
	_, err = pm.RunNamed(t.Context(), map[string][]byte{"y": y, "x": x})
	require.ErrorIs(t, err, driver.ErrClosed)
}

// TestNamesThatDoNotServe: models whose inputs or outputs cannot be told apart by names.
func TestNamesThatDoNotServe(t *testing.T) {
	x := make([]byte, 6)
	for _, tc := range []struct {
		name, want string
		names      nn.Names
	}{
		{"none", `input 0: INVALID_ARGUMENT: has no name: the model has "", ""`, nn.Names{}},
		{"too few", `input 1: INVALID_ARGUMENT: has no name: the model has "x", ""`, nn.Names{Inputs: []string{"x"}, Outputs: []string{"sum"}}},
		{"twice", `input 1: INVALID_ARGUMENT: has the name "x" of another: the model has "x", "x"`, nn.Names{Inputs: []string{"x", "x"}, Outputs: []string{"sum"}}},
		{"no output", `output 0: INVALID_ARGUMENT: has no name`, nn.Names{Inputs: []string{"x", "y"}}},
		{"long", `has the name "` + longName[:100] + `" of another`, nn.Names{Inputs: []string{longName, longName}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := addModel()
			m.Names = tc.names
			pm := prepare(t, &null.Backend{}, m)
			out, err := pm.RunNamed(t.Context(), map[string][]byte{"x": x, "y": x})
			require.Nil(t, out)
			requireStatus(t, nn.StatusInvalidArgument, err)
			require.ErrorContains(t, err, tc.want)
			require.Less(t, len(err.Error()), 1000)
		})
	}
}

var longName = fmt.Sprintf("%01000d", 1)

// TestManyNames: a message lists some of them.
func TestManyNames(t *testing.T) {
	var b nn.Builder
	for i := range 100 {
		x, y := b.Input(nn.TensorFloat32, nn.Dims{1}, 0, 0), b.Temp(nn.TensorFloat32, nn.Dims{1}, 0, 0)
		b.Op(nn.OpRelu, []uint32{x}, []uint32{y})
		b.Output(y)
		b.Name(x, fmt.Sprint("x", i))
		b.Name(y, fmt.Sprint("y", i))
	}
	pm := prepare(t, &null.Backend{}, nntest.Build(&b))
	_, err := pm.RunNamed(t.Context(), nil)
	require.ErrorContains(t, err, `"x18", "x19", and 80 more`)
}

// TestRunNamedWithoutOptionalInputs: those may be left out, whatever their dimensions; open ones that are given may not.
func TestRunNamedWithoutOptionalInputs(t *testing.T) {
	m := portsModel()
	m.Names = nn.Names{Inputs: []string{"image", "order", "filter"}, Outputs: []string{"image", "real"}}
	omitted := false
	pm := prepare(t, &null.Backend{Compute: func(inputs, outputs [][]byte) error {
		omitted = inputs[1] == nil
		copy(outputs[0], inputs[0])
		return nil
	}}, m)
	image, filter := []byte{1, 2, 3, 4, 5, 6}, make([]byte, 4)
	for _, inputs := range []map[string][]byte{{"image": image, "filter": filter}, {"image": image, "filter": filter, "order": nil}} {
		out, err := pm.RunNamed(t.Context(), inputs)
		require.NoError(t, err)
		require.True(t, omitted)
		require.Equal(t, image, out["image"])
		require.Len(t, out["real"], 16)
	}
	_, err := pm.RunNamed(t.Context(), map[string][]byte{"image": image, "filter": filter, "order": make([]byte, 8)})
	requireStatus(t, nn.StatusInvalidArgument, err)
	require.ErrorContains(t, err, `input "order": dimensions: INVALID_ARGUMENT: TENSOR_INT32[0] are open`)
	_, err = pm.RunNamed(t.Context(), map[string][]byte{"image": image})
	require.ErrorContains(t, err, `input "filter": INVALID_ARGUMENT: is missing: the model has "image", "order" (optional), "filter"`)
}

// TestRunNamedWithOpenDimensions: what a request has to give is refused before anything runs.
func TestRunNamedWithOpenDimensions(t *testing.T) {
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{2, 3}, 0, 0)
	order := b.Input(nn.TensorInt32, nn.Dims{2}, 0, 0)
	y := b.Temp(nn.TensorFloat32, nil, 0, 0)
	b.Op(nn.OpTranspose, []uint32{x, order}, []uint32{y})
	b.Output(y)
	for _, tc := range []struct {
		name, want string
		model      *nn.Model
	}{
		{"input", `input "x": dimensions: INVALID_ARGUMENT: TENSOR_FLOAT32[0 3] are open`, reluModel(nn.TensorFloat32, 0, 0, nn.Dims{0, 3}, nil)},
		{"output", `output "y": dimensions: INVALID_ARGUMENT: TENSOR_FLOAT32[] are open`, nntest.Build(&b)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.model.Names = nn.Names{Inputs: []string{"x", "order"}, Outputs: []string{"y"}}
			back := &null.Backend{}
			pm := prepare(t, back, tc.model)
			inputs := map[string][]float32{"x": make([]float32, 6), "order": {1, 0}}
			if len(tc.model.Main.Inputs) == 1 {
				delete(inputs, "order")
			}
			_, err := pm.RunFloats(t.Context(), inputs)
			requireStatus(t, nn.StatusInvalidArgument, err)
			require.ErrorContains(t, err, tc.want)
			require.Equal(t, compiled(tc.model), back.Calls())
		})
	}
}

// TestRunFloats: real values go in and come out, whatever the types.
func TestRunFloats(t *testing.T) {
	var b nn.Builder
	x := b.Input(nn.TensorQuant8Asymm, nn.Dims{1, 4}, 0.5, 128)
	h := b.Input(nn.TensorFloat16, nn.Dims{1, 2}, 0, 0)
	f := b.Input(nn.TensorFloat32, nn.Dims{2}, 0, 0)
	y := b.Temp(nn.TensorQuant8Asymm, nn.Dims{1, 4}, 0.5, 128)
	g := b.Temp(nn.TensorFloat16, nn.Dims{1, 2}, 0, 0)
	e := b.Temp(nn.TensorFloat32, nn.Dims{2}, 0, 0)
	for _, op := range [][2]uint32{{x, y}, {h, g}, {f, e}} {
		b.Op(nn.OpRelu, []uint32{op[0]}, []uint32{op[1]})
		b.Output(op[1])
	}
	for i, name := range map[uint32]string{x: "x", h: "h", f: "f", y: "y", g: "g", e: "e"} {
		b.Name(i, name)
	}
	pm := prepare(t, &null.Backend{Compute: func(inputs, outputs [][]byte) error {
		for i := range inputs {
			copy(outputs[i], inputs[i])
		}
		return nil
	}}, nntest.Build(&b))
	nan := float32(math.NaN())
	inputs := map[string][]float32{"x": {0.25, -0.75, 99, -99}, "h": {0.1, 1e6}, "f": {0.1, nan}}
	out, err := pm.RunFloats(t.Context(), inputs)
	require.NoError(t, err)
	require.Len(t, out, 3)
	require.Equal(t, []float32{0.5, -1, 63.5, -64}, out["y"])
	require.Equal(t, []float32{0.099975586, float32(math.Inf(1))}, out["g"])
	require.Equal(t, float32(0.1), out["e"][0])
	require.True(t, math.IsNaN(float64(out["e"][1])))

	inputs["x"][2] = nan
	_, err = pm.RunFloats(t.Context(), inputs)
	requireStatus(t, nn.StatusInvalidArgument, err)
	require.ErrorContains(t, err, `input "x": values: INVALID_ARGUMENT: element 2 is NaN`)
	inputs["x"] = inputs["x"][:3]
	_, err = pm.RunFloats(t.Context(), inputs)
	requireStatus(t, nn.StatusInvalidArgument, err)
	require.ErrorContains(t, err, "3 values; TENSOR_QUANT8_ASYMM[1 4] has 4")
}
