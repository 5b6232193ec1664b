package main

import (
	"context"
	"expvar"
	"image"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/picture"
)

// service classifies pictures on one device. Everything it uses may be used by many requests at once.
type service struct {
	device  *driver.Device
	network *picture.Classifier
	model   *driver.PreparedModel
	tiers   map[string]*tier
	blank   []byte // the input for an empty picture
	log     *slog.Logger
	answers expvar.Map // how many there were, by tier and status code; the keys are labels of Prometheus
}

// tier is a class of requests.
type tier struct {
	name     string
	priority driver.ExecuteOption
	// decoding has a place for each picture that is being decoded, which takes time of the host and memory. Each tier has
	// its own, so that the lower one leaves the upper one its part.
	decoding chan struct{}
}

// newService prepares the network for both tiers.
func newService(ctx context.Context, dev *driver.Device, network *picture.Classifier, log *slog.Logger) (*service, error) {
	client, err := dev.NewClient("server")
	if err != nil {
		return nil, err
	}
	// One model serves both tiers, so that its weights are on the device once: it has the priority of the upper one, and
	// an execution may ask for less. Two clients with shares (driver.WithShare) are for users who are to have their part
	// of the device whatever others do; here the upper tier is to go first, and by ageing the lower one never starves.
	model, err := client.PrepareModel(ctx, network.Model, driver.WithPriority(nn.PriorityHigh))
	if err != nil {
		return nil, err
	}
	s := &service{device: dev, network: network, model: model, tiers: map[string]*tier{}, log: log}
	s.blank = network.Input.Bytes(image.NewGray(image.Rect(0, 0, 1, 1)))
	for name, priority := range map[string]nn.Priority{"interactive": nn.PriorityHigh, "batch": nn.PriorityLow} {
		s.tiers[name] = &tier{name, driver.WithExecutionPriority(priority), make(chan struct{}, runtime.GOMAXPROCS(0))}
	}
	for range 3 { // from now on deadlines are judged by what executions take here, no longer by what is expected
		if err := s.try(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// try classifies an empty picture.
func (s *service) try(ctx context.Context, opts ...driver.ExecuteOption) error {
	_, err := s.model.Run(ctx, [][]byte{s.blank}, s.model.NewOutputs(), opts...)
	return err
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /classify/{tier}", s.classify)
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.Handle("GET /debug/vars", expvar.Handler())
	return mux
}

// healthz is for who decides whether this server gets requests. The device is well if it does some work; one that has no
// time for more is busy, not ill.
func (s *service) healthz(w http.ResponseWriter, r *http.Request) {
	err := s.try(r.Context(), driver.WithExecutionPriority(nn.PriorityLow), driver.WithTimeout(time.Second))
	if code := statusCode(err); code >= 500 && r.Context().Err() == nil {
		s.log.Error("the device does not work", "error", err)
		http.Error(w, http.StatusText(code), code)
		return
	}
	_, _ = w.Write([]byte("ok\n")) // or the client went away
}
