// Image classifies a picture that lies in an image pool, as a camera or a video decoder leaves it, and touches none of its
// pixels: a network over 8-bit colours takes the texels as they are, and the device reads them where they lie, if it can.
//
//	go run ./examples/image examples/digits/samples/7.png
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/picture"
	"github.com/nngpu/nngpu/memory"
)

func main() {
	model := flag.String("model", "examples/digits/digits_s8.tflite", "an 8-bit network that classifies pictures")
	device := flag.String("device", "", "a device, as nngpu info lists them; the best one by default")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: image [flags] PICTURE")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Stdout, *device, *model, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run classifies the picture in a file and prints what it is, and what was moved for that.
func run(ctx context.Context, out io.Writer, device, model, path string) (err error) {
	file, err := importer.Open(model)
	if err != nil {
		return err
	}
	net, err := picture.NewClassifier(file)
	if err != nil {
		return fmt.Errorf("%s: %w", model, err)
	}
	if in := file.Inputs[0]; in.Scale == 0 {
		return fmt.Errorf("%s: the input is %s, no picture of 8-bit colours", model, in.Type)
	}
	dev, err := nngpu.Open(nngpu.Options{Device: device})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	client, err := dev.NewClient("image")
	if err != nil {
		return err
	}
	prepared, err := client.PrepareModel(ctx, net.Model)
	if err != nil {
		return err
	}
	frame, err := newFrame(net.Input)
	if err != nil {
		return err
	}
	defer frame.Close()
	if err := shoot(frame, net.Input, path); err != nil {
		return err
	}

	// An image is used as a whole, so that its argument says no more than which pool it is.
	scores := prepared.NewOutputs()[0]
	result, err := prepared.Execute(ctx, &nn.Request{
		Inputs:  []nn.RequestArgument{{Location: nn.Location{PoolIndex: 0}}},
		Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: uint32(len(scores))}}},
		Pools:   []nn.Memory{frame, nn.HostMemory(scores)},
	})
	if err != nil {
		return err
	}
	best, err := net.Top(scores, 1)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s (%.2f); %d bytes copied, %d read by the device as texels\n", best[0], best[0].Score, result.Traffic.Copied, result.Traffic.Converted)
	return nil
}

// newFrame makes an image pool for a picture of the network's size. That of a camera would come as a file descriptor, for
// memory.Open. Its rows are longer than the picture is wide, as those of most cameras are.
func newFrame(in *picture.Input) (*memory.Image, error) {
	d := memory.Descriptor{
		Width: uint32(in.Width), Height: uint32(in.Height), Layers: 1,
		Stride: uint32(in.Width+63) / 64 * 64, Format: memory.FormatR8,
	}
	if in.Channels == 3 {
		d.Format = memory.FormatRGBX8 // of four bytes, the last of which means nothing
	}
	pool, err := memory.NewHardwareBuffer("frame", d)
	if err != nil {
		return nil, err
	}
	return pool.(*memory.Image), nil // as of all formats but that of bytes
}

// shoot does what a camera would: it leaves a picture in the frame.
func shoot(frame *memory.Image, in *picture.Input, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	p, err := picture.Decode(data, picture.Limits{})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return frame.WriteTexels(in.Texels(p))
}
