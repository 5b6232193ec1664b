package driver

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nngpu/nngpu/driver/nn"
)

// PrometheusContentType is what an HTTP handler says of the text that WritePrometheus writes.
const PrometheusContentType = "text/plain; version=0.0.4; charset=utf-8"

// WritePrometheus writes the metrics of devices in Prometheus' text format. Names begin with nngpu_; times are in
// seconds; every sample has the label device, whose values must differ: change Metrics.Device where two devices have the
// same name. Clients with the same identity are added up.
func WritePrometheus(w io.Writer, devices ...Metrics) error {
	if err := nn.NotNil("writer", w); err != nil {
		return err
	}
	var b bytes.Buffer
	for _, f := range families {
		b.WriteString("# HELP " + f.name + " " + f.help + "\n# TYPE " + f.name + " " + f.kind + "\n")
		for i := range devices {
			f.samples(&samples{&b, f.name, devices[i].Device}, &devices[i])
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// family is a metric as Prometheus knows it: samples of one name.
type family struct {
	name, kind, help string
	samples          func(*samples, *Metrics)
}

var families = []family{
	{"nngpu_executions_total", "counter", "Executions that have ended.", byStatus(func(e *ExecutionMetrics) map[string]uint64 { return e.Ended })},
	{"nngpu_executions_refused_total", "counter", "Executions that have ended without result before anything of them reached the device.",
		byStatus(func(e *ExecutionMetrics) map[string]uint64 { return e.Refused })},
	{"nngpu_executions_late_total", "counter", "Executions that have ended with a result after their deadline.", func(s *samples, m *Metrics) {
		for i := range m.Executions {
			s.count(m.Executions[i].Late, "priority", m.Executions[i].Priority)
		}
	}},
	{"nngpu_execution_queue_seconds", "histogram", "Time from the call to the first work on the device.",
		byPriority(func(e *ExecutionMetrics) *Histogram { return &e.QueueWait })},
	{"nngpu_execution_device_seconds", "histogram", "Time that an execution's work took on the device.",
		byPriority(func(e *ExecutionMetrics) *Histogram { return &e.DeviceTime })},
	{"nngpu_execution_seconds", "histogram", "Time from the call until the outputs were written.",
		byPriority(func(e *ExecutionMetrics) *Histogram { return &e.Latency })},
	{"nngpu_moved_bytes_total", "counter", "Bytes of inputs and outputs that were copied, or converted to the device's form and back.",
		func(s *samples, m *Metrics) {
			s.count(m.CopiedBytes, "how", "copied")
			s.count(m.ConvertedBytes, "how", "converted")
		}},
	{"nngpu_submissions_total", "counter", "Pieces of work that the device was given.", func(s *samples, m *Metrics) { s.count(m.Submissions) }},
	{"nngpu_preemptions_total", "counter", "Executions that went between two pieces of another.", func(s *samples, m *Metrics) { s.count(m.Preemptions) }},
	{"nngpu_prepared_models_total", "counter", "Models that were compiled or brought back, by what the cache did.", func(s *samples, m *Metrics) {
		for _, status := range slices.Sorted(maps.Keys(m.Prepared)) {
			s.count(m.Prepared[status], "cache", string(status))
		}
	}},
	{"nngpu_prepare_failures_total", "counter", "Preparations that failed.", func(s *samples, m *Metrics) { s.count(m.PrepareFailures) }},
	{"nngpu_prepare_seconds", "histogram", "Time of compiling a model in full or quickly, or of restoring it from a cache.", func(s *samples, m *Metrics) {
		s.histogram(&m.Compile, "form", "full")
		s.histogram(&m.QuickCompile, "form", "quick")
		s.histogram(&m.Restore, "form", "restored")
	}},
	{"nngpu_memory_bytes", "gauge", "Device memory in use.", func(s *samples, m *Metrics) { s.number(float64(m.Memory.Used)) }},
	{"nngpu_memory_peak_bytes", "gauge", "Device memory that was in use at most.", func(s *samples, m *Metrics) { s.number(float64(m.Memory.Peak)) }},
	{"nngpu_memory_limit_bytes", "gauge", "Device memory beyond which more is refused.", func(s *samples, m *Metrics) { s.number(float64(m.Memory.Limit)) }},
	{"nngpu_client_memory_bytes", "gauge", "Device memory of a client's models and buffers.",
		byClient(func(c *ClientMetrics) float64 { return float64(c.Memory) })},
	{"nngpu_client_device_seconds_total", "counter", "Device time of a client that is open.",
		byClient(func(c *ClientMetrics) float64 { return c.Device.Seconds() })},
	{"nngpu_client_running", "gauge", "Executions of a client that wait for the device or are on it.",
		byClient(func(c *ClientMetrics) float64 { return float64(c.Running) })},
}

func byStatus(of func(*ExecutionMetrics) map[string]uint64) func(*samples, *Metrics) {
	return func(s *samples, m *Metrics) {
		for i := range m.Executions {
			counts := of(&m.Executions[i])
			for _, status := range slices.Sorted(maps.Keys(counts)) {
				s.count(counts[status], "priority", m.Executions[i].Priority, "status", status)
			}
		}
	}
}

func byPriority(of func(*ExecutionMetrics) *Histogram) func(*samples, *Metrics) {
	return func(s *samples, m *Metrics) {
		for i := range m.Executions {
			s.histogram(of(&m.Executions[i]), "priority", m.Executions[i].Priority)
		}
	}
}

func byClient(of func(*ClientMetrics) float64) func(*samples, *Metrics) {
	return func(s *samples, m *Metrics) {
		sums := map[string]float64{}
		for i := range m.Clients {
			sums[m.Clients[i].Identity] += of(&m.Clients[i])
		}
		for _, name := range slices.Sorted(maps.Keys(sums)) {
			s.number(sums[name], "client", name)
		}
	}
}

// samples writes the lines of one family for one device. labels are names and values in turn.
type samples struct {
	b            *bytes.Buffer
	name, device string
}

func (s *samples) number(v float64, labels ...string) {
	s.line("", strconv.FormatFloat(v, 'g', -1, 64), labels)
}

func (s *samples) count(n uint64, labels ...string) {
	s.line("", strconv.FormatUint(n, 10), labels)
}

// histogram writes cumulative buckets, as Prometheus wants them.
func (s *samples) histogram(h *Histogram, labels ...string) {
	var sum uint64
	for i, n := range h.Buckets {
		sum += n
		bound := "+Inf"
		if i < len(h.Buckets)-1 {
			bound = strconv.FormatFloat(HistogramBound(i).Seconds(), 'g', -1, 64)
		}
		s.line("_bucket", strconv.FormatUint(sum, 10), append(labels[:len(labels):len(labels)], "le", bound))
	}
	s.line("_sum", strconv.FormatFloat(h.Sum.Seconds(), 'g', -1, 64), labels)
	s.line("_count", strconv.FormatUint(sum, 10), labels)
}

// escape writes label values, which may be anything that a client calls itself.
var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func (s *samples) line(suffix, value string, labels []string) {
	s.b.WriteString(s.name + suffix + `{device="` + escape.Replace(strings.ToValidUTF8(s.device, "\uFFFD")) + `"`)
	for i := 0; i < len(labels); i += 2 {
		s.b.WriteString("," + labels[i] + `="` + escape.Replace(strings.ToValidUTF8(labels[i+1], "\uFFFD")) + `"`)
	}
	s.b.WriteString("} " + value + "\n")
}
