// Package caching holds the devices to the rules of the HAL for cache files: the tests are named after the rules
// of the compatibility tests for compilation caching. What needs no device is tested in package driver.
package caching

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/tests/logtest"
)

const chainLength = 100

// chain is op with 1, 100 times, on a tensor of one element: for the input 1, ADD gives 101 and MUL 1. Apart
// from the operation the two models are the same, and so is the size of what is stored of them.
func chain(op nn.OperationType) *nn.Model {
	var b nn.Builder
	dims := nn.Dims{1}
	x := b.Input(nn.TensorFloat32, dims, 0, 0)
	one, none := b.Floats(dims, 1), b.Scalar(0)
	for range chainLength {
		y := b.Temp(nn.TensorFloat32, dims, 0, 0)
		b.Op(op, []uint32{x, one, none}, []uint32{y})
		x = y
	}
	b.Output(x)
	return nntest.Build(&b)
}

func addChain() *nn.Model { return chain(nn.OpAdd) }
func mulChain() *nn.Model { return chain(nn.OpMul) }

const addResult, mulResult = chainLength + 1, 1

// requireResult runs a chain on 1.
func requireResult(t *testing.T, pm *driver.PreparedModel, want float32) {
	t.Helper()
	out := pm.NewOutputs()
	_, err := pm.Run(t.Context(), [][]byte{binary.LittleEndian.AppendUint32(nil, math.Float32bits(1))}, out)
	require.NoError(t, err)
	require.Equal(t, want, math.Float32frombits(binary.LittleEndian.Uint32(out[0])))
}

// bed is a device with a state directory of its own.
type bed struct {
	device *driver.Device
	client *driver.Client
}

// eachDevice runs f on every device that is to be tested, with the transparent cache in folders of the test.
func eachDevice(t *testing.T, f func(t *testing.T, b *bed)) {
	t.Helper()
	eachOpener(t, func(t *testing.T, open func() *bed) { f(t, open()) })
}

// eachOpener is eachDevice for tests that open the device more than once, as processes after each other do.
func eachOpener(t *testing.T, f func(t *testing.T, open func() *bed)) {
	t.Helper()
	eachWarned(t, func(t *testing.T, w logtest.Warning) { t.Errorf("warning: %s: %v", w.Message, w.Err) }, f)
}

// eachBadSave is eachDevice for tests that bring files which cannot be written; the driver may say so once.
func eachBadSave(t *testing.T, f func(t *testing.T, b *bed)) {
	t.Helper()
	warned := func(t *testing.T, w logtest.Warning) {
		require.True(t, errors.Is(w.Err, cache.ErrInvalid) || errors.Is(w.Err, cache.ErrUnusable), "%s: %v", w.Message, w.Err)
	}
	eachWarned(t, warned, func(t *testing.T, open func() *bed) { f(t, open()) })
}

func eachWarned(t *testing.T, warned func(*testing.T, logtest.Warning), f func(t *testing.T, open func() *bed)) {
	t.Helper()
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		name, dir := filepath.Base(t.Name()), t.TempDir()
		f(t, func() *bed {
			b, err := gpu.Open(name, gpu.Options{AlwaysQuick: true})
			require.NoError(t, err)
			d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{
				Dir: filepath.Join(dir, "cache"), StateDir: filepath.Join(dir, "state"),
			}), driver.WithLogger(logtest.New(func(w logtest.Warning) { warned(t, w) })))
			t.Cleanup(func() {
				for _, m := range b.ValidationMessages() {
					t.Errorf("validation layer: %s", m)
				}
				require.NoError(t, d.Close())
			})
			c, err := d.NewClient("test")
			require.NoError(t, err)
			return &bed{d, c}
		})
	})
}

// entry is a client's cache files of one compilation.
type entry struct {
	token       cache.Token
	model, data []string
}

// newEntry makes the files, empty, as many as the device needs.
func (b *bed) newEntry(t *testing.T, token byte) *entry {
	t.Helper()
	dir := t.TempDir()
	model, data := b.device.NumberOfCacheFilesNeeded()
	require.Equal(t, []int{1, 1}, []int{model, data})
	e := &entry{token: cache.Token{token, 1, 2, 3}}
	e.model = append(e.model, touch(t, filepath.Join(dir, "model")))
	e.data = append(e.data, touch(t, filepath.Join(dir, "data")))
	return e
}

func touch(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	return path
}

// handles opens files and closes them with the test.
func handles(t *testing.T, mode int, paths ...string) []*os.File {
	t.Helper()
	var list []*os.File
	for _, path := range paths {
		f, err := os.OpenFile(path, mode, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() }) // a test may have done so
		list = append(list, f)
	}
	return list
}

// save prepares m with the files of e; the result must be want, whatever becomes of the files.
func (b *bed) save(t *testing.T, m *nn.Model, e *entry, model, data []*os.File, want float32) {
	t.Helper()
	pm, err := b.client.PrepareModel(t.Context(), m, driver.WithCacheFiles(e.token, model, data))
	require.NoError(t, err)
	requireResult(t, pm, want)
	require.NoError(t, pm.Close())
}

// saved is newEntry and save.
func (b *bed) saved(t *testing.T, token byte, m *nn.Model, want float32) *entry {
	t.Helper()
	e := b.newEntry(t, token)
	b.save(t, m, e, handles(t, os.O_RDWR, e.model...), handles(t, os.O_RDWR, e.data...), want)
	return e
}

// load loads e as it should be done.
func (b *bed) load(t *testing.T, e *entry) (*driver.PreparedModel, error) {
	t.Helper()
	return b.loadFrom(t, e.token, handles(t, os.O_RDWR, e.model...), handles(t, os.O_RDWR, e.data...))
}

// loadFrom loads and checks that there is a model exactly where there is no error.
func (b *bed) loadFrom(t *testing.T, token cache.Token, model, data []*os.File) (*driver.PreparedModel, error) {
	t.Helper()
	pm, err := b.client.PrepareModelFromCache(t.Context(), token, model, data)
	require.Equal(t, err == nil, pm != nil)
	return pm, err
}

// loads requires that e gives a model with the result want.
func (b *bed) loads(t *testing.T, e *entry, want float32) {
	t.Helper()
	pm, err := b.load(t, e)
	require.NoError(t, err)
	requireResult(t, pm, want)
	require.NoError(t, pm.Close())
}

// requireRefused holds an error to the statuses of the rules C4, C5 and C7.
func requireRefused(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	require.Contains(t, []nn.Status{nn.StatusInvalidArgument, nn.StatusGeneralFailure}, nn.StatusOf(err), "%v", err)
}

func requireGeneralFailure(t *testing.T, err error, what ...string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err), "%v: %v", what, err)
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

// overwrite replaces the content of a file that others have open.
func overwrite(t *testing.T, path string, b []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, b, 0o600))
}
