package driver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// TestQ8PrepareLostTime: what could have been met at the call is TRANSIENT.
func TestQ8PrepareLostTime(t *testing.T) {
	var e qos.PrepareEstimator
	cost := qos.PrepareCost{Pipelines: 100} // three seconds
	now := time.Now()
	for _, tc := range []struct {
		name            string
		start, deadline time.Time
		want            nn.Status
	}{
		{"none", now, time.Time{}, nn.StatusNone},
		{"far", now, now.Add(time.Hour), nn.StatusNone},
		{"hopeless", now, now.Add(time.Second), nn.StatusMissedDeadlinePersistent},
		{"hopeless from the start", now.Add(-time.Second), now.Add(time.Second), nn.StatusMissedDeadlinePersistent},
		{"lost", now.Add(-time.Minute), now.Add(time.Second), nn.StatusMissedDeadlineTransient},
		{"passed", now.Add(-time.Minute), now.Add(-time.Second), nn.StatusMissedDeadlineTransient},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := canPrepare(&e, cost, &prepareOptions{start: tc.start, deadline: tc.deadline})
			require.Equal(t, tc.want, nn.StatusOf(err), "%v", err)
		})
	}
}
