package qos_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

func TestEstimatorLearns(t *testing.T) {
	for _, tc := range []struct {
		name     string
		seed     time.Duration
		measured []time.Duration
		want     time.Duration
	}{
		{"the seed", 7 * ms, nil, 7 * ms},
		{"one measurement", 7 * ms, []time.Duration{2 * ms}, 2 * ms},
		{"one measurement, slower", 1 * ms, []time.Duration{2 * ms}, 2 * ms},
		{"one measurement, an outlier", 1 * ms, []time.Duration{900 * ms}, 4 * ms},
		{"one measurement without a seed", 0, []time.Duration{900 * ms}, 900 * ms},
		{"two", 1 * ms, []time.Duration{900 * ms, 2 * ms}, 2 * ms},
		{"three with an outlier", 1 * ms, []time.Duration{900 * ms, 2 * ms, 3 * ms}, 3 * ms},
		{"a late outlier", 1 * ms, append(each(7, 2*ms), 900*ms), 2 * ms},
		{"two outliers of twenty", 1 * ms, append(each(18, 2*ms), 900*ms, 900*ms), 2 * ms},
		{"three are none", 1 * ms, append(each(17, 2*ms), 900*ms, 900*ms, 900*ms), 900 * ms},
		{"old ones are forgotten", 1 * ms, append(each(20, 9*ms), each(20, 2*ms)...), 2 * ms},
		{"times that cannot be", 3 * ms, []time.Duration{-1, -time.Hour, 2 * time.Hour}, 3 * ms},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := qos.NewEstimator([]time.Duration{tc.seed, 5 * ms})
			for _, d := range tc.measured {
				e.Observe(0, d)
			}
			require.Equal(t, []time.Duration{tc.want, 5 * ms}, e.Segments())
		})
	}
}

func TestEstimatorQuantile(t *testing.T) {
	e := qos.NewEstimator([]time.Duration{0})
	for _, i := range rand.Perm(20) {
		e.Observe(0, time.Duration(i+1)*ms)
	}
	require.Equal(t, 18*ms, e.Segments()[0])
}

func TestEstimatorRange(t *testing.T) {
	e := qos.NewEstimator([]time.Duration{1 * ms, 3 * ms, 0})
	e.ObserveRange(0, 3, 8*ms)
	require.Equal(t, []time.Duration{2 * ms, 6 * ms, 0}, e.Segments())
	e = qos.NewEstimator(make([]time.Duration, 4))
	e.ObserveRange(1, 3, 8*ms)
	require.Equal(t, []time.Duration{0, 4 * ms, 4 * ms, 0}, e.Segments())
	for _, r := range [][2]int{{-5, 0}, {3, 2}, {4, 9}, {-1 << 62, 1 << 62}, {0, 0}} {
		e.ObserveRange(r[0], r[1], -1)
	}
	e.Observe(-1, ms)
	e.Observe(4, ms)
	require.Equal(t, []time.Duration{0, 4 * ms, 4 * ms, 0}, e.Segments())
}

func TestEstimatorSegmentsAreTheCallers(t *testing.T) {
	e := qos.NewEstimator([]time.Duration{ms})
	before := e.Segments()
	e.Observe(0, 2*ms)
	require.Equal(t, ms, before[0])
	require.Equal(t, 2*ms, e.Segments()[0])
}

// TestEstimatorRenew: after a trial only what is latest counts.
func TestEstimatorRenew(t *testing.T) {
	e := qos.NewEstimator([]time.Duration{ms, ms, 7 * ms})
	for i := range 2 {
		e.Observe(i, 2*ms)
		for range 19 {
			e.Observe(i, 50*ms)
		}
	}
	e.Observe(0, 3*ms)
	e.Renew()
	require.Equal(t, []time.Duration{3 * ms, 50 * ms, 7 * ms}, e.Segments())
	e.Observe(1, 4*ms)
	e.Renew()
	require.Equal(t, []time.Duration{3 * ms, 4 * ms, 7 * ms}, e.Segments())
	qos.NewEstimator(nil).Renew()
}

// TestEstimatorFastest is a lower bound of the seeds until something ran, and then the quickest run ever.
func TestEstimatorFastest(t *testing.T) {
	e := qos.NewEstimator([]time.Duration{4 * ms, 8 * ms})
	require.Equal(t, 3*ms, e.Fastest())
	for _, k := range []struct{ took, want time.Duration }{{20 * ms, 20 * ms}, {-ms, 20 * ms}, {9 * ms, 9 * ms}, {50 * ms, 9 * ms}} {
		e.Completed(k.took)
		require.Equal(t, k.want, e.Fastest())
	}
	for range 50 {
		e.ObserveRange(0, 2, 100*ms)
	}
	e.Renew()
	require.Equal(t, 9*ms, e.Fastest(), "it is never forgotten")
}

