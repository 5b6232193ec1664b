package main

import (
	"expvar"
	"fmt"
	"net/http"

	"github.com/nngpu/nngpu/driver"
)

// metrics writes what the device has done, and what was answered, in Prometheus' text format. The driver knows nothing of
// requests that were refused before they came to it.
func (s *service) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", driver.PrometheusContentType)
	_ = driver.WritePrometheus(w, s.device.Metrics()) // or the client went away
	fmt.Fprintln(w, "# HELP server_answers_total Answers to requests for a picture.")
	fmt.Fprintln(w, "# TYPE server_answers_total counter")
	s.answers.Do(func(v expvar.KeyValue) { fmt.Fprintf(w, "server_answers_total{%s} %v\n", v.Key, v.Value) })
}
