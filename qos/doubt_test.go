package qos_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// slowed is a model of five segments of 2 ms on a device that something else may slow down.
type slowed struct {
	d      *device
	c      *qos.Client
	e      *qos.Estimator
	group  qos.Group
	factor time.Duration
}

// run executes it once, with the time that it has.
func (m *slowed) run(ctx context.Context, left time.Duration) (qos.Report, error) {
	began := time.Now()
	j := &qos.Job{
		Segments: m.e.Segments(), Fastest: m.e.Fastest(), Group: &m.group, Trial: true,
		Submit: func(first, last int) (qos.Fence, error) {
			return m.d.submit("slowed", first, last, time.Duration(last-first)*2*ms*m.factor), nil
		},
		Observe: m.e.ObserveRange,
	}
	if left > 0 {
		j.Deadline = began.Add(left)
	}
	report, err := m.c.Run(ctx, j)
	if err == nil {
		m.e.Completed(time.Since(began) - report.Queued)
	}
	if report.Trial {
		m.e.Renew()
	}
	return report, err
}

// TestRecovery: 30 runs, then a load of others that makes all take six times as long for about 4 s, then none. The
// first request after it that has half as much time again as a run takes succeeds within a second, and those after it;
// until then none is told that it never could; and no more than one in most of a second is late.
func TestRecovery(t *testing.T) {
	for _, during := range []string{"deadlines", "no deadlines", "nothing"} {
		for _, rate := range []time.Duration{30 * ms, 100 * ms} {
			for offset := time.Duration(0); offset < time.Second; offset += 37 * ms {
				synctest.Test(t, func(t *testing.T) {
					d := &device{t: t}
					s := qos.New(qos.Options{})
					m := &slowed{d: d, c: s.MustClient("c", 1), e: qos.NewEstimator(each(5, 3*ms)), factor: 1}
					for range 30 {
						_, err := m.run(t.Context(), 0)
						require.NoError(t, err)
					}
					m.factor = 6
					ended := time.Now().Add(4*time.Second + offset)
					for time.Now().Before(ended) {
						var err error
						switch during {
						case "deadlines":
							_, err = m.run(t.Context(), 15*ms)
						case "no deadlines":
							_, err = m.run(t.Context(), 0)
						}
						if err != nil {
							require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err), "%v", err)
						}
						time.Sleep(min(rate, time.Until(ended)))
					}
					late := s.Stats().LateTrials
					require.LessOrEqual(t, late, 1+uint64((4*time.Second+offset)/(850*ms)))
					require.LessOrEqual(t, s.Stats().Missed, uint64(3), "before it was noticed")
					m.factor = 1
					for {
						_, err := m.run(t.Context(), 15*ms)
						if err == nil {
							break
						}
						require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err), "%v", err)
						time.Sleep(rate)
					}
					require.Less(t, time.Since(ended), time.Second, "%s, each %v, ended after %v", during, rate, offset)
					for range 30 {
						_, err := m.run(t.Context(), 15*ms)
						require.NoError(t, err)
					}
				})
			}
		}
	}
}

// TestTrialsKeepPromises: a trial is not let through where it would make an execution late that was admitted.
func TestTrialsKeepPromises(t *testing.T) {
	for _, left := range []time.Duration{45 * ms, 75 * ms} { // for a promise of 40 ms
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &device{t: t}
				s := qos.New(qos.Options{})
				m := &slowed{d: d, c: s.MustClient("c", 1), e: qos.NewEstimator(each(5, 6*ms)), factor: 1}
				_, err := m.run(t.Context(), 20*ms)
				require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err))
				time.Sleep(time.Second)
				j := d.job("promised", nn.PriorityMedium, each(20, 2*ms)...)
				j.Priority, j.Deadline = nn.PriorityLow, time.Now().Add(left)
				promised := start(t.Context(), s.MustClient("other", 1), j)
				synctest.Wait()
				report, err := m.run(t.Context(), 25*ms)
				require.NoError(t, (<-promised).err)
				if left < 70*ms {
					require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err))
					require.ErrorIs(t, err, qos.ErrRefused)
					return
				}
				require.NoError(t, err)
				require.True(t, report.Trial)
				require.EqualValues(t, 1, s.Stats().Trials)
				require.Zero(t, s.Stats().LateTrials)
			})
		})
	}
}

// TestStoppedProcess: after a pause in which nothing went on, work is given up for now, not for good; and the next one
// is not refused for what it took.
func TestStoppedProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(qos.Options{})
		m := &slowed{d: d, c: s.MustClient("c", 1), e: qos.NewEstimator(each(5, 2*ms)), factor: 1}
		for range 30 {
			_, err := m.run(t.Context(), 0)
			require.NoError(t, err)
		}
		m.factor = 200
		_, err := m.run(t.Context(), 15*ms)
		require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err), "%v", err)
		m.factor = 1
		_, err = m.run(t.Context(), 15*ms)
		require.NoError(t, err)
		_, err = m.run(t.Context(), 9*ms)
		require.Equal(t, nn.StatusMissedDeadlinePersistent, nn.StatusOf(err), "%v", err)
	})
}

// TestStormOfCancellations: executions that are cancelled on the way measure some segments and not the others; that
// does not keep the others' estimates from being doubted.
func TestStormOfCancellations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(qos.Options{})
		m := &slowed{d: d, c: s.MustClient("c", 1), e: qos.NewEstimator(each(5, 3*ms)), factor: 6}
		for range 30 {
			_, err := m.run(t.Context(), 0)
			require.NoError(t, err)
		}
		m.e.Completed(10 * ms) // once
		m.factor = 1
		began := time.Now()
		for {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(3*ms, cancel)
			_, err := m.run(ctx, 0)
			require.ErrorIs(t, err, context.Canceled)
			if _, err = m.run(t.Context(), 15*ms); err == nil {
				break
			}
			require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err), "%v", err)
			time.Sleep(30 * ms)
		}
		require.Less(t, time.Since(began), time.Second)
	})
}
