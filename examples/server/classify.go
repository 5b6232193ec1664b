package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/picture"
)

const (
	// deadlineHeader says how many milliseconds after its arrival the request is of no use any more.
	deadlineHeader = "Deadline-Ms"
	// maxDeadline is the most that it may say, and what counts without it.
	maxDeadline = 30 * time.Second
	// maxBody bounds the files of pictures, in bytes.
	maxBody = 4 << 20
	// maxSide bounds their sides, in pixels. The largest take about 80 MB while they are decoded and scaled.
	maxSide = 2048
)

// classify answers a request for one picture.
func (s *service) classify(w http.ResponseWriter, r *http.Request) {
	came := time.Now()
	t := s.tiers[r.PathValue("tier")]
	if t == nil {
		http.NotFound(w, r)
		return
	}
	within, err := deadlineOf(r.Header)
	if err != nil {
		s.fail(w, t, http.StatusBadRequest, err)
		return
	}
	deadline := came.Add(within)
	// What cannot be done in time is refused before it costs anything: before its body is read, even.
	if err := s.model.CanMeet(deadline, t.priority); err != nil {
		s.refuse(w, r, t, deadline, err)
		return
	}
	body, err := readBody(w, r, deadline)
	if err != nil {
		s.fail(w, t, bodyCode(err), fmt.Errorf("the picture did not arrive: %w", err))
		return
	}
	// From here on the context ends with the deadline, and when the client hangs up: the driver takes work whose context
	// has ended off the device.
	ctx, cancel := context.WithDeadline(r.Context(), deadline)
	defer cancel()
	input, err := s.decode(ctx, t, body)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		s.refuse(w, r, t, deadline, ctx.Err())
		return
	default:
		s.fail(w, t, pictureCode(err), fmt.Errorf("the picture is of no use: %w", err))
		return
	}
	outputs := s.model.NewOutputs()
	result, err := s.model.Run(ctx, [][]byte{input}, outputs, t.priority, driver.WithTiming())
	if err != nil {
		s.refuse(w, r, t, deadline, outOfTime(err))
		return
	}
	best, err := s.network.Top(outputs[0], 1)
	if err != nil {
		s.refuse(w, r, t, deadline, err)
		return
	}
	took := time.Since(came)
	s.answer(w, t, http.StatusOK, answer{
		Label: best[0].String(), Score: best[0].Score,
		QueuedMS: milliseconds(result.Schedule.Queued), DeviceMS: milliseconds(result.OnDevice), TotalMS: milliseconds(took),
		Late: took > within, // work that is on the device when its time is over is not thrown away
	})
}

// deadlineOf is how much time a request has.
func deadlineOf(h http.Header) (time.Duration, error) {
	values := h.Values(deadlineHeader)
	if len(values) == 0 {
		return maxDeadline, nil
	}
	ms, err := strconv.ParseUint(values[0], 10, 32)
	if err != nil || len(values) > 1 || ms < 1 || ms > uint64(maxDeadline.Milliseconds()) {
		return 0, fmt.Errorf("%s is %q; it must be one whole number of milliseconds from 1 to %d", deadlineHeader, values, maxDeadline.Milliseconds())
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// readBody reads the body, as long as the deadline and maxRead allow.
func readBody(w http.ResponseWriter, r *http.Request, deadline time.Time) ([]byte, error) {
	c := http.NewResponseController(w)
	if limit := time.Now().Add(maxRead); limit.Before(deadline) {
		deadline = limit
	}
	if err := c.SetReadDeadline(deadline); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, err
	}
	// Once it has passed the client, from which nothing more comes, would count as one that has hung up.
	return body, c.SetReadDeadline(time.Time{})
}

// decode makes the network's input of a picture, unless ctx ends before it is its turn.
func (s *service) decode(ctx context.Context, t *tier, file []byte) ([]byte, error) {
	select {
	case t.decoding <- struct{}{}:
		defer func() { <-t.decoding }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p, err := picture.Decode(file, picture.Limits{Side: maxSide})
	if err != nil {
		return nil, err
	}
	return s.network.Input.Bytes(p), nil
}

// outOfTime is err, of an execution whose deadline was far enough when the request came: that it no longer is, once the
// picture has been read, is no reason to say that it never can be.
func outOfTime(err error) error {
	if nn.StatusOf(err) != nn.StatusMissedDeadlinePersistent {
		return err
	}
	return nn.Errorf(nn.StatusMissedDeadlineTransient, "request", "reading the picture took too long: %w", err)
}
