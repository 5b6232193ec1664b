// Package nngpu opens a Vulkan device for neural networks: the device, its share of memory, the cache of compiled models,
// scheduling and logging in one call.
//
// What a Device does is in package driver; models come from driver/importer, all of whose formats this package links, from
// driver/layers or from driver/nn.
package nngpu

import (
	"log/slog"
	"time"

	"github.com/nngpu/nngpu/driver"
	_ "github.com/nngpu/nngpu/driver/importer/tflite" // a format that importer.Open knows
	"github.com/nngpu/nngpu/gpu"
)

// Options say which device Open opens, and how. The zero value is the best device with its default settings.
type Options struct {
	// Device is a part of the device's name, its index among those that gpu.Devices lists, "swiftshader" or "lavapipe"; ""
	// is the best one: discrete, integrated, then software.
	Device string
	// MemoryBudget bounds the bytes of the device that are in use at once; 0 for what the device offers.
	MemoryBudget int64
	// Watchdog is how long a piece of work may run, or 50 times its estimate if that is longer, before the device counts as
	// hung and is given up; 0 for 10 seconds, negative for ever.
	Watchdog time.Duration
	// Cache says where compiled models are kept between processes, or that they are not.
	Cache driver.CacheOptions
	// Scheduling says how executions are ordered.
	Scheduling driver.SchedulingOptions
	// Logger gets warnings of trouble that fails no call; nil for slog.Default().
	Logger *slog.Logger
	// Windows lets Device.Vulkan show pictures in windows: gpu.Backend.OpenScreen.
	Windows bool
	// TrustedExternalMemory is driver.WithTrustedExternalMemory.
	TrustedExternalMemory bool
}

// Device is an open device. Its owner closes it, and with it all that was made of it.
type Device struct {
	*driver.Device
	// Vulkan is what the device runs on: measurements, descriptions of plans and all else that the driver does not
	// offer. It is the device's; nobody else closes it.
	Vulkan *gpu.Backend
}

// Open opens a device.
//
// Errors: DEVICE_UNAVAILABLE where there is no such device, or it fails the test of its first use, see gpu.Open.
func Open(o Options) (*Device, error) {
	b, err := gpu.Open(o.Device, gpu.Options{MemoryBudget: o.MemoryBudget, Watchdog: o.Watchdog, Windows: o.Windows})
	if err != nil {
		return nil, err
	}
	options := []driver.DeviceOption{driver.WithCache(o.Cache), driver.WithScheduling(o.Scheduling)}
	if o.Logger != nil {
		options = append(options, driver.WithLogger(o.Logger))
	}
	if o.TrustedExternalMemory {
		options = append(options, driver.WithTrustedExternalMemory())
	}
	return &Device{Device: driver.NewDevice(b, options...), Vulkan: b}, nil
}
