// Package devices opens the Vulkan devices that tests run on: those of nntest.Devices. An absent one skips the test, or fails
// it where it is required.
package devices

import (
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
)

// Each runs f on every device. Afterwards the validation layers must have nothing to say.
func Each(t *testing.T, f func(t *testing.T, d *driver.Device)) {
	t.Helper()
	EachWith(t, gpu.Options{}, f)
}

// EachWith is Each with options for opening the devices.
func EachWith(t *testing.T, o gpu.Options, f func(t *testing.T, d *driver.Device), opts ...driver.DeviceOption) {
	t.Helper()
	for _, name := range nntest.Devices() {
		t.Run(name, func(t *testing.T) {
			f(t, OpenWith(t, name, o, opts...))
		})
	}
}

// EachClient is Each with a client of the device.
func EachClient(t *testing.T, f func(t *testing.T, c *driver.Client)) {
	t.Helper()
	Each(t, func(t *testing.T, d *driver.Device) {
		c, err := d.NewClient("test")
		if err != nil {
			t.Fatal(err)
		}
		f(t, c)
	})
}

// EachNamed runs f with the name of every device, which f opens itself.
func EachNamed(t *testing.T, f func(t *testing.T, name string)) {
	t.Helper()
	for _, name := range nntest.Devices() {
		t.Run(name, func(t *testing.T) {
			b, err := gpu.Open(name, gpu.Options{})
			nntest.Opened(t, name, err)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			f(t, name)
		})
	}
}

// Open opens one device for the time of a test.
func Open(t *testing.T, name string) *driver.Device {
	t.Helper()
	return OpenWith(t, name, gpu.Options{})
}

// OpenWith is Open with options. Nothing is cached unless they say so.
func OpenWith(t *testing.T, name string, o gpu.Options, opts ...driver.DeviceOption) *driver.Device {
	t.Helper()
	b, err := gpu.Open(name, o)
	nntest.Opened(t, name, err)
	d := driver.NewDevice(b, append([]driver.DeviceOption{driver.WithCache(driver.CacheOptions{Off: true})}, opts...)...)
	t.Cleanup(func() {
		for _, m := range b.ValidationMessages() {
			t.Errorf("validation layer: %s", m)
		}
		if err := d.Close(); err != nil {
			t.Errorf("close %s: %v", name, err)
		}
	})
	return d
}
