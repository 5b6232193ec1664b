package gpu

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
)

// Estimates implements backend.Executable: what was learned, else what the cost model says.
func (x *executable) Estimates() []time.Duration {
	if list := x.learned.Load(); list != nil {
		return *list
	}
	return x.lasting.Estimates()
}

// SetEstimates implements backend.Storer.
func (x *executable) SetEstimates(list []time.Duration) {
	if checkEstimates(list, len(x.Plan().Segments)) != nil {
		return
	}
	list = slices.Clone(list)
	x.learned.Store(&list)
}

// checkEstimates holds list to what backend.Storer says.
func checkEstimates(list []time.Duration, segments int) error {
	if len(list) != segments {
		return fmt.Errorf("%d estimates of %d segments", len(list), segments)
	}
	for i, t := range list {
		if t <= 0 || t > backend.MaxEstimate {
			return fmt.Errorf("an estimate of %v for segment %d", t, i)
		}
	}
	return nil
}

// encodeEstimates: 8 bytes of nanoseconds a segment, least significant first.
func encodeEstimates(list []time.Duration) []byte {
	var b []byte
	for _, t := range list {
		b = binary.LittleEndian.AppendUint64(b, uint64(t))
	}
	return b
}

// decodeEstimates undoes encodeEstimates for a plan of so many segments.
func decodeEstimates(b []byte, segments int) ([]time.Duration, error) {
	if len(b) != 8*segments {
		return nil, fmt.Errorf("%d bytes of estimates for %d segments", len(b), segments)
	}
	list := make([]time.Duration, segments)
	for i := range list {
		list[i] = time.Duration(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return list, checkEstimates(list, segments)
}
