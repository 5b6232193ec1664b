package driver_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// TestForecast says when an execution would end, behind those that go before it.
func TestForecast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &null.Backend{Compute: add, SegmentTime: 10 * ms, Gate: make(chan struct{})}
		d, c := open(t, b)
		pm := prepareOn(t, c, addModel())
		low := driver.WithExecutionPriority(nn.PriorityLow)
		forecast := func(opts ...driver.ExecuteOption) time.Duration {
			end, err := pm.Forecast(opts...)
			require.NoError(t, err)
			return time.Until(end)
		}
		require.Equal(t, 10*ms, forecast())
		var running []*driver.Execution
		for range 2 { // one on the device, one that waits
			running = append(running, pm.ExecuteAsync(t.Context(), addRequest(), low))
			synctest.Wait()
		}
		require.Equal(t, 20*ms, forecast(), "before the one that waits")
		require.Equal(t, 30*ms, forecast(low), "behind it")
		require.Equal(t, 20*ms, forecast(low, driver.WithDeadline(time.Now().Add(-ms))), "deadlines go first")
		require.NoError(t, pm.CanMeet(time.Now().Add(30*ms), low))
		require.Zero(t, d.Scheduling().Refused)
		close(b.Gate)
		for _, e := range running {
			_, err := e.Wait()
			require.NoError(t, err)
		}

		_, err := pm.Forecast(driver.WithExecutionPriority(nn.PriorityHigh))
		requireStatus(t, nn.StatusInvalidArgument, err)
		late, err := c.PrepareModel(t.Context(), addModel(), driver.WithDelayedCompilation())
		require.NoError(t, err)
		end, err := late.Forecast()
		require.NoError(t, err)
		require.Zero(t, end, "nothing is known of it")
		require.NoError(t, pm.Close())
		_, err = pm.Forecast()
		require.ErrorIs(t, err, driver.ErrClosed)
		require.NoError(t, d.Close())
	})
}
