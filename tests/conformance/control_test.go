package conformance

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/internal/conformancedata"
	"github.com/nngpu/nngpu/internal/conformancerun"
	"github.com/nngpu/nngpu/internal/devices"
)

// TestControlFlow runs the models with IF and WHILE. All pass, also where the state of a loop has another shape in each
// iteration; a loop without end is a missed deadline, and leaves the device to others.
func TestControlFlow(t *testing.T) {
	dir := folder(t)
	devices.EachWith(t, gpu.Options{}, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		counts := map[conformancerun.Verdict]int{}
		endless := 0
		control := func(name string) bool { return strings.HasPrefix(name, "if_") || strings.HasPrefix(name, "while_") }
		err = conformancedata.Load(dir, control, func(c *conformancedata.Case) error {
			o := conformancerun.Run(context.Background(), d, client, c)
			counts[o.Verdict]++
			switch {
			case o.Verdict == conformancerun.Failed:
				t.Errorf("%s: %v", c.Name, o.Err)
			case o.Verdict == conformancerun.Refused:
				t.Errorf("refused: %s: %v", c.Name, o.Err)
			case strings.HasPrefix(c.Name, "while_infinite"):
				endless++
				require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(o.Err), "%s: %v", c.Name, o.Err)
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 449+164, counts[conformancerun.Passed])
		require.Equal(t, 8, counts[conformancerun.FailedAsExpected])
		require.Equal(t, 4, endless)
	})
}

// TestControlFlowFromCache runs models with IF and WHILE as they come back from cache files: every one with NNGPU_SOAK=1, else
// every fourth. What is prepared is stored.
func TestControlFlowFromCache(t *testing.T) {
	every := 4
	if os.Getenv("NNGPU_SOAK") == "1" {
		every = 1
	}
	dir, files := folder(t), t.TempDir()
	devices.EachWith(t, gpu.Options{}, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		seen, passed := 0, 0
		control := func(name string) bool { return strings.HasPrefix(name, "if_") || strings.HasPrefix(name, "while_") }
		err = conformancedata.Load(dir, control, func(c *conformancedata.Case) error {
			if seen++; seen%every != 0 {
				return nil
			}
			switch o := conformancerun.RunFromCache(context.Background(), d, client, c, files); o.Verdict {
			case conformancerun.Failed:
				t.Errorf("%s: %v", c.Name, o.Err)
			case conformancerun.Passed:
				passed++
			}
			return nil
		})
		require.NoError(t, err)
		require.GreaterOrEqual(t, passed, 400/every)
		require.Zero(t, client.Memory())
	}, driver.WithCache(driver.CacheOptions{Off: true, StateDir: files}))
}
