// Command recognise reads a printed digit from a picture, dark on light: the smallest whole program around the library.
//
//	go run ./examples/digits/recognise examples/digits/samples/7.png
//
// The networks of this example differ in what they compute with, floats or 8-bit integers. The program does not: package
// picture makes what the input takes, and reads scores of any kind.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/picture"
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
func recognise(ctx context.Context, device, model, path string) (digit int, probability float32, err error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	pixels, err := picture.Decode(file, picture.Limits{})
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", path, err)
	}
	net, err := importer.Open(model)
	if err != nil {
		return 0, 0, err
	}
	classifier, err := picture.NewClassifier(net)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", model, err)
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
	outputs := prepared.NewOutputs()
	if _, err := prepared.Run(ctx, [][]byte{classifier.Input.Bytes(pixels)}, outputs); err != nil {
		return 0, 0, err
	}
	best, err := classifier.Top(outputs[0], 1)
	if err != nil {
		return 0, 0, err
	}
	return best[0].Index, best[0].Score, nil
}
