package driver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// TestMetricsOfExecutions: each way in which an execution ends is in the right counts, of its priority.
func TestMetricsOfExecutions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &null.Backend{Compute: add, Gate: make(chan struct{}), SegmentTime: 10 * ms}
		d, c, low := start(t, b)
		high, err := c.PrepareModel(t.Context(), addModel(), driver.WithPriority(nn.PriorityHigh))
		require.NoError(t, err)
		ctx := context.Background()
		within := func(t time.Duration) driver.ExecuteOption { return driver.WithDeadline(time.Now().Add(t)) }
		require.Equal(t, uint64(0), d.Metrics().Executions[nn.PriorityHigh].Latency.Count)

		first := low.ExecuteAsync(ctx, addRequest()) // 30 ms on the device
		synctest.Wait()
		second := high.ExecuteAsync(ctx, addRequest(), within(25*ms)) // waits 30 ms, then 5 ms: refused or late
		third := high.ExecuteAsync(ctx, addRequest())                 // waits 30 ms, takes 5 ms
		fourthCtx, cancel := context.WithCancel(ctx)
		fourth := high.ExecuteAsync(fourthCtx, addRequest())
		synctest.Wait()
		running := d.Metrics().Clients
		require.Len(t, running, 1)
		require.GreaterOrEqual(t, running[0].Running, 3)
		time.Sleep(20 * ms)
		cancel()
		_, err = fourth.Wait()
		require.ErrorIs(t, err, context.Canceled)
		time.Sleep(10 * ms)
		b.Gate <- struct{}{}
		_, err = first.Wait()
		require.NoError(t, err)
		time.Sleep(5 * ms)
		close(b.Gate)
		_, err = third.Wait()
		require.NoError(t, err)
		_, err = second.Wait()
		requireStatus(t, nn.StatusMissedDeadlineTransient, err)
		_, err = high.Execute(ctx, addRequest(), within(ms)) // hopeless
		requireStatus(t, nn.StatusMissedDeadlinePersistent, err)
		_, err = low.Execute(ctx, nil)
		requireStatus(t, nn.StatusInvalidArgument, err)
		requireStatus(t, nn.StatusMissedDeadlinePersistent, fencedEnd(high, nil, within(ms)))
		failed := driver.NewFence()
		waiting, err := low.ExecuteFenced(ctx, addRequest(), []*driver.Fence{failed})
		require.NoError(t, err)
		failed.Signal(nn.Errorf(nn.StatusDeviceUnavailable, "elsewhere", "gone"))
		requireStatus(t, nn.StatusDeviceUnavailable, waiting.Fence().Wait(ctx))

		m := d.Metrics()
		require.Equal(t, []string{"LOW", "MEDIUM", "HIGH"}, []string{m.Executions[0].Priority, m.Executions[1].Priority, m.Executions[2].Priority})
		medium, urgent := m.Executions[nn.PriorityMedium], m.Executions[nn.PriorityHigh] // low is MEDIUM, the default
		require.Equal(t, map[string]uint64{"NONE": 1, "INVALID_ARGUMENT": 1, "DEVICE_UNAVAILABLE": 1}, medium.Ended)
		require.Equal(t, map[string]uint64{"INVALID_ARGUMENT": 1, "DEVICE_UNAVAILABLE": 1}, medium.Refused)
		require.Equal(t, map[string]uint64{"NONE": 1, "GENERAL_FAILURE": 1, "MISSED_DEADLINE_TRANSIENT": 1, "MISSED_DEADLINE_PERSISTENT": 2}, urgent.Ended)
		require.Equal(t, map[string]uint64{"GENERAL_FAILURE": 1, "MISSED_DEADLINE_TRANSIENT": 1, "MISSED_DEADLINE_PERSISTENT": 2}, urgent.Refused)
		for _, tc := range []struct {
			h    driver.Histogram
			want time.Duration
		}{
			{medium.QueueWait, 0}, {medium.DeviceTime, 30 * ms}, {medium.Latency, 30 * ms},
			{urgent.QueueWait, 30 * ms}, {urgent.DeviceTime, 5 * ms}, {urgent.Latency, 35 * ms},
		} {
			require.EqualValues(t, 1, tc.h.Count)
			require.Equal(t, tc.want, tc.h.Sum)
			for i, n := range tc.h.Buckets {
				if n > 0 {
					require.LessOrEqual(t, tc.want, driver.HistogramBound(i))
					require.True(t, i == 0 || tc.want > driver.HistogramBound(i-1))
				}
			}
		}
		require.EqualValues(t, 2, m.Submissions)
		require.Empty(t, m.Executions[nn.PriorityLow].Ended)
		require.NoError(t, d.Close())
	})
}

