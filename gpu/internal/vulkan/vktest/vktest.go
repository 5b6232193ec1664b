// Package vktest gives tests the software Vulkan devices of the machine.
//
// They are those of nntest.Devices, each a selector of vulkan.Open. An absent implementation skips its subtest, or
// fails it where it is required.
package vktest

import (
	"errors"
	"os"
	"testing"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

// Selectors lists the devices that tests run on, whether they are there or not.
func Selectors() []string { return nntest.Devices() }

// Each runs f as a subtest for each device, opened by Open.
func Each(t *testing.T, f func(t *testing.T, d *vulkan.Device)) {
	for _, selector := range Selectors() {
		t.Run(selector, func(t *testing.T) { f(t, Open(t, selector, vulkan.Options{})) })
	}
}

// Open opens a device with the validation layer where it is installed (NNGPU_VALIDATION=0 leaves it out),
// and closes it at the end of the test. Messages of the layer fail the test. The test is skipped where the
// device is absent.
func Open(t testing.TB, selector string, o vulkan.Options) *vulkan.Device {
	t.Helper()
	o.Validation = os.Getenv("NNGPU_VALIDATION") != "0"
	d, err := vulkan.Open(selector, o)
	if err != nil {
		absent := errors.Is(err, vulkan.ErrUnknownDevice) || errors.Is(err, vk.ErrNoLoader) || errors.Is(err, vk.ErrNoLayer)
		if absent && !Required(selector) {
			t.Skipf("no device: %v", err)
		}
		t.Fatalf("device %s: %v", selector, err)
	}
	t.Cleanup(func() {
		for _, m := range d.ValidationMessages() {
			t.Errorf("validation: %s", m)
		}
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

// Required says whether NNGPU_REQUIRE has the word.
func Required(word string) bool { return nntest.Required(word) }
