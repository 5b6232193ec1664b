package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/progress"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/internal/regular"
)

// readFile reads a regular file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	file, size, err := openFile(path, limit)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readWhole(file, size)
}

// readWhole reads the size bytes of a file.
func readWhole(file *os.File, size int64) ([]byte, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, usageError("%s: %w", file.Name(), err)
	}
	return data, nil
}

// openFile opens a regular file of at most limit bytes, which the caller closes, and tells its size.
func openFile(path string, limit int64) (*os.File, int64, error) {
	file, size, err := regular.Open(path)
	switch {
	case errors.Is(err, regular.ErrNot):
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			return nil, 0, usageError("%s is a folder, not a file", path)
		}
		return nil, 0, usageError("%s is %w", path, regular.ErrNot)
	case err != nil:
		return nil, 0, fileError(err)
	case size > limit:
		_ = file.Close()
		return nil, 0, usageError("%s has %d bytes; at most %d are read", path, size, limit)
	}
	return file, size, nil
}

// loadNetwork reads a .tflite file, or builds what --net names. A file that is no network, or is damaged, is an error of
// whoever named it; a network that cannot be imported is refused.
func (a *app) loadNetwork(path string) (*importer.Network, error) {
	if a.net.name != "" {
		return a.net.build(a.shape.batch)
	}
	net, err := loadFile(path)
	if err != nil {
		return nil, err
	}
	return a.shape.apply(path, net)
}

// loadFile reads a network with the shapes of the file.
func loadFile(path string) (*importer.Network, error) {
	file, size, err := openFile(path, importer.MaxFileBytes)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if size == 0 {
		return nil, usageError("%s: the file is empty; models are .tflite files", path)
	}
	net, err := importer.Read(file, size)
	var unsupported *importer.UnsupportedError
	switch {
	case errors.As(err, &unsupported):
		return nil, fmt.Errorf("%s: %w", path, err)
	case err != nil:
		return nil, usageError("%s: %w; models are .tflite files, and this is none or not a whole one", path, err)
	}
	return net, nil
}

// settings are the variables that the device reads, with the values that they may have and the effect of any other.
var settings = []struct {
	name   string
	values []string
	other  string
}{
	{"NNGPU_VALIDATION", []string{"0", "1", "core"}, "taken for 1"},
	{"NNGPU_SELFTEST", []string{"off"}, "ignored"},
}

// checkEnvironment warns once of values that mean nothing.
func (a *app) checkEnvironment() {
	if a.checked {
		return
	}
	a.checked = true
	for _, s := range settings {
		if v := os.Getenv(s.name); v != "" && !slices.Contains(s.values, v) {
			a.warn("%s=%q is %s; what is known is %s", s.name, v, s.other, strings.Join(s.values, ", "))
		}
	}
}

// openDevice opens the chosen device for work that must not depend on earlier runs: the transparent cache is off. The
// caller closes it.
func (a *app) openDevice() (*nngpu.Device, error) {
	return a.openCached(driver.CacheOptions{Off: true})
}

// openCached is openDevice with a transparent cache.
func (a *app) openCached(o driver.CacheOptions) (*nngpu.Device, error) {
	return a.openWith(nngpu.Options{Cache: o})
}

// openWith opens the chosen device with the other options in o.
func (a *app) openWith(o nngpu.Options) (*nngpu.Device, error) {
	a.checkEnvironment()
	o.Device, o.MemoryBudget, o.Logger = a.device, a.budget, a.logger()
	dev, err := nngpu.Open(o)
	if err != nil {
		return nil, err
	}
	info := dev.Info()
	a.note("device: %s (%s), %s", info.Name, info.Driver, dev.Vulkan.Why())
	if a.verbose {
		// The list has what the opened device does not tell; without it there is just less to say.
		list, _ := gpu.Devices()
		for i := range list {
			if list[i].Name == info.Name && list[i].Driver == info.Driver {
				a.note("kernels: class %s, %s", list[i].Facts.Class, list[i].Variants())
				break
			}
		}
	}
	return dev, nil
}

// session is a network prepared on a device.
type session struct {
	device  *nngpu.Device
	net     *importer.Network
	client  *driver.Client
	model   *driver.PreparedModel
	prepare time.Duration
}

// prepareOn opens the device and prepares the network that was read from path, or takes it from the cache.
func (a *app) prepareOn(ctx context.Context, path string, net *importer.Network) (*session, error) {
	return a.prepareWith(ctx, "prepare", path, net, a.cacheOptions())
}

// prepareWith is prepareOn with a cache of its own, and options; what says so where it takes long.
func (a *app) prepareWith(ctx context.Context, what, path string, net *importer.Network, cache driver.CacheOptions, o ...driver.Option) (*session, error) {
	dev, err := a.openCached(cache)
	if err != nil {
		return nil, err
	}
	s := &session{device: dev, net: net}
	bar := a.progress(progress.None, what)
	err = s.prepareModel(ctx, o...)
	bar.Finish()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), dev.Close())
	}
	plan := s.model.Stats()
	a.note("cache: %s", s.model.Cached())
	a.note("prepared in %v: %s, %s, %s, %d bytes of weights, %d of activations",
		s.prepare.Round(time.Microsecond), console.Count(plan.Pipelines, "pipeline"), console.Count(plan.Dispatches, "dispatch"), console.Count(plan.Segments, "segment"), plan.WeightBytes, plan.ArenaBytes)
	return s, nil
}

func (s *session) prepareModel(ctx context.Context, o ...driver.Option) error {
	client, err := s.device.NewClient("nngpu")
	if err != nil {
		return err
	}
	s.client = client
	start := time.Now()
	s.model, err = client.PrepareModel(ctx, s.net.Model, o...)
	s.prepare = time.Since(start)
	return err
}

func (s *session) close() error { return s.device.Close() }

// operand returns input or output i of the main graph.
func operand(m *nn.Model, list []uint32, i int) *nn.Operand { return &m.Main.Operands[list[i]] }

// byteSize is the dense size of an operand of a model that was imported, so that it is known and in range.
func byteSize(o *nn.Operand) int {
	n, _ := o.ByteSize()
	return int(n)
}

// shapeText is the type and dimensions of an operand for people.
func shapeText(o *nn.Operand) string { return fmt.Sprintf("%v %v", o.Type, []uint32(o.Dims)) }

// shape is the dimensions of an operand for JSON, where none is an empty list.
func shape(o *nn.Operand) []uint32 { return append([]uint32{}, o.Dims...) }
