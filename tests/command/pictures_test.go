package command

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/bmp"

	"github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
)

// pictures is a picture in every format that is read, by file name.
func pictures(t *testing.T, path string) map[string][]byte {
	t.Helper()
	src, _, err := image.Decode(bytes.NewReader(read(t, path)))
	require.NoError(t, err)
	rgba := image.NewRGBA(src.Bounds())
	draw.Draw(rgba, rgba.Bounds(), src, src.Bounds().Min, draw.Src)
	deep := image.NewNRGBA64(src.Bounds())
	draw.Draw(deep, deep.Bounds(), src, src.Bounds().Min, draw.Src)
	list := map[string][]byte{}
	for name, encode := range map[string]func(*bytes.Buffer) error{
		"rgb.png":   func(b *bytes.Buffer) error { return png.Encode(b, rgba) },
		"deep.png":  func(b *bytes.Buffer) error { return png.Encode(b, deep) },
		"photo.jpg": func(b *bytes.Buffer) error { return jpeg.Encode(b, rgba, nil) },
		"SCAN.JPEG": func(b *bytes.Buffer) error { return jpeg.Encode(b, rgba, nil) },
		"paint.bmp": func(b *bytes.Buffer) error { return bmp.Encode(b, rgba) },
	} {
		var b bytes.Buffer
		require.NoError(t, encode(&b))
		list[name] = b.Bytes()
	}
	return list
}

func whitePicture(t *testing.T) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, 9, 7))
	draw.Draw(m, m.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.Bytes()
}

// imageNetwork writes a network that returns the positive part of a float picture of 5x4 pixels.
func imageNetwork(t *testing.T) string {
	t.Helper()
	shape := []int{1, 4, 5, 3}
	return network(t, tflitegen.Subgraph{
		Tensors: []tflitegen.Tensor{{Name: "picture", Shape: shape}, {Name: "same", Shape: shape}},
		Inputs:  []int{0}, Outputs: []int{1},
		Operators: []tflitegen.Op{{Code: tflitegen.OpRelu, Inputs: []int{0}, Outputs: []int{1}}},
	})
}
