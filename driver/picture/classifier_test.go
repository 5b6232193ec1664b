package picture_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer"
	_ "github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/picture"
)

// What a classifier takes and gives; the bytes go through PreparedModel.Run.
func Example() {
	net, err := importer.Open("../../examples/digits/digits_s8.tflite")
	check(err)
	c, err := picture.NewClassifier(net)
	check(err)
	file, err := os.ReadFile("../../examples/digits/samples/7.png")
	check(err)
	p, err := picture.Decode(file, picture.Limits{Side: 2048})
	check(err)
	fmt.Println(p.Bounds().Size(), "becomes", len(c.Input.Bytes(p)), "bytes")
	output := bytes.Repeat([]byte{0x80}, 10) // of the device; -128 is a score of 0
	output[7], output[1] = 127, 0
	best, err := c.Top(output, 2)
	check(err)
	fmt.Printf("%v %.2f, %v %.2f\n", best[0], best[0].Score, best[1], best[1].Score)
	// Output:
	// (96,96) becomes 784 bytes
	// 7 1.00, 1 0.50
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func TestTop(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	labels := []string{"a", "b", "c"}
	require.Equal(t, []picture.Class{{1, "b", 3}, {3, "", 3}, {2, "c", 2}}, picture.Top([]float32{1, 3, 2, 3}, labels, 3))
	require.Equal(t, []picture.Class{{2, "c", inf}, {1, "b", 0}, {3, "", -inf}}, picture.Top([]float32{nan, 0, inf, -inf}, labels, 9))
	require.Empty(t, picture.Top(nil, nil, 5))
	require.Equal(t, "class 3", picture.Class{Index: 3}.String())
}

func TestParseLabels(t *testing.T) {
	list, err := picture.ParseLabels([]byte("cat\r\n dog \n\nbird\n\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"cat", "dog", "", "bird"}, list)
	for _, bad := range []string{"", "\n\r\n", "\xff"} {
		_, err := picture.ParseLabels([]byte(bad))
		require.ErrorContains(t, err, "no labels")
	}
}

// TestLimits: the bound of a program is held beside those of the package, by the header alone.
func TestLimits(t *testing.T) {
	var file bytes.Buffer
	require.NoError(t, png.Encode(&file, image.NewGray(image.Rect(0, 0, 11, 3))))
	_, err := picture.Decode(file.Bytes(), picture.Limits{Side: 11})
	require.NoError(t, err)
	_, err = picture.Decode(file.Bytes()[:40], picture.Limits{Side: 10})
	require.ErrorIs(t, err, picture.ErrTooLarge)
	_, err = picture.Read(bytes.NewReader(nil), picture.MaxFileBytes+1, picture.Limits{})
	require.ErrorIs(t, err, picture.ErrTooLarge)
	_, err = picture.Decode([]byte("GIF89a"), picture.Limits{})
	require.ErrorIs(t, err, image.ErrFormat)
}

// TestClassifier: float networks that state nothing take colours from -1 to 1, and a network of another kind is none.
func TestClassifier(t *testing.T) {
	build := func(inputs int, dims nn.Dims) *importer.Network {
		var b nn.Builder
		for range inputs {
			x := b.Input(nn.TensorFloat32, dims, 0, 0)
			y := b.Temp(nn.TensorFloat32, dims, 0, 0)
			b.Op(nn.OpRelu, []uint32{x}, []uint32{y})
			b.Output(y)
		}
		m, err := b.Build()
		require.NoError(t, err)
		return &importer.Network{Model: m}
	}
	c, err := picture.NewClassifier(build(1, nn.Dims{1, 2, 2, 1}))
	require.NoError(t, err)
	black := image.NewGray(image.Rect(0, 0, 2, 2))
	black.SetGray(1, 1, color.Gray{255})
	require.Equal(t, nn.Bytes([]float32{-1, -1, -1, 1}), c.Input.Bytes(black))
	top, err := c.Top(nn.Bytes([]float32{0, 4, 1, 4}), 2)
	require.NoError(t, err)
	require.Equal(t, []picture.Class{{1, "", 4}, {3, "", 4}}, top)
	nan := float32(math.NaN())
	_, err = c.Top(nn.Bytes([]float32{nan, nan, nan, nan}), 2)
	require.ErrorContains(t, err, "none of the scores")
	_, err = c.Top(make([]byte, 3), 1)
	require.Error(t, err)
	for _, net := range []*importer.Network{build(2, nn.Dims{1, 2, 2, 1}), build(1, nn.Dims{4})} {
		_, err := picture.NewClassifier(net)
		require.ErrorIs(t, err, picture.ErrNoPicture)
	}
}