// TestMetricsLate: a result that came after its deadline counts as late, and in time as not.
func TestMetricsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &null.Backend{Compute: add, Gate: make(chan struct{}), SegmentTime: ms}
		d, _, pm := start(t, b)
		for i, takes := range []time.Duration{5 * ms, 15 * ms} {
			e := pm.ExecuteAsync(context.Background(), addRequest(), driver.WithDeadline(time.Now().Add(10*ms)))
			time.Sleep(takes)
			b.Gate <- struct{}{}
			_, err := e.Wait()
			require.NoError(t, err)
			require.EqualValues(t, i, d.Metrics().Executions[nn.PriorityMedium].Late)
		}
		require.NoError(t, d.Close())
	})
}

// TestMetricsOfPreparations: by what the cache did, in which form, and delayed ones when they are compiled.
func TestMetricsOfPreparations(t *testing.T) {
	var warned atomic.Int32
	b, o := newPhased(), cacheOptions(t, &warned)
	device := func() (*driver.Device, *driver.Client) {
		d := driver.NewDevice(b, driver.WithCache(o.CacheOptions))
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		c, err := d.NewClient("test")
		require.NoError(t, err)
		return d, c
	}
	d, c := device()
	prepareTen(t, c)
	prepareTen(t, c)
	late := prepareTen(t, c, driver.WithDelayedCompilation(), driver.WithPreference(nn.LowPower))
	require.Equal(t, map[driver.CacheStatus]uint64{"off": 0, "hit": 1, "miss": 1, "rejected": 0}, d.Metrics().Prepared)
	requireTen(t, late)
	prepareTen(t, c, driver.WithStagedCompilation(100), driver.WithPreference(nn.SustainedSpeed))
	damageEntries(t, o.Dir, "model", func(b []byte) []byte { b[0] ^= 1; return b })
	prepareTen(t, c)
	_, err := c.PrepareModel(t.Context(), &nn.Model{})
	require.Error(t, err)
	m := d.Metrics()
	require.Equal(t, map[driver.CacheStatus]uint64{"off": 0, "hit": 1, "miss": 3, "rejected": 1}, m.Prepared)
	require.EqualValues(t, 1, m.PrepareFailures)
	require.EqualValues(t, 3, m.Compile.Count)
	require.EqualValues(t, 1, m.QuickCompile.Count)
	require.EqualValues(t, 1, m.Restore.Count)
	require.Positive(t, m.Compile.Sum)
}

// TestMetricsOfMemory: what is moved, and what clients have.
func TestMetricsOfMemory(t *testing.T) {
	b := &null.Backend{Compute: add, Weights: 1000}
	d, c := open(t, b)
	pm, err := c.PrepareModel(t.Context(), addModel())
	require.NoError(t, err)
	small, err := d.NewClient("a", driver.WithClientBudget(5000), driver.WithShare(2))
	require.NoError(t, err)
	_, err = small.PrepareModel(t.Context(), addModel())
	require.NoError(t, err)
	x := allocate(t, c, nil, roleOf(pm, 0), nil)
	require.NoError(t, x.CopyFrom(t.Context(), nn.HostMemory{1, 2, 3, 4, 5, 6}, nil))
	require.NoError(t, x.CopyTo(t.Context(), make(nn.HostMemory, 6)))
	m := d.Metrics()
	require.EqualValues(t, 12, m.CopiedBytes)
	require.Len(t, m.Clients, 2)
	require.Equal(t, driver.ClientMetrics{Identity: "a", Memory: 1000, Budget: 5000, Share: 2}, m.Clients[0])
	require.Equal(t, driver.ClientMetrics{Identity: "test", Memory: 1006, Share: 1}, m.Clients[1])
	require.NoError(t, x.Close())
	require.NoError(t, small.Close())
	require.Len(t, d.Metrics().Clients, 1)
}

