// Command recognise reads a printed digit from a picture, dark on light: the smallest whole program around the library.
//
//	go run ./examples/digits/recognise examples/digits/samples/7.png
//
// The networks of this example differ in what they compute with, floats or 8-bit integers. The program does not: names of
// inputs and outputs and real numbers are all that it needs.
package main

import (
	"context"
	"flag"
	"fmt"
	"image"
	_ "image/png" // registers the format
	"os"

	"golang.org/x/image/draw"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/driver/importer"
)

func main() {
	model := flag.String("model", "examples/digits/digits_s8.tflite", "network to use")
	device := flag.String("device", "", "Vulkan device, by a part of its name; the best one without")
	flag.Parse()
	for _, picture := range flag.Args() {
		digit, probability, err := recognise(context.Background(), *device, *model, picture)
		if err != nil {
			fmt.Fprintln(os.Stderr, "recognise:", err)
			os.Exit(1)
		}
		fmt.Printf("%s: %d (%.0f %%)\n", picture, digit, 100*probability)
	}
}

// recognise reads the digit in a picture.
func recognise(ctx context.Context, device, model, picture string) (digit int, probability float32, err error) {
	pixels, err := readPicture(picture)
	if err != nil {
		return 0, 0, err
	}
	net, err := importer.Open(model)
	if err != nil {
		return 0, 0, err
	}
	dev, err := nngpu.Open(nngpu.Options{Device: device})
	if err != nil {
		return 0, 0, err
	}
	defer dev.Close() // and what is made of it below
	client, err := dev.NewClient("recognise")
	if err != nil {
		return 0, 0, err
	}
	prepared, err := client.PrepareModel(ctx, net.Model)
	if err != nil {
		return 0, 0, err
	}
	results, err := prepared.RunFloats(ctx, map[string][]float32{"image": pixels})
	if err != nil {
		return 0, 0, err
	}
	for i, p := range results["probabilities"] {
		if p > probability {
			digit, probability = i, p
		}
	}
	return digit, probability, nil
}

// side is how many pixels the networks take in both directions.
const side = 28

// readPicture reads a picture as the networks take it: 0 is white, -1 black.
func readPicture(path string) ([]float32, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	full, _, err := image.Decode(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	small := image.NewGray(image.Rect(0, 0, side, side))
	draw.CatmullRom.Scale(small, small.Rect, full, full.Bounds(), draw.Src, nil)
	pixels := make([]float32, len(small.Pix))
	for i, v := range small.Pix {
		pixels[i] = (float32(v) - 255) / 255
	}
	return pixels, nil
}
