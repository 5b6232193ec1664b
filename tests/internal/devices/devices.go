// Package devices opens the Vulkan devices that tests run on.
package devices

import (
	"os"
	"strings"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/tests/internal/ref"
)

// Required reports whether NNGPU_REQUIRE lists name: then its absence is a failure.
func Required(name string) bool {
	return nntest.Required(name)
}

// Each runs f on every device that is to be tested: those that NNGPU_DEVICE lists, else both software
// implementations. An absent device is skipped, or fails when it is required. Afterwards the validation
// layers must have nothing to say.
func Each(t *testing.T, f func(t *testing.T, d *driver.Device)) {
	t.Helper()
	EachWith(t, gpu.Options{}, f)
}

// EachWith is Each with options for opening the devices.
func EachWith(t *testing.T, o gpu.Options, f func(t *testing.T, d *driver.Device), opts ...driver.DeviceOption) {
	t.Helper()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			f(t, OpenWith(t, name, o, opts...))
		})
	}
}

// Names are the devices that are to be tested: those that NNGPU_DEVICE lists, else both software implementations.
func Names() []string {
	if list := os.Getenv("NNGPU_DEVICE"); list != "" {
		return strings.Split(list, ",")
	}
	return []string{"lavapipe", "swiftshader"}
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
	if err != nil {
		if Required(name) {
			t.Fatalf("device %s is required: %v", name, err)
		}
		t.Skipf("device %s: %v", name, err)
	}
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

// Arithmetic is the rounding that the driver uses for m: that of TFLite, which rounds once in the
// convolutions and matrix products of signed 8-bit models and twice elsewhere.
func Arithmetic(m *nn.Model) func(nn.OperationType) ref.Arithmetic {
	for _, o := range m.Main.Operands {
		if o.Type == nn.TensorQuant8AsymmSigned {
			return ref.SingleRoundingInMatrices
		}
	}
	return ref.Always(ref.DoubleRounding)
}

// Shared returns the folder name of the test data beside the project, or skips the test where it is absent
// (fails when NNGPU_REQUIRE lists "shared"). The environment variable NNGPU_SHARED says where it is.
func Shared(t testing.TB, name string) string {
	t.Helper()
	return nntest.Shared(t, name)
}
