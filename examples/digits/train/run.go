package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/nngpu/nngpu/examples/digits/train/internal/convnet"
	"github.com/nngpu/nngpu/examples/digits/train/internal/export"
	"github.com/nngpu/nngpu/examples/digits/train/internal/quantize"
	"github.com/nngpu/nngpu/examples/digits/train/internal/typeface"
)

type options struct {
	seed         uint64
	out          string
	epochs       int
	pictures     int // per epoch
	testPictures int
}

const (
	batch    = 64
	peakRate = 3e-3
	// calibrationPictures show quantization the range of the activations. They come from the training typefaces:
	// what is held back takes no part in making either file.
	calibrationPictures = 1000
)

// Series of random numbers made from one seed.
const (
	seriesWeights = iota
	seriesTraining
	seriesCalibration
	seriesTest
)

// series keeps the random numbers of different uses apart.
func series(seed, use uint64) uint64 { return seed<<8 | use }

func run(ctx context.Context, o options, log io.Writer) error {
	if o.epochs < 1 || o.pictures < batch || o.testPictures < 1 {
		return errors.New("--epochs, --pictures and --test-pictures must be positive, and a round needs a batch")
	}
	trainFaces, err := typeface.TrainFamilies()
	if err != nil {
		return err
	}
	testFaces, err := typeface.TestFamilies()
	if err != nil {
		return err
	}
	net, err := newNetwork(o.seed)
	if err != nil {
		return err
	}
	if err := train(ctx, net, trainFaces, o, log); err != nil {
		return err
	}
	quantized, err := quantize.Quantize(net, export.Input, samples(
		pictures(trainFaces, series(o.seed, seriesCalibration), calibrationPictures)))
	if err != nil {
		return err
	}
	report(log, net, quantized, testFaces, pictures(testFaces, series(o.seed, seriesTest), o.testPictures))
	reportSamples(log, net, quantized, testFaces)
	return write(o.out, net, quantized, testFaces)
}

// newNetwork returns the network with random weights.
func newNetwork(seed uint64) (*convnet.Network, error) {
	rng := rand.New(rand.NewPCG(series(seed, seriesWeights), 0))
	conv1 := convnet.NewConv(convnet.Shape{H: typeface.Edge, W: typeface.Edge, C: 1}, 3, 12, rng)
	pool1 := convnet.NewMaxPool(conv1.Out())
	conv2 := convnet.NewConv(pool1.Out(), 3, 24, rng)
	pool2 := convnet.NewMaxPool(conv2.Out())
	conv3 := convnet.NewConv(pool2.Out(), 3, 32, rng)
	pool3 := convnet.NewMaxPool(conv3.Out())
	hidden := convnet.NewDense(pool3.Out(), 48, true, rng)
	return convnet.New(conv1, pool1, conv2, pool2, conv3, pool3, hidden, convnet.NewDense(hidden.Out(), 10, false, rng))
}

func train(ctx context.Context, net *convnet.Network, faces []typeface.Family, o options, log io.Writer) error {
	trainer := convnet.NewTrainer(net)
	steps := o.pictures / batch
	total := steps * o.epochs
	for epoch := range o.epochs {
		loss := 0.0
		for i := range steps {
			if err := ctx.Err(); err != nil {
				return err
			}
			step := epoch*steps + i
			first := uint64(step * batch)
			loss += trainer.Step(batch, convnet.CosineRate(peakRate, step, total), func(i int) convnet.Sample {
				return sample(typeface.Sample(faces, series(o.seed, seriesTraining), first+uint64(i)))
			})
		}
		fmt.Fprintf(log, "epoch %2d: loss %.4f\n", epoch+1, loss/float64(steps))
	}
	return nil
}

// pictures returns the first n pictures of a series.
func pictures(faces []typeface.Family, seed uint64, n int) []typeface.Picture {
	list := make([]typeface.Picture, n)
	convnet.Parallel(n, func(i int) { list[i] = typeface.Sample(faces, seed, uint64(i)) })
	return list
}

func samples(pictures []typeface.Picture) []convnet.Sample {
	list := make([]convnet.Sample, len(pictures))
	for i, p := range pictures {
		list[i] = sample(p)
	}
	return list
}

// sample normalizes a picture as the files' metadata says.
func sample(p typeface.Picture) convnet.Sample {
	x := make([]float32, len(p.Pix))
	mean, std := export.Normalization.Mean[0], export.Normalization.Std[0]
	for i, v := range p.Pix {
		x[i] = (float32(v) - mean) / std
	}
	return convnet.Sample{X: x, Class: p.Digit}
}

// report prints the accuracy on pictures of the typefaces held back, in both forms.
func report(log io.Writer, net *convnet.Network, q *quantize.Network, faces []typeface.Family, test []typeface.Picture) {
	list := samples(test)
	float, integer := convnet.Predict(net, list), quantize.Predict(q, list)
	type score struct{ n, float, integer, differ int }
	scores := make([]score, len(faces))
	var all score
	for i, p := range test {
		for _, s := range []*score{&scores[p.Family], &all} {
			s.n++
			s.float += count(float[i] == p.Digit)
			s.integer += count(integer[i] == p.Digit)
			s.differ += count(float[i] != integer[i])
		}
	}
	line := func(name string, s score) {
		fmt.Fprintf(log, "%-20s %6d %9.2f %9.2f %9d\n", name, s.n,
			100*float64(s.float)/float64(s.n), 100*float64(s.integer)/float64(s.n), s.differ)
	}
	fmt.Fprintf(log, "\n%-20s %6s %9s %9s %9s\n", "typeface held back", "n", "float %", "int8 %", "differ")
	for i, f := range faces {
		if scores[i].n > 0 {
			line(f.Name, scores[i])
		}
	}
	line("all", all)
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
