package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"math"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/picture"
)

// answer is what a picture was found to be, and how long that took.
type answer struct {
	Label    string  `json:"label"`
	Score    float32 `json:"score"`
	QueuedMS float64 `json:"queued_ms"` // waiting for the device
	DeviceMS float64 `json:"device_ms"` // from the first work on the device to the last
	TotalMS  float64 `json:"total_ms"`  // since the request came
	Late     bool    `json:"late"`      // it came after its deadline
}

// problem is the answer to a request that was not fulfilled.
type problem struct {
	Error string `json:"error"`
	// Status is that of the NN HAL, where the driver has refused the request.
	Status string `json:"status,omitempty"`
	// RetryAfterMS is Retry-After, which knows whole seconds only, more exactly.
	RetryAfterMS float64 `json:"retry_after_ms,omitempty"`
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// statusClientGone is in no standard; nginx logs it of requests that nobody waits for any more.
const statusClientGone = 499

// answer writes an answer as JSON, and counts it.
func (s *service) answer(w http.ResponseWriter, t *tier, code int, body any) {
	s.answers.Add(fmt.Sprintf("tier=%q,code=\"%d\"", t.name, code), 1)
	if code == statusClientGone {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // or the client went away
}

// fail answers a request that is wrong.
func (s *service) fail(w http.ResponseWriter, t *tier, code int, err error) {
	s.answer(w, t, code, problem{Error: err.Error()})
}

// refuse answers a request that the driver did not fulfil.
func (s *service) refuse(w http.ResponseWriter, r *http.Request, t *tier, deadline time.Time, err error) {
	status, code := nn.StatusOf(err), statusCode(err)
	p := problem{Error: err.Error(), Status: status.String()}
	switch {
	case r.Context().Err() != nil:
		code = statusClientGone
	case code >= 500: // a fault of ours, whose details concern nobody else
		s.log.Error("not classified", "tier", t.name, "error", err)
		p.Error = http.StatusText(code)
	}
	if wait, ok := s.retryAfter(t, deadline, status); ok {
		p.RetryAfterMS = milliseconds(wait)
		// A second at least: nothing shorter can be said, and as often as that the driver tries what it expects to be late.
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
	}
	s.answer(w, t, code, p)
}

// retryAfter is in how long a request like one that was refused with status may succeed, if nothing else comes. ok is false
// where waiting does not help.
func (s *service) retryAfter(t *tier, deadline time.Time, status nn.Status) (wait time.Duration, ok bool) {
	end, err := s.model.Forecast(t.priority, driver.WithDeadline(deadline))
	switch status {
	case nn.StatusMissedDeadlineTransient:
		wait = end.Sub(deadline) // by so much it would be late
	case nn.StatusResourceExhaustedTransient:
		wait = time.Until(end) // then what waits now will be done
	case nn.StatusDeviceUnavailable:
		return 0, true // the next execution opens the device again
	default:
		return 0, false
	}
	return max(wait, 0), err == nil
}

// statusCode is what an HTTP client is told for an error of the driver.
func statusCode(err error) int {
	switch nn.StatusOf(err) {
	case nn.StatusNone:
		return http.StatusOK
	case nn.StatusMissedDeadlineTransient, nn.StatusResourceExhaustedTransient:
		return http.StatusTooManyRequests
	case nn.StatusMissedDeadlinePersistent:
		return http.StatusUnprocessableEntity
	case nn.StatusDeviceUnavailable, nn.StatusResourceExhaustedPersistent:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// bodyCode is what a client is told whose request did not arrive as a whole.
func bodyCode(err error) int {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout
	}
	return http.StatusBadRequest
}

// pictureCode is what a client is told whose picture cannot be decoded.
func pictureCode(err error) int {
	switch {
	case errors.Is(err, picture.ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, image.ErrFormat):
		return http.StatusUnsupportedMediaType
	}
	return http.StatusBadRequest
}
