package qos

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// The stored form of estimates: a magic word that names the kind and its version, then varints. A quantile is the
// bits of a float64, little endian. A list of samples is its seed, its length, and the times from the oldest on.
var (
	estimatorMagic = [4]byte{'N', 'Q', 'E', 1}
	prepareMagic   = [4]byte{'N', 'Q', 'P', 1}
)

var errDamaged = errors.New("estimates: damaged or of another version")

// MarshalBinary encodes e. The error is always nil.
func (e *Estimator) MarshalBinary() ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := append(make([]byte, 0, 32+len(e.segments)*16), estimatorMagic[:]...)
	out = binary.LittleEndian.AppendUint64(out, math.Float64bits(e.quantile))
	out = binary.AppendUvarint(out, uint64(len(e.segments)))
	for i := range e.segments {
		out = e.segments[i].append(out)
	}
	return out, nil
}

// UnmarshalBinary replaces what e knows. data may be anything; when it is not what MarshalBinary made, or has
// another number of segments than e (unless e is the zero value), e is unchanged and there is an error.
func (e *Estimator) UnmarshalBinary(data []byte) error {
	r := reader{data: data}
	r.magic(estimatorMagic)
	quantile := math.Float64frombits(r.word())
	if !(quantile >= 0 && quantile <= 1) {
		r.failed = true
	}
	// A segment takes two bytes at least, which bounds what is allocated by what was given.
	n := r.number(min(maxSegments, uint64(len(data)/2)))
	if r.failed {
		return errDamaged
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if have := len(e.segments); have > 0 && uint64(have) != n {
		return fmt.Errorf("estimates: of %d segments, not of %d", n, have)
	}
	segments := make([]samples, n)
	for i := range segments {
		r.samples(&segments[i])
	}
	if !r.done() {
		return errDamaged
	}
	e.quantile, e.segments, e.cached = quantile, segments, nil
	return nil
}

// MarshalBinary encodes e. The error is always nil.
func (e *PrepareEstimator) MarshalBinary() ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := append(make([]byte, 0, 256), prepareMagic[:]...)
	return e.rest.append(e.pipeline.append(out)), nil
}

// UnmarshalBinary replaces what e knows. data may be anything; when it is not what MarshalBinary made, e is
// unchanged and there is an error.
func (e *PrepareEstimator) UnmarshalBinary(data []byte) error {
	r := reader{data: data}
	r.magic(prepareMagic)
	var pipeline, rest samples
	r.samples(&pipeline)
	r.samples(&rest)
	if !r.done() {
		return errDamaged
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pipeline, e.rest = pipeline, rest
	return nil
}

func (s *samples) append(out []byte) []byte {
	out = binary.AppendUvarint(out, uint64(s.seed))
	out = binary.AppendUvarint(out, uint64(s.n))
	for k := range s.n {
		out = binary.AppendUvarint(out, uint64(s.times[(s.at-s.n+k+window)%window]))
	}
	return out
}

// reader takes hostile bytes apart. After a failure it returns zeros.
type reader struct {
	data   []byte
	failed bool
}

func (r *reader) magic(want [4]byte) {
	if len(r.data) < len(want) || [4]byte(r.data) != want {
		r.failed = true
		return
	}
	r.data = r.data[len(want):]
}

func (r *reader) word() uint64 {
	if r.failed || len(r.data) < 8 {
		r.failed = true
		return 0
	}
	v := binary.LittleEndian.Uint64(r.data)
	r.data = r.data[8:]
	return v
}

// number reads a varint of at most limit.
func (r *reader) number(limit uint64) uint64 {
	if r.failed {
		return 0
	}
	v, n := binary.Uvarint(r.data)
	if n <= 0 || v > limit {
		r.failed = true
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) samples(s *samples) {
	s.seed = time.Duration(r.number(uint64(maxMeasured)))
	s.n = int(r.number(window))
	s.at = s.n % window
	for k := range s.n {
		s.times[k] = time.Duration(r.number(uint64(maxMeasured)))
	}
}

func (r *reader) done() bool { return !r.failed && len(r.data) == 0 }
