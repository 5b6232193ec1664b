package nngpu_test

import (
	"context"
	"fmt"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/driver/importer"
)

// A vertical stroke is a 1. There is no "Output:" comment, because an example cannot be skipped where there is no Vulkan
// device.
func Example() {
	ctx := context.Background()
	pixels := make([]float32, 28*28) // 0 is white, -1 black
	for y := 4; y < 24; y++ {
		pixels[28*y+14], pixels[28*y+15] = -1, -1
	}
	dev, err := nngpu.Open(nngpu.Options{})
	check(err)
	defer dev.Close() // and everything made from it
	net, err := importer.Open("examples/digits/digits_s8.tflite")
	check(err)
	client, err := dev.NewClient("example")
	check(err)
	model, err := client.PrepareModel(ctx, net.Model)
	check(err)
	results, err := model.RunFloats(ctx, map[string][]float32{"image": pixels})
	check(err)
	fmt.Println(results["probabilities"]) // of the digits 0 to 9
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
