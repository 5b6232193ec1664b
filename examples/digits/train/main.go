// Command train makes the digit networks of this example: it draws digits from the typefaces its Go modules carry,
// trains a small convolutional network, quantizes it, and reports how both forms read typefaces that training
// never saw.
//
//	cd examples/digits/train && go run .
//
// writes digits_f32.tflite, digits_s8.tflite, labels.txt and samples/0.png to 9.png. Equal flags give equal files
// on one processor architecture.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the weights, the pictures and their order")
	flag.StringVar(&o.out, "out", "..", "folder to write to")
	flag.IntVar(&o.epochs, "epochs", 12, "rounds of training")
	flag.IntVar(&o.pictures, "pictures", 16000, "fresh pictures a round")
	flag.IntVar(&o.testPictures, "test-pictures", 10000, "pictures of the typefaces held back")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	start := time.Now()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
	fmt.Printf("done in %v\n", time.Since(start).Round(time.Second))
}