// TestMetricsAreConsistent while many record and read: nothing is lost, and what was counted never decreases.
func TestMetricsAreConsistent(t *testing.T) {
	d, c := open(t, &null.Backend{Compute: add})
	pm, err := c.PrepareModel(t.Context(), addModel())
	require.NoError(t, err)
	const goroutines, runs = 8, 200
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range runs {
				if _, err := pm.Execute(t.Context(), addRequest()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var last uint64
	for last < goroutines*runs && !t.Failed() {
		m := d.Metrics()
		e := m.Executions[nn.PriorityMedium]
		require.GreaterOrEqual(t, e.Ended["NONE"], last)
		last = e.Ended["NONE"]
		require.NoError(t, driver.WritePrometheus(&bytes.Buffer{}, m))
	}
	wg.Wait()
	e := d.Metrics().Executions[nn.PriorityMedium]
	for _, n := range []uint64{e.Ended["NONE"], e.QueueWait.Count, e.DeviceTime.Count, e.Latency.Count} {
		require.EqualValues(t, goroutines*runs, n)
	}
}

// TestMetricsJSON: expvar and others can take them, with all that is in them.
func TestMetricsJSON(t *testing.T) {
	m := exampleMetrics()
	m.Clients[3].Identity = "z" // what is not UTF-8 cannot come back
	text, err := json.Marshal(m)
	require.NoError(t, err)
	var back driver.Metrics
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, m, back)
}

func exampleMetrics() driver.Metrics {
	m := driver.Metrics{
		Device: `a "device"`, CopiedBytes: 7, Submissions: 1 << 60, Prepared: map[driver.CacheStatus]uint64{"hit": 2, "miss": 1},
		Executions: []driver.ExecutionMetrics{
			{Priority: "LOW", Ended: map[string]uint64{"NONE": 3, "GENERAL_FAILURE": 1}, Refused: map[string]uint64{"GENERAL_FAILURE": 1}, Late: 2},
			{Priority: "HIGH", Ended: map[string]uint64{}, Refused: map[string]uint64{}},
		},
		Memory: driver.MemoryMetrics{Used: 1, Peak: 2, Limit: 3},
		Clients: []driver.ClientMetrics{
			{Identity: "x\n\"\\", Memory: 5, Device: 1500 * ms}, {Identity: "y", Memory: 1}, {Identity: "y", Memory: 2, Running: 1},
			{Identity: "\xff", Memory: 9},
		},
	}
	m.Executions[0].QueueWait.Buckets[0] = 2
	m.Executions[0].QueueWait.Buckets[2] = 1
	m.Executions[0].QueueWait.Buckets[27] = 1
	m.Executions[0].QueueWait.Count, m.Executions[0].QueueWait.Sum = 4, 70*time.Second
	return m
}

var (
	sampleLine = regexp.MustCompile(`^([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\[\\n"])*",?)+)\} (\S+)$`)
	leLabel    = regexp.MustCompile(`,le="([^"]+)"`)
)

// TestWritePrometheus holds the text to the rules of the format: families in one piece, no sample twice, histograms that
// are cumulative and end with all; and looks some values up.
func TestWritePrometheus(t *testing.T) {
	second := exampleMetrics()
	second.Device = "another"
	var text bytes.Buffer
	require.NoError(t, driver.WritePrometheus(&text, exampleMetrics(), second))
	samples := map[string]string{}
	kinds := map[string]string{}
	family := ""
	var bucket float64
	for line := range strings.Lines(text.String()) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "# HELP "); ok {
			family, _, _ = strings.Cut(name, " ")
			require.NotContains(t, kinds, family, "in two pieces")
			continue
		}
		if kind, ok := strings.CutPrefix(line, "# TYPE "+family+" "); ok {
			kinds[family] = kind
			continue
		}
		parts := sampleLine.FindStringSubmatch(line)
		require.NotNil(t, parts, line)
		name, value := parts[1], parts[3]
		require.NotContains(t, samples, name+parts[2], "twice")
		samples[name+"{"+parts[2]+"}"] = value
		number, err := strconv.ParseFloat(value, 64)
		require.NoError(t, err)
		if kinds[family] != "histogram" {
			require.Equal(t, family, name)
			continue
		}
		if le := leLabel.FindStringSubmatch(parts[2]); le != nil {
			if le[1] == "1e-06" {
				bucket = 0
			}
			require.GreaterOrEqual(t, number, bucket, line)
			bucket = number
		} else if name == family+"_count" {
			require.Equal(t, bucket, number)
		}
	}
	require.Equal(t, "counter", kinds["nngpu_executions_total"])
	d := `device="a \"device\""`
	for sample, want := range map[string]string{
		`nngpu_executions_total{` + d + `,priority="LOW",status="NONE"}`:                    "3",
		`nngpu_executions_refused_total{` + d + `,priority="LOW",status="GENERAL_FAILURE"}`: "1",
		`nngpu_executions_late_total{device="another",priority="LOW"}`:                      "2",
		`nngpu_execution_queue_seconds_bucket{` + d + `,priority="LOW",le="1e-06"}`:         "2",
		`nngpu_execution_queue_seconds_bucket{` + d + `,priority="LOW",le="4e-06"}`:         "3",
		`nngpu_execution_queue_seconds_bucket{` + d + `,priority="LOW",le="67.108864"}`:     "3",
		`nngpu_execution_queue_seconds_bucket{` + d + `,priority="LOW",le="+Inf"}`:          "4",
		`nngpu_execution_queue_seconds_sum{` + d + `,priority="LOW"}`:                       "70",
		`nngpu_moved_bytes_total{` + d + `,how="copied"}`:                                   "7",
		`nngpu_submissions_total{` + d + `}`:                                                strconv.Itoa(1 << 60),
		`nngpu_prepared_models_total{` + d + `,cache="hit"}`:                                "2",
		`nngpu_client_memory_bytes{` + d + `,client="x\n\"\\"}`:                             "5",
		`nngpu_client_memory_bytes{` + d + `,client="y"}`:                                   "3",
		`nngpu_client_memory_bytes{` + d + `,client="` + "\uFFFD" + `"}`:                    "9",
		`nngpu_client_device_seconds_total{` + d + `,client="x\n\"\\"}`:                     "1.5",
		`nngpu_memory_limit_bytes{` + d + `}`:                                               "3",
		`nngpu_prepare_seconds_count{` + d + `,form="restored"}`:                            "0",
		`nngpu_execution_seconds_bucket{` + d + `,priority="HIGH",le="+Inf"}`:               "0",
	} {
		require.Equal(t, want, samples[sample], sample)
	}
}

func TestHistogramBounds(t *testing.T) {
	require.Equal(t, time.Microsecond, driver.HistogramBound(0))
	require.Equal(t, 67108864*time.Microsecond, driver.HistogramBound(26))
	require.Equal(t, time.Duration(math.MaxInt64), driver.HistogramBound(27))
	for d, want := range map[time.Duration]int{
		-1: 0, 0: 0, 1: 0, time.Microsecond: 0, time.Microsecond + 1: 1, 2 * time.Microsecond: 1, 2*time.Microsecond + 1: 2,
		4 * time.Microsecond: 2, ms: 10, 1024 * time.Microsecond: 10, 1024*time.Microsecond + 1: 11,
		67108864 * time.Microsecond: 26, 67108864*time.Microsecond + 1: 27, math.MaxInt64: 27,
	} {
		require.Equal(t, want, driver.BucketOf(d), fmt.Sprint(d))
	}
}
