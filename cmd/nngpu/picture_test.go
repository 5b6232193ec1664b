package main

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
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
	model := normalisation{mean: half, std: half}
	user := normalisation{mean: half, std: half, given: true}
	quant := func(typ nn.OperandType, scale float32, zero int32) nn.Operand {
		return nn.Operand{Type: typ, Scale: scale, ZeroPoint: zero}
	}
	const u8, s8 = nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned
	for _, tc := range []struct {
		name     string
		o        nn.Operand
		channels uint32
		norm     normalisation
		colour   color.Color
		want     []byte
	}{
		{"float, as it is", nn.Operand{Type: nn.TensorFloat32}, 3, normalisation{}, rgb, f32(200, 100, 0)},
		{"float, one mean", nn.Operand{Type: nn.TensorFloat32}, 3, normalisation{mean: []float64{100}, std: []float64{50}}, rgb, f32(2, 0, -2)},
		{"float, by channel", nn.Operand{Type: nn.TensorFloat32}, 3, normalisation{mean: []float64{0, 100, 10}, std: []float64{1, 2, 4}}, rgb, f32(200, 0, -2.5)},
		{"half", nn.Operand{Type: nn.TensorFloat16}, 3, normalisation{mean: []float64{100}, std: []float64{50}}, rgb, nn.Bytes([]nn.Half{0x4000, 0, 0xc000})},
		{"float, gray", nn.Operand{Type: nn.TensorFloat32}, 1, normalisation{}, rgb, f32(119)}, // 0.299*200 + 0.587*100 = 118.5
		{"transparent is white", nn.Operand{Type: nn.TensorFloat32}, 3, normalisation{}, color.NRGBA{9, 9, 9, 0}, f32(255, 255, 255)},
		{"unsigned, as it is", quant(u8, 0.5, 10), 3, normalisation{}, rgb, []byte{200, 100, 0}},
		{"signed, as it is", quant(s8, 0.5, 10), 3, normalisation{}, rgb, []byte{72, 256 - 28, 256 - 128}},
		{"unsigned, the model's numbers cancel", quant(u8, 1./128, 128), 3, model, rgb, []byte{200, 100, 0}},
		{"unsigned, the user's are kept", quant(u8, 1./128, 128), 3, user, rgb, []byte{201, 100, 0}},
		{"signed, the model's numbers do not cancel", quant(s8, 1./64, 0), 3, model, rgb, []byte{36, 256 - 14, 256 - 64}},
		{"out of range", quant(u8, 1./1024, 0), 3, model, rgb, []byte{255, 0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.o.Dims = nn.Dims{1, 2, 3, tc.channels}
			got, size, err := picture(encodePNG(t, one(tc.colour)), &tc.o, tc.norm)
			require.NoError(t, err)
			require.Equal(t, image.Pt(7, 4), size)
			require.Equal(t, bytes.Repeat(tc.want, 6), got)
		})
	}
}

func TestPictureRefused(t *testing.T) {
	good := encodePNG(t, one(color.White))
	for name, tc := range map[string]struct {
		o    nn.Operand
		norm normalisation
		data []byte
	}{
		"rank":          {o: nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 4, 3}}},
		"batch":         {o: nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{2, 4, 4, 3}}},
		"channels":      {o: nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 4, 4, 2}}},
		"huge input":    {o: nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 1 << 14, 1 << 14, 3}}},
		"long input":    {o: nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 4, maxInput, 3}}},
		"type":          {o: nn.Operand{Type: nn.TensorInt32, Dims: nn.Dims{1, 4, 4, 3}}},
		"two means":     {o: nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 4, 4, 3}}, norm: normalisation{mean: []float64{1, 2}}},
		"not a picture": {o: nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 4, 4, 3}}, data: []byte("hello")},
	} {
		data := tc.data
		if data == nil {
			data = good
		}
		_, _, err := picture(data, &tc.o, tc.norm)
		require.Error(t, err, name)
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
	for _, p := range resize(m, 31, 29).Pix {
		if p != 255 { // alpha
			require.InDelta(t, 127.5, float64(p), 3)
		}
	}
}

// TestResizeKeepsPlaces enlarges a picture whose halves differ.
func TestResizeKeepsPlaces(t *testing.T) {
	m := image.NewGray(image.Rect(0, 0, 2, 1))
	m.Pix[1] = 255
	big := resize(m, 40, 10)
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
	got, _, err := picture(data, o, normalisation{})
	require.NoError(t, err)
	require.Len(t, got, len(want))
	var sum, most float64
	for i := range got {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		sum, most = sum+d, max(most, d)
	}
	t.Logf("colours differ by %.2f on average, %.0f at most", sum/float64(len(got)), most)
	require.Less(t, sum/float64(len(got)), 2.0)
}
