// Package clienttest gives tests of the command's parts a client on each device.
package clienttest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
)

// Each runs f with a client of every device that NNGPU_DEVICE lists, else of both software implementations. An absent one
// is skipped, or fails where NNGPU_REQUIRE lists it. Afterwards the validation layers must have said nothing.
func Each(t *testing.T, f func(t *testing.T, c *driver.Client)) {
	names := "lavapipe,swiftshader"
	if v := os.Getenv("NNGPU_DEVICE"); v != "" {
		names = v
	}
	for name := range strings.SplitSeq(names, ",") {
		t.Run(name, func(t *testing.T) {
			b, err := gpu.Open(name, gpu.Options{})
			if err != nil && !nntest.Required(name) {
				t.Skipf("device %s: %v", name, err)
			}
			require.NoError(t, err)
			d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
			t.Cleanup(func() {
				require.Empty(t, b.ValidationMessages())
				require.NoError(t, d.Close())
			})
			c, err := d.NewClient("test")
			require.NoError(t, err)
			f(t, c)
		})
	}
}