func TestEstimatorConcurrent(t *testing.T) {
	e := qos.NewEstimator(each(50, ms))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				e.Observe(i%50, 2*ms)
				e.ObserveRange(0, 50, 100*ms)
				require.Len(t, e.Segments(), 50)
				e.Completed(2 * ms)
			}
		})
	}
	wg.Wait()
	for _, d := range e.Segments() {
		require.InEpsilon(t, 2*ms, d, 0.2)
	}
}

func TestPrepareEstimator(t *testing.T) {
	var e qos.PrepareEstimator
	cold := qos.PrepareCost{Pipelines: 12, WeightBytes: 4e6, Steps: 60}
	warm := qos.PrepareCost{WeightBytes: 4e6, Steps: 60}
	seeded := e.Estimate(cold)
	require.Greater(t, seeded, 100*ms)
	require.Less(t, seeded, 2*time.Second)
	require.Greater(t, seeded, e.Estimate(warm))
	for range 10 {
		e.Observe(cold, 120*ms+20*ms)
		e.Observe(warm, 20*ms)
	}
	e.Observe(cold, time.Minute) // an outlier
	e.Observe(warm, time.Minute)
	require.InEpsilon(t, float64(20*ms), float64(e.Estimate(warm)), 0.01)
	require.InEpsilon(t, float64(140*ms), float64(e.Estimate(cold)), 0.10)
	half := qos.PrepareCost{Pipelines: 6, WeightBytes: 4e6, Steps: 60}
	require.InEpsilon(t, float64(80*ms), float64(e.Estimate(half)), 0.10)

	for _, c := range []qos.PrepareCost{{}, {-1, -1, -1}, {1 << 62, 1 << 62, 1 << 62}} {
		e.Observe(c, -ms)
		e.Observe(c, 1000*time.Hour)
		e.Observe(c, ms)
		require.Greater(t, e.Estimate(c), time.Duration(0))
	}
}

// TestPrepareEstimatorTrials: one preparation that took long by chance refuses others for half a second, and no longer;
// where they are slow indeed, one in most of a second is tried.
func TestPrepareEstimatorTrials(t *testing.T) {
	for _, slow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var e qos.PrepareEstimator
			cost := qos.PrepareCost{Pipelines: 3, WeightBytes: 1000, Steps: 4}
			for range 20 {
				e.Observe(cost, 5*ms)
			}
			for range 20 {
				e.Observe(cost, 10*time.Second)
			}
			e.Observe(cost, 15*ms) // one was quick
			began, tried := time.Now(), 0
			for time.Since(began) < 10*time.Second {
				if e.Admit(cost, time.Now(), time.Now().Add(20*ms)) == nil {
					require.GreaterOrEqual(t, time.Since(began), 500*ms)
					tried++
					took := 5 * ms
					if slow {
						took = 10 * time.Second
					}
					e.Observe(cost, took)
				}
				time.Sleep(10 * ms)
			}
			if slow {
				require.InDelta(t, 11, tried, 1) // at least 850 ms apart
			} else {
				require.InDelta(t, 950, tried, 5)
			}
		})
	}
}

// TestQ3PreparationDeadline: what has passed, and what is sooner than any preparation was quick, is missed for good;
// the maximum of the clock is no deadline; and what else cannot be is missed for now.
func TestQ3PreparationDeadline(t *testing.T) {
	var e qos.PrepareEstimator
	cost := qos.PrepareCost{Pipelines: 3, WeightBytes: 1000, Steps: 4} // 90 ms and some by the seeds
	now := time.Now()
	for _, tc := range []struct {
		name            string
		since, deadline time.Time
		want            nn.Status
	}{
		{"none", now, time.Time{}, nn.StatusNone},
		{"past", now, now.Add(-time.Hour), nn.StatusMissedDeadlinePersistent},
		{"now", now, now, nn.StatusMissedDeadlinePersistent},
		{"5 ms", now, now.Add(5 * ms), nn.StatusMissedDeadlinePersistent},
		{"past since", now.Add(-2 * time.Hour), now.Add(-time.Hour), nn.StatusMissedDeadlineTransient},
		{"50 ms", now, now.Add(50 * ms), nn.StatusMissedDeadlineTransient},
		{"an hour", now, now.Add(time.Hour), nn.StatusNone},
		{"maximum", now, time.Unix(0, math.MaxInt64), nn.StatusNone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := e.Admit(cost, tc.since, tc.deadline)
			require.Equal(t, tc.want, nn.StatusOf(err))
			if err != nil {
				require.ErrorIs(t, err, qos.ErrRefused)
			}
		})
	}
	for range 3 {
		e.Observe(cost, 40*ms)
		e.Observe(qos.PrepareCost{}, ms)
	}
	e.Observe(cost, 400*ms)
	e.Observe(cost, 400*ms)
	e.Observe(cost, 400*ms)
	require.Equal(t, nn.StatusMissedDeadlinePersistent, nn.StatusOf(e.Admit(cost, now, now.Add(30*ms))), "none was ever as quick")
	require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(e.Admit(cost, time.Now(), time.Now().Add(200*ms))))
}
