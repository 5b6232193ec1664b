package driver_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// limited is a null backend on a device of so much memory.
type limited struct {
	*null.Backend
	limit int64
}

func (b limited) Memory() (used, peak, limit int64) { return 0, 0, b.limit }

// TestTemplateWithinItsShare: a thousand executions of fifty sizes in random order take no more than half of the client's
// budget, or of the device's memory, though there may be more of them; what is in use stays.
func TestTemplateWithinItsShare(t *testing.T) {
	for name, tc := range map[string]struct{ budget, limit, most int64 }{
		"budget": {10_000, 0, 5}, "device": {0, 14_000, 7}, "the less": {20_000, 6_000, 3}, "large": {100_000, 100_000, 16}, "one at least": {1_500, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := &null.Backend{Compute: ones, Weights: 1000}
			d := driver.NewDevice(limited{b, tc.limit}, driver.WithCache(driver.CacheOptions{Off: true}))
			defer d.Close()
			var opts []driver.ClientOption
			if tc.budget > 0 {
				opts = append(opts, driver.WithClientBudget(tc.budget))
			}
			c, err := d.NewClient(name, opts...)
			require.NoError(t, err)
			pm := prepareOn(t, c, openModel(nil, nil))
			random := rand.New(rand.NewPCG(7, 2))
			for range 1000 {
				require.NoError(t, runRows(pm, 1+random.Uint32N(50)))
				require.LessOrEqual(t, c.Memory(), 1000*tc.most)
				calls := b.Calls()
				require.LessOrEqual(t, int64(count(calls, "compile")-count(calls, "close executable")), tc.most)
			}
			require.EqualValues(t, 1000*tc.most, c.Memory())
			if tc.most < 2 || tc.most == 16 {
				return
			}
			var wg sync.WaitGroup
			for k := range uint64(4) {
				random := rand.New(rand.NewPCG(k, 3))
				wg.Go(func() {
					for range 200 {
						if err := runRows(pm, 1+random.Uint32N(50)); err != nil && nn.StatusOf(err) != nn.StatusResourceExhaustedTransient {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			require.LessOrEqual(t, c.Memory(), 1000*tc.most)
			require.NoError(t, pm.Close())
			require.Zero(t, c.Memory())
		})
	}
}
