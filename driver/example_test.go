package driver_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/gpu"
)

// A network from its file to its result; it reads a digit from a picture. There is no "Output:" comment,
// because an example cannot be skipped where there is no Vulkan device.
func Example() {
	data, err := os.ReadFile("../examples/digits/digits_f32.tflite")
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
	outputs := model.NewOutputs()
	_, err = model.Run(context.Background(), [][]byte{stroke()}, outputs) // dense, row-major, little-endian
	fmt.Println(likeliest(outputs[0]), err)                               // 1 <nil>
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// stroke is a picture of 28 by 28 pixels with a one in it: 0 is paper, -1 is ink.
func stroke() []byte {
	picture := make([]byte, 28*28*4)
	for y := 4; y < 24; y++ {
		for x := 12; x < 15; x++ {
			binary.LittleEndian.PutUint32(picture[4*(28*y+x):], math.Float32bits(-1))
		}
	}
	return picture
}

// likeliest is the index of the largest of the float32 in b.
func likeliest(b []byte) (best int) {
	at := func(i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])) }
	for i := range len(b) / 4 {
		if at(i) > at(best) {
			best = i
		}
	}
	return best
}
