// Package exampletest is for tests of the examples.
package exampletest

import (
	"os"
	"strings"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
)

// Each runs f with the names of the devices that NNGPU_DEVICE lists, else of both software implementations. An absent one
// is skipped, or fails where it is required.
func Each(t *testing.T, f func(t *testing.T, device string)) {
	t.Helper()
	list := "lavapipe,swiftshader"
	if v := os.Getenv("NNGPU_DEVICE"); v != "" {
		list = v
	}
	for name := range strings.SplitSeq(list, ",") {
		t.Run(name, func(t *testing.T) {
			b, err := gpu.Open(name, gpu.Options{})
			switch {
			case err == nil:
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
			case nntest.Required(name):
				t.Fatalf("device %s is required: %v", name, err)
			default:
				t.Skipf("device %s: %v", name, err)
			}
			f(t, name)
		})
	}
}

// Open opens a device for the time of a test, which keeps no compiled models.
func Open(t *testing.T, name string, opts ...driver.DeviceOption) *driver.Device {
	t.Helper()
	b, err := gpu.Open(name, gpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := driver.NewDevice(b, append(opts, driver.WithCache(driver.CacheOptions{Off: true}))...)
	t.Cleanup(func() {
		for _, m := range b.ValidationMessages() {
			t.Errorf("validation layer: %s", m)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
