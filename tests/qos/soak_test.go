// Package qos checks the scheduling of executions on real devices.
package qos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

func soak() bool { return os.Getenv("NNGPU_SOAK") == "1" }

// loadModel reads a network of the test data.
func loadModel(t testing.TB, name string) *nn.Model {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(nntest.Shared(t, "models"), name, "model.tflite"))
	require.NoError(t, err)
	net, err := tflite.Import(data)
	require.NoError(t, err)
	return net.Model
}

// buffers returns inputs and outputs for p.
func buffers(p *driver.PreparedModel, m *nn.Model) (inputs, outputs [][]byte) {
	for _, index := range m.Main.Inputs {
		n, _ := m.Main.Operands[index].ByteSize()
		inputs = append(inputs, make([]byte, n))
	}
	return inputs, p.NewOutputs()
}

var priorities = []nn.Priority{nn.PriorityLow, nn.PriorityMedium, nn.PriorityHigh}

// tally counts how requests ended.
type tally struct {
	mu     sync.Mutex
	status map[string]int
	wrong  error
}

// legal statuses of a request that is right: done, missed, too many waiting, or cancelled.
func (c *tally) count(err error) {
	name := "done"
	switch status := nn.StatusOf(err); {
	case err == nil:
	case errors.Is(err, context.Canceled):
		name = "cancelled"
	case status == nn.StatusMissedDeadlineTransient, status == nn.StatusMissedDeadlinePersistent,
		status == nn.StatusResourceExhaustedTransient:
		name = status.String()
	default:
		name = "wrong"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status[name]++
	if name == "wrong" && c.wrong == nil {
		c.wrong = err
	}
}

// TestSoak: four equal clients with jobs of every priority, deadlines from unreachable to none, and cancels. Every request
// ends once, with a legal status, nothing is left behind, and the clients get equal shares. Ten minutes with
// NNGPU_SOAK=1, half a minute on each device under the race detector, less else.
func TestSoak(t *testing.T) {
	duration := 5 * time.Second
	if nntest.Raced {
		duration = 30 * time.Second
	}
	if soak() {
		duration = 10 * time.Minute
	}
	m := loadModel(t, "mobilenet_v1_025_224_f32")
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		goroutines := runtime.NumGoroutine()
		count := &tally{status: map[string]int{}}
		var begun, ended atomic.Int64
		var clients []*driver.Client
		var group sync.WaitGroup
		var stop time.Time
		start := make(chan struct{})
		for i := range 4 {
			c, err := d.NewClient(fmt.Sprint("client ", i))
			require.NoError(t, err)
			clients = append(clients, c)
			for k, priority := range priorities {
				p, err := c.PrepareModel(t.Context(), m, driver.WithPriority(priority))
				require.NoError(t, err)
				group.Go(func() {
					<-start
					rng := rand.New(rand.NewPCG(uint64(i), uint64(k)))
					inputs, outputs := buffers(p, m)
					for time.Now().Before(stop) {
						begun.Add(1)
						count.count(request(rng, p, inputs, outputs))
						ended.Add(1)
					}
				})
			}
		}
		stop = time.Now().Add(duration)
		close(start)
		group.Wait()
		require.NoError(t, count.wrong)
		require.Equal(t, begun.Load(), ended.Load())
		require.Positive(t, count.status["done"])

		var least, most time.Duration
		for i, c := range d.Scheduling().Clients {
			used := c.DeviceTime
			if i == 0 || used < least {
				least = used
			}
			most = max(most, used)
		}
		t.Logf("%v; device time of the clients from %v to %v; %+v", count.status, least, most, d.Scheduling())
		if duration >= 30*time.Second {
			require.LessOrEqual(t, float64(most), 1.1*float64(least), "shares of equal clients")
		}
		for _, c := range clients {
			require.NoError(t, c.Close())
			require.Zero(t, c.Memory())
		}
		for end := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	})
}

// request executes p once, with a random deadline and perhaps a cancel.
func request(rng *rand.Rand, p *driver.PreparedModel, inputs, outputs [][]byte) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var opts []driver.ExecuteOption
	switch rng.IntN(10) {
	case 0:
		opts = append(opts, driver.WithDeadline(time.Now().Add(-time.Millisecond)))
	case 1, 2:
		opts = append(opts, driver.WithDeadline(time.Now().Add(time.Duration(rng.IntN(200))*time.Millisecond)))
	case 3:
		opts = append(opts, driver.WithDeadline(time.Now().Add(time.Minute)))
	case 4:
		time.AfterFunc(time.Duration(rng.IntN(50))*time.Millisecond, cancel)
	}
	_, err := p.Run(ctx, inputs, outputs, opts...)
	return err
}
