package driver

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// histogramBuckets is the number of buckets of a Histogram.
const histogramBuckets = 28

// Histogram counts durations. Its buckets are fixed, in powers of two: Buckets[0] counts what took at most a microsecond,
// Buckets[i] what took more than 1<<(i-1) and at most 1<<i microseconds, and the last one all that took more than 1<<26
// of them, which is 67 seconds. A quantile that is read from them is right within a factor of two.
type Histogram struct {
	Count   uint64                   `json:"count"` // the sum of Buckets
	Sum     time.Duration            `json:"sum_ns"`
	Buckets [histogramBuckets]uint64 `json:"buckets"`
}

// HistogramBound is the largest duration that bucket i of a Histogram counts; the last one has none, for which it is the
// largest time.Duration.
func HistogramBound(i int) time.Duration {
	if i >= histogramBuckets-1 {
		return math.MaxInt64
	}
	return time.Microsecond << max(i, 0)
}

// histogram is a Histogram that is being recorded. Safe for concurrent use. The zero value is empty.
type histogram struct {
	sum     atomic.Int64
	buckets [histogramBuckets]atomic.Uint64
}

// observe counts d; what is negative counts as 0.
func (h *histogram) observe(d time.Duration) {
	d = max(d, 0)
	i := bits.Len64(uint64(max(d-1, 0) / time.Microsecond))
	h.buckets[min(i, histogramBuckets-1)].Add(1)
	h.sum.Add(int64(d))
}

func (h *histogram) read() (out Histogram) {
	out.Sum = time.Duration(h.sum.Load())
	for i := range h.buckets {
		out.Buckets[i] = h.buckets[i].Load()
		out.Count += out.Buckets[i]
	}
	return out
}
