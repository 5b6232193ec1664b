package driver_test

import (
	"context"
	"encoding/json"
	"expvar"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
)

// Metrics are published by expvar as JSON, and by a handler as Prometheus' text; neither takes a dependency.
func ExampleDevice_Metrics() {
	dev := exampleDevice()
	defer dev.Close()
	client, err := dev.NewClient("example")
	check(err)
	model, err := client.PrepareModel(context.Background(), doubling())
	check(err)
	for range 3 {
		_, err := model.Run(context.Background(), [][]byte{nn.Bytes([]float32{1, 2, 3, 4})}, model.NewOutputs())
		check(err)
	}

	mux := http.NewServeMux()
	mux.Handle("/debug/vars", expvar.Handler())
	published := expvar.Func(func() any { return dev.Metrics() })
	expvar.Publish(fmt.Sprintf("nngpu %p", dev), published) // a program takes a plain name
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", driver.PrometheusContentType)
		_ = driver.WritePrometheus(w, dev.Metrics()) // the client went away
	})

	server := httptest.NewServer(mux)
	defer server.Close()
	response, err := http.Get(server.URL + "/metrics")
	check(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "nngpu_executions_total{") {
			fmt.Println(line[strings.Index(line, "priority"):strings.Index(line, "\n")]) // priority="MEDIUM",status="NONE"} 3
		}
	}
	var metrics driver.Metrics
	check(json.Unmarshal([]byte(published.String()), &metrics))
	fmt.Println(metrics.Executions[1].Latency.Count, metrics.Clients[0].Identity) // 3 example
}
