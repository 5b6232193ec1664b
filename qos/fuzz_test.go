package qos_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/nngpu/nngpu/qos"
)

// FuzzUnmarshal: whatever the bytes are, there is an error, or estimates that can be used and stored again.
func FuzzUnmarshal(f *testing.F) {
	e := qos.NewEstimator([]time.Duration{ms, 2 * ms})
	e.Observe(1, 3*ms)
	data, _ := e.MarshalBinary()
	f.Add(data)
	var p qos.PrepareEstimator
	p.Observe(qos.PrepareCost{Pipelines: 1}, 30*ms)
	data, _ = p.MarshalBinary()
	f.Add(data)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		var e qos.Estimator
		if e.UnmarshalBinary(data) == nil {
			for _, d := range e.Segments() {
				if d < 0 || d > time.Hour {
					t.Fatal(d)
				}
			}
			e.ObserveRange(0, e.Len(), time.Second)
			e.Relax(time.Hour)
			var again qos.Estimator
			out, _ := e.MarshalBinary()
			if err := again.UnmarshalBinary(out); err != nil {
				t.Fatal(err)
			}
			back, _ := again.MarshalBinary()
			if !bytes.Equal(out, back) {
				t.Fatal("stored again it differs")
			}
		}
		var p qos.PrepareEstimator
		if p.UnmarshalBinary(data) == nil {
			for _, c := range []qos.PrepareCost{{}, {Pipelines: 5, WeightBytes: 1 << 50, Steps: 9}} {
				if p.Estimate(c) < 0 {
					t.Fatal(p.Estimate(c))
				}
				p.Observe(c, time.Second)
			}
			out, _ := p.MarshalBinary()
			if err := new(qos.PrepareEstimator).UnmarshalBinary(out); err != nil {
				t.Fatal(err)
			}
		}
	})
}
