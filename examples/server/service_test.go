package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/picture"
	"github.com/nngpu/nngpu/gpu/null"
)

const (
	ms          = time.Millisecond
	interactive = "/classify/interactive"
	batch       = "/classify/batch"
)

// server is a service that listens at a port of the loopback device.
type server struct {
	*service
	url    string
	client *http.Client
	stop   context.CancelFunc // begins its end
	ended  chan error         // of serve
}

// start starts a server, which ends with the test.
func start(t *testing.T, dev *driver.Device, network *picture.Classifier) *server {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	s, err := newService(t.Context(), dev, network, log)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	x := &server{
		service: s, url: "http://" + listener.Addr().String(), client: newClient(), stop: stop, ended: make(chan error, 1),
	}
	go func() {
		x.ended <- serve(ctx, listener, s.handler(), log)
		close(x.ended)
	}()
	t.Cleanup(func() {
		stop()
		x.client.CloseIdleConnections()
		require.NoError(t, <-x.ended)
	})
	return x
}

// newClient returns a client with connections of its own.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
}

// taking is how long an execution takes on the device of onNull, before its gate is held.
const taking = 20 * ms

// onNull starts a server on a device that computes nothing. The executions of newService took so long; those that come
// later end when b.Gate has got a value for each of their segments, or all was released.
func onNull(t *testing.T, segments, queue int) (x *server, b *null.Backend, release func()) {
	t.Helper()
	each := taking / time.Duration(segments)
	b = &null.Backend{Segments: segments, SegmentTime: each, Gate: make(chan struct{})}
	dev := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}), driver.WithScheduling(driver.SchedulingOptions{QueueLimit: queue}))
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	started, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			time.Sleep(each)
			select {
			case b.Gate <- struct{}{}:
			case <-started:
				return
			}
		}
	}()
	x = start(t, dev, testNetwork(t, 8, 1))
	close(started)
	<-over // nobody else opens the gate from here on
	release = sync.OnceFunc(func() { close(b.Gate) })
	t.Cleanup(release)
	return x, b, release
}

// running waits until there are n executions that wait or are on the device.
func (x *server) running(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return x.device.Metrics().Clients[0].Running == n }, 20*time.Second, ms, "%d executions", n)
}

// reply is what came back.
type reply struct {
	code int
	http.Header
	answer
	problem
}

// post asks for a picture. Deadlines are in milliseconds; 0 is none.
func (x *server) post(ctx context.Context, path string, deadline int, picture []byte) (reply, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url+path, bytes.NewReader(picture))
	if err != nil {
		return reply{}, err
	}
	if deadline != 0 {
		q.Header.Set(deadlineHeader, strconv.Itoa(deadline))
	}
	return x.do(q)
}

func (x *server) do(q *http.Request) (r reply, err error) {
	a, err := x.client.Do(q)
	if err != nil {
		return r, err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	r.code, r.Header = a.StatusCode, a.Header
	if err != nil || a.Header.Get("Content-Type") != "application/json" {
		return r, err
	}
	if a.StatusCode == http.StatusOK {
		return r, json.Unmarshal(text, &r.answer)
	}
	return r, json.Unmarshal(text, &r.problem)
}

// posting is post in a goroutine.
func (x *server) posting(t *testing.T, path string, deadline int, picture []byte) <-chan reply {
	c := make(chan reply, 1)
	go func() {
		r, err := x.post(t.Context(), path, deadline, picture)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		c <- r
	}()
	return c
}

// get is the body of a page and its status.
func (x *server) get(t *testing.T, path string) (code int, body string) {
	t.Helper()
	a, err := x.client.Get(x.url + path)
	require.NoError(t, err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	return a.StatusCode, string(text)
}

// sample is the file of a picture of a digit.
func sample(t *testing.T, digit int) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../digits/samples", strconv.Itoa(digit)+".png"))
	require.NoError(t, err)
	return data
}

// testNetwork is one over grey pictures of size by size pixels that does as much as its layers cost: convolutions of 32
// channels. Its scores mean nothing.
func testNetwork(t *testing.T, size uint32, layers int) *picture.Classifier {
	t.Helper()
	const channels = 32
	var b nn.Builder
	x := b.Input(nn.TensorQuant8Asymm, nn.Dims{1, size, size, 1}, 1, 0)
	for depth := uint32(1); layers > 0; layers-- {
		filter := make([]byte, channels*3*3*depth)
		for i := range filter {
			filter[i] = byte(i * 7 % 5)
		}
		y := b.Temp(nn.TensorQuant8Asymm, nn.Dims{1, size, size, channels}, 1, 0)
		b.Op(nn.OpConv2D, []uint32{
			x, b.Const(nn.TensorQuant8Asymm, nn.Dims{channels, 3, 3, depth}, 0.01, 2, filter),
			b.Const(nn.TensorInt32, nn.Dims{channels}, 0.01, 0, make([]byte, 4*channels)),
			b.Scalar(nn.PaddingSame), b.Scalar(1), b.Scalar(1), b.Scalar(nn.ActRelu),
		}, []uint32{y})
		x, depth = y, channels
	}
	pooled := b.Temp(nn.TensorQuant8Asymm, nn.Dims{1, 1, 1, channels}, 1, 0)
	b.Op(nn.OpAveragePool2D, []uint32{
		x, b.Scalar(nn.PaddingValid), b.Scalar(1), b.Scalar(1), b.Scalar(int32(size)), b.Scalar(int32(size)), b.Scalar(nn.ActNone),
	}, []uint32{pooled})
	b.Output(pooled)
	m, err := b.Build()
	require.NoError(t, err)
	n, err := picture.NewClassifier(&importer.Network{Model: m})
	require.NoError(t, err)
	return n
}

// goroutines is how many there are while the client has no connection.
func (x *server) goroutines() int {
	x.client.CloseIdleConnections()
	time.Sleep(100 * ms)
	return runtime.NumGoroutine()
}

// settles waits until there are as few goroutines as before, when there were n.
func (x *server) settles(t *testing.T, n int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); x.goroutines() > n; {
		require.True(t, time.Now().Before(end), "%d goroutines, %d before", runtime.NumGoroutine(), n)
	}
}
