package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

func encodePNG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.Bytes()
}

// one is a picture of a single colour.
func one(c color.Color) image.Image {
	m := image.NewNRGBA(image.Rect(3, 5, 10, 9)) // pictures need not begin at 0
	for y := 5; y < 9; y++ {
		for x := 3; x < 10; x++ {
			m.Set(x, y, c)
		}
	}
	return m
}

// bytesOf is the value of an input for the picture in a file.
func bytesOf(t *testing.T, file []byte, o *nn.Operand, n Normalisation) []byte {
	t.Helper()
	p, err := Decode(file, Limits{})
	require.NoError(t, err)
	in, err := NewInput(o, n)
	require.NoError(t, err)
	return in.Bytes(p)
}

// TestColours converts one colour for each kind of input.
func TestColours(t *testing.T) {
	f32 := func(v ...float32) []byte {
		var b []byte
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return b
	}
	rgb := color.NRGBA{200, 100, 0, 255}
	half := []float64{127.5}
	model := Normalisation{Mean: half, Std: half}
	user := Normalisation{Mean: half, Std: half, Exact: true}
	quant := func(typ nn.OperandType, scale float32, zero int32) nn.Operand {
		return nn.Operand{Type: typ, Scale: scale, ZeroPoint: zero}
	}
	const u8, s8 = nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned
	for _, tc := range []struct {
		name     string
		o        nn.Operand
		channels uint32
		norm     Normalisation
		colour   color.Color
		want     []byte
	}{
		{"float, as it is", nn.Operand{Type: nn.TensorFloat32}, 3, Normalisation{}, rgb, f32(200, 100, 0)},
		{"float, one mean", nn.Operand{Type: nn.TensorFloat32}, 3, Normalisation{Mean: []float64{100}, Std: []float64{50}}, rgb, f32(2, 0, -2)},
		{"float, by channel", nn.Operand{Type: nn.TensorFloat32}, 3, Normalisation{Mean: []float64{0, 100, 10}, Std: []float64{1, 2, 4}}, rgb, f32(200, 0, -2.5)},
		{"half", nn.Operand{Type: nn.TensorFloat16}, 3, Normalisation{Mean: []float64{100}, Std: []float64{50}}, rgb, nn.Bytes([]nn.Half{0x4000, 0, 0xc000})},
		{"float, gray", nn.Operand{Type: nn.TensorFloat32}, 1, Normalisation{}, rgb, f32(119)}, // 0.299*200 + 0.587*100 = 118.5
		{"transparent is white", nn.Operand{Type: nn.TensorFloat32}, 3, Normalisation{}, color.NRGBA{9, 9, 9, 0}, f32(255, 255, 255)},
		{"unsigned, as it is", quant(u8, 0.5, 10), 3, Normalisation{}, rgb, []byte{200, 100, 0}},
		{"signed, as it is", quant(s8, 0.5, 10), 3, Normalisation{}, rgb, []byte{72, 256 - 28, 256 - 128}},
		{"unsigned, the model's numbers cancel", quant(u8, 1./128, 128), 3, model, rgb, []byte{200, 100, 0}},
		{"unsigned, the user's are kept", quant(u8, 1./128, 128), 3, user, rgb, []byte{201, 100, 0}},
		{"signed, the model's numbers do not cancel", quant(s8, 1./64, 0), 3, model, rgb, []byte{36, 256 - 14, 256 - 64}},
		{"out of range", quant(u8, 1./1024, 0), 3, model, rgb, []byte{255, 0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.o.Dims = nn.Dims{1, 2, 3, tc.channels}
			file := encodePNG(t, one(tc.colour))
			require.Equal(t, bytes.Repeat(tc.want, 6), bytesOf(t, file, &tc.o, tc.norm))
			checkAffine(t, &tc.o, tc.norm)
			// In planes, each element as often as there are pixels.
			tc.o.Dims = nn.Dims{1, tc.channels, 4, 5}
			var planes []byte
			for element := range slices.Chunk(tc.want, tc.o.Type.Bytes()) {
				planes = append(planes, bytes.Repeat(element, 4*5)...)
			}
			require.Equal(t, planes, bytesOf(t, file, &tc.o, tc.norm))
		})
	}
}

// checkAffine: every colour becomes what Affine says, stored in the input's type.
func checkAffine(t *testing.T, o *nn.Operand, n Normalisation) {
	t.Helper()
	in, err := NewInput(o, n)
	require.NoError(t, err)
	for k := range in.Channels {
		scale, shift := in.Affine(k)
		real := make([]float32, 256)
		for v := range real {
			real[v] = float32(float64(v)*scale + shift)
		}
		colours := *o
		colours.Dims = nn.Dims{256}
		want, err := colours.EncodeFloats(real)
		require.NoError(t, err)
		got := in.tables[k].data
		if o.Type == nn.TensorFloat32 {
			values, err := nn.Values[float32](got)
			require.NoError(t, err)
			require.InDeltaSlice(t, real, values, 1e-4, "channel %d", k)
			continue
		}
		require.Equal(t, want, got, "channel %d", k)
	}
}

