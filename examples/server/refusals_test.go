package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

// TestFullQueue: what has no place in the queue is refused until what waits will be done; the upper tier gets the place of
// the last of the lower one.
func TestFullQueue(t *testing.T) {
	x, _, release := onNull(t, 1, 2)
	picture := sample(t, 1)
	var waiting []<-chan reply
	for n := range 3 { // one on the device, two that wait
		waiting = append(waiting, x.posting(t, batch, 0, picture))
		x.running(t, n+1)
	}
	time.Sleep(taking) // the one on the device is over its time
	r, err := x.post(t.Context(), batch, 0, []byte("not even looked at"))
	require.NoError(t, err)
	require.Equal(t, http.StatusTooManyRequests, r.code)
	require.Equal(t, nn.StatusResourceExhaustedTransient.String(), r.Status)
	require.Equal(t, "1", r.Get("Retry-After"))
	// Those that wait, and itself; more where the machine is busy, since the forecast learns how late work ends.
	require.GreaterOrEqual(t, r.RetryAfterMS, milliseconds(2*taking))
	require.Less(t, r.RetryAfterMS, milliseconds(20*taking))

	urgent := x.posting(t, interactive, 0, picture)
	last := <-waiting[2]
	require.Equal(t, http.StatusTooManyRequests, last.code)
	require.Equal(t, nn.StatusResourceExhaustedTransient.String(), last.Status)
	release()
	for _, c := range []<-chan reply{urgent, waiting[0], waiting[1]} {
		require.Equal(t, http.StatusOK, (<-c).code)
	}
	_, metrics := x.get(t, "/metrics")
	require.Contains(t, metrics, "server_answers_total{tier=\"batch\",code=\"429\"} 2\n")
}

// TestDeadlines: what no execution was ever quick enough for is told from what others are in the way of, and that may come
// again when the line has become so much shorter.
func TestDeadlines(t *testing.T) {
	x, _, release := onNull(t, 1, 100)
	picture := sample(t, 1)
	r, err := x.post(t.Context(), interactive, 2, picture)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnprocessableEntity, r.code)
	require.Equal(t, nn.StatusMissedDeadlinePersistent.String(), r.Status)
	require.Empty(t, r.Get("Retry-After"))

	var line []<-chan reply
	for n := range 100 {
		line = append(line, x.posting(t, interactive, 0, picture))
		x.running(t, n+1)
	}
	const given = 500
	r, err = x.post(t.Context(), batch, given, picture)
	require.NoError(t, err)
	require.Equal(t, http.StatusTooManyRequests, r.code)
	require.Equal(t, nn.StatusMissedDeadlineTransient.String(), r.Status)
	// Executions on a busy machine take longer than the device says, and the forecast learns it.
	require.Greater(t, r.RetryAfterMS, milliseconds(100*taking)-given-500)
	behindAll := math.Ceil(r.RetryAfterMS / 1000)
	require.Equal(t, fmt.Sprint(math.Ceil(r.RetryAfterMS/1000)), r.Get("Retry-After"))
	r, err = x.post(t.Context(), interactive, given, picture)
	require.NoError(t, err, "it goes before those whose deadlines are later")
	require.Equal(t, http.StatusTooManyRequests, r.code, "but nothing moves")
	seconds, err := strconv.Atoi(r.Get("Retry-After"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, seconds, 1)
	require.LessOrEqual(t, float64(seconds), behindAll+1, "behind those that have waited long by then, or not")
	release()
	for _, c := range line {
		require.Equal(t, http.StatusOK, (<-c).code)
	}
}

// TestLostDevice: what is on a device that is lost is 503, and the health check sees it; the next request works.
func TestLostDevice(t *testing.T) {
	x, b, release := onNull(t, 1, 10)
	request := x.posting(t, interactive, 0, sample(t, 1))
	x.running(t, 1)
	b.Lose()
	b.Gate <- struct{}{}
	r := <-request
	require.Equal(t, http.StatusServiceUnavailable, r.code)
	require.Equal(t, "1", r.Get("Retry-After"))
	require.Equal(t, nn.StatusDeviceUnavailable.String(), r.Status)
	require.Equal(t, http.StatusText(http.StatusServiceUnavailable), r.Error, "no details")

	health := make(chan string, 1)
	check := func() {
		code, body := x.get(t, "/healthz")
		health <- fmt.Sprint(code, " ", body)
	}
	go check()
	x.running(t, 1)
	b.Lose()
	b.Gate <- struct{}{}
	require.Equal(t, "503 Service Unavailable\n", <-health)
	go check()
	b.Gate <- struct{}{}
	require.Equal(t, "200 ok\n", <-health)
	request = x.posting(t, interactive, 0, sample(t, 1))
	x.running(t, 1)
	go check()
	require.Equal(t, "200 ok\n", <-health, "the device has no time; that is no illness")
	release()
	require.Equal(t, http.StatusOK, (<-request).code)
}

// TestSlowBody: a picture that does not arrive in time ends its request, and leaves nothing behind.
func TestSlowBody(t *testing.T) {
	x, _, release := onNull(t, 1, 10)
	release()
	before := x.goroutines()
	for _, deadline := range []time.Duration{100 * ms, 200 * ms} {
		body, write := io.Pipe()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, x.url+interactive, body)
		require.NoError(t, err)
		q.ContentLength = 1000
		q.Header.Set(deadlineHeader, strconv.FormatInt(deadline.Milliseconds(), 10))
		go func() { _, _ = write.Write(bytes.Repeat([]byte{1}, 10)) }()
		came := time.Now()
		r, err := x.do(q)
		require.NoError(t, err)
		require.Equal(t, http.StatusRequestTimeout, r.code)
		require.Greater(t, time.Since(came), deadline)
		require.NoError(t, write.Close())
	}
	x.settles(t, before)
}

// TestHangUp: of a request that nobody waits for any more no further segment is submitted.
func TestHangUp(t *testing.T) {
	x, b, _ := onNull(t, 3, 10)
	submitted := func() (n int) {
		for _, call := range b.Calls() {
			if call == "submit" {
				n++
			}
		}
		return n
	}
	before, goroutines := submitted(), x.goroutines()
	ctx, hangUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := x.post(ctx, batch, 0, sample(t, 1))
		ended <- err
	}()
	b.Gate <- struct{}{} // the first segment is done
	require.Eventually(t, func() bool { return submitted() == before+2 }, 20*time.Second, ms)
	hangUp()
	require.Error(t, <-ended)
	time.Sleep(50 * ms) // until the server knows
	b.Gate <- struct{}{}
	x.running(t, 0)
	require.Equal(t, before+2, submitted())
	require.Eventually(t, func() bool { v := x.answers.Get(`tier="batch",code="499"`); return v != nil && v.String() == "1" }, 20*time.Second, ms)
	x.settles(t, goroutines)
}

// TestShutdown: what has come is answered, what comes then is not taken.
func TestShutdown(t *testing.T) {
	x, _, release := onNull(t, 1, 10)
	request := x.posting(t, batch, 0, sample(t, 1))
	x.running(t, 1)
	x.stop()
	require.Eventually(t, func() bool {
		_, err := http.Post(x.url+batch, "", nil)
		return err != nil
	}, 20*time.Second, ms, "the server still listens")
	release()
	require.Equal(t, http.StatusOK, (<-request).code)
	require.NoError(t, <-x.ended)
}
