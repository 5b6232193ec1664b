// Server classifies pictures over HTTP, for two tiers of users of one device:
//
//	go run ./examples/server
//	curl -H 'Deadline-Ms: 50' --data-binary @examples/digits/samples/7.png localhost:8080/classify/interactive
//
// A POST to /classify/interactive or /classify/batch has a PNG or JPEG file as its body, and may say in the header
// Deadline-Ms within how many milliseconds from its arrival the answer is wanted: a whole number from 1 to 30000, which is
// also the default. Interactive requests go before those of the batch tier, between two segments of the network, a few
// milliseconds of work. What cannot be done in time is refused at once. The path names the tier, so that a proxy in front
// can say who may use which.
//
//	200  the answer, as JSON: label, score, and the times that it took
//	400  the header or the picture is wrong
//	404  there is no such tier
//	408  the picture did not arrive in time
//	413  the picture has too many bytes or pixels
//	415  it is neither PNG nor JPEG
//	422  no picture was ever classified as quickly as that: asking again is of no use
//	429  others are in the way: Retry-After says when that will be over, as far as is known now
//	503  the device does not work
//
// A client that hangs up takes its work off the device. GET /healthz says whether the device works, /metrics has what was
// done in Prometheus' text format, and /debug/vars as JSON.
package main

import (
	"context"
	"errors"
	"expvar"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/picture"
)

// config is what the command line says.
type config struct {
	listen, model, device string
	queue                 int
}

func main() {
	var c config
	flag.StringVar(&c.listen, "listen", "localhost:8080", "the address to listen at")
	flag.StringVar(&c.model, "model", "examples/digits/digits_s8.tflite", "a network that classifies pictures")
	flag.StringVar(&c.device, "device", "", "a device, as nngpu info lists them; the best one by default")
	flag.IntVar(&c.queue, "queue", 64, "how many executions may wait for the device")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, c, slog.Default()); err != nil {
		slog.Error("the server ends", "error", err)
		os.Exit(1)
	}
}

// load reads a model file that classifies pictures.
func load(path string) (*picture.Classifier, error) {
	file, err := importer.Open(path)
	if err != nil {
		return nil, err
	}
	n, err := picture.NewClassifier(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// run serves until ctx ends, and then finishes what it has begun.
func run(ctx context.Context, c config, log *slog.Logger) (err error) {
	network, err := load(c.model)
	if err != nil {
		return err
	}
	dev, err := nngpu.Open(nngpu.Options{Device: c.device, Logger: log, Scheduling: driver.SchedulingOptions{QueueLimit: c.queue}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	s, err := newService(ctx, dev.Device, network, log)
	if err != nil {
		return err
	}
	expvar.Publish("nngpu", expvar.Func(func() any { return dev.Metrics() }))
	expvar.Publish("answers", &s.answers)
	listener, err := net.Listen("tcp", c.listen)
	if err != nil {
		return err
	}
	log.Info("listening", "address", listener.Addr().String(), "device", dev.Info().Name, "model", c.model)
	return serve(ctx, listener, s.handler(), log)
}