func TestNoInput(t *testing.T) {
	for name, tc := range map[string]struct {
		typ       nn.OperandType
		dims      nn.Dims
		norm      Normalisation
		noPicture bool
	}{
		"rank":       {typ: nn.TensorFloat32, dims: nn.Dims{1, 4, 3}, noPicture: true},
		"batch":      {typ: nn.TensorFloat32, dims: nn.Dims{2, 4, 4, 3}, noPicture: true},
		"channels":   {typ: nn.TensorFloat32, dims: nn.Dims{1, 4, 4, 2}, noPicture: true},
		"huge input": {typ: nn.TensorFloat32, dims: nn.Dims{1, 1 << 14, 1 << 14, 3}, noPicture: true},
		"long input": {typ: nn.TensorFloat32, dims: nn.Dims{1, 4, maxInput, 3}, noPicture: true},
		"type":       {typ: nn.TensorInt32, dims: nn.Dims{1, 4, 4, 3}},
		"two means":  {typ: nn.TensorFloat32, dims: nn.Dims{1, 4, 4, 3}, norm: Normalisation{Mean: []float64{1, 2}}},
	} {
		_, err := NewInput(&nn.Operand{Type: tc.typ, Dims: tc.dims}, tc.norm)
		require.Error(t, err, name)
		require.Equal(t, tc.noPicture, errors.Is(err, ErrNoPicture), name)
	}
}

// TestOrder has a picture of two pixels, so that each element has its place.
func TestOrder(t *testing.T) {
	m := image.NewNRGBA64(image.Rect(0, 0, 2, 1)) // 16 bits a colour
	m.Set(0, 0, color.NRGBA{1, 2, 3, 255})
	m.Set(1, 0, color.NRGBA{4, 5, 6, 255})
	file := encodePNG(t, m)
	for _, tc := range []struct {
		dims nn.Dims
		want []byte
	}{
		{nn.Dims{1, 1, 2, 3}, []byte{1, 2, 3, 4, 5, 6}},
		{nn.Dims{1, 3, 1, 2}, []byte{1, 4, 2, 5, 3, 6}},
		{nn.Dims{1, 1, 2, 1}, []byte{2, 5}},
		{nn.Dims{1, 1, 1, 2}, []byte{2, 5}},
	} {
		o := nn.Operand{Type: nn.TensorQuant8Asymm, Scale: 1, Dims: tc.dims}
		require.Equal(t, tc.want, bytesOf(t, file, &o, Normalisation{}), tc.dims)
	}
}

// TestResizeKeepsEveryPixel shrinks a fine chequerboard: a filter that skipped pixels would show stripes.
func TestResizeKeepsEveryPixel(t *testing.T) {
	m := image.NewGray(image.Rect(0, 0, 640, 480))
	for i := range m.Pix {
		if (i%640+i/640)%2 == 0 {
			m.Pix[i] = 255
		}
	}
	for _, p := range Resize(m, 31, 29).Pix {
		if p != 255 { // alpha
			require.InDelta(t, 127.5, float64(p), 3)
		}
	}
}

// TestResizeKeepsPlaces enlarges a picture whose halves differ.
func TestResizeKeepsPlaces(t *testing.T) {
	m := image.NewGray(image.Rect(0, 0, 2, 1))
	m.Pix[1] = 255
	big := Resize(m, 40, 10)
	require.Less(t, big.RGBAAt(5, 5).R, uint8(10))
	require.Greater(t, big.RGBAAt(35, 5).R, uint8(245))
	require.InDelta(t, 127, float64(big.RGBAAt(20, 5).R), 20)
}

// TestResizeLikeOthers compares with a picture that ImageMagick resized.
func TestResizeLikeOthers(t *testing.T) {
	data, err := os.ReadFile(nntest.Shared(t, "images", "cat.png"))
	require.NoError(t, err)
	want, err := os.ReadFile(nntest.Shared(t, "models", "mobilenet_v2_224_u8", "input_0.bin"))
	require.NoError(t, err)
	o := &nn.Operand{Type: nn.TensorQuant8Asymm, Scale: 1. / 128, ZeroPoint: 128, Dims: nn.Dims{1, 224, 224, 3}}
	got := bytesOf(t, data, o, Normalisation{})
	require.Len(t, got, len(want))
	var sum, most float64
	for i := range got {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		sum, most = sum+d, max(most, d)
	}
	t.Logf("colours differ by %.2f on average, %.0f at most", sum/float64(len(got)), most)
	require.Less(t, sum/float64(len(got)), 2.0)
}
