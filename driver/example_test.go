package driver_test

import (
	"context"
	"fmt"
	"os"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/gpu"
)

// A network from its file to its result; it reads a digit from a picture. That it computes with 8-bit numbers does not
// show: RunFloats takes and gives real ones. There is no "Output:" comment, because an example cannot be skipped where
// there is no Vulkan device.
func Example() {
	data, err := os.ReadFile("../examples/digits/digits_s8.tflite")
	check(err)
	net, err := tflite.Import(data)
	check(err)
	vulkan, err := gpu.Open("", gpu.Options{}) // "" is the best device
	check(err)
	dev := driver.NewDevice(vulkan)
	defer dev.Close() // and everything made from it
	client, err := dev.NewClient("example")
	check(err)
	model, err := client.PrepareModel(context.Background(), net.Model)
	check(err)
	results, err := model.RunFloats(context.Background(), map[string][]float32{"image": stroke()})
	fmt.Println(likeliest(results["probabilities"]), err) // 1 <nil>
}

// Inputs and outputs say what a network takes and gives. RunFloats needs nothing of it but the names; who has elements
// already, such as the bytes of a camera, passes them to RunNamed, or to Run by index.
func ExamplePreparedModel_Inputs() {
	data, err := os.ReadFile("../examples/digits/digits_s8.tflite")
	check(err)
	net, err := tflite.Import(data)
	check(err)
	dev := exampleDevice()
	defer dev.Close()
	client, err := dev.NewClient("example")
	check(err)
	model, err := client.PrepareModel(context.Background(), net.Model)
	check(err)
	for _, t := range append(model.Inputs(), model.Outputs()...) {
		fmt.Println(t.Name, t.Type, t.Dims, t.Scale, t.ZeroPoint)
		// image TENSOR_QUANT8_ASYMM_SIGNED [1 28 28 1] 0.003921569 127
		// probabilities TENSOR_QUANT8_ASYMM_SIGNED [1 10] 0.00390625 -128
	}
	image, probabilities := model.Inputs()[0], model.Outputs()[0]
	elements, err := image.EncodeFloats(stroke())
	check(err)
	results, err := model.RunNamed(context.Background(), map[string][]byte{image.Name: elements})
	check(err)
	values, err := probabilities.DecodeFloats(results[probabilities.Name])
	fmt.Println(likeliest(values), err) // 1 <nil>
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// stroke is a picture of 28 by 28 pixels with a one in it: 0 is paper, -1 is ink.
func stroke() []float32 {
	picture := make([]float32, 28*28)
	for y := 4; y < 24; y++ {
		for x := 12; x < 15; x++ {
			picture[28*y+x] = -1
		}
	}
	return picture
}

// likeliest is the index of the largest value.
func likeliest(v []float32) (best int) {
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return best
}
