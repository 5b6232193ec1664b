package caching

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn"
)

// network is an example's network with one input for it and the outputs of a preparation in full.
type network struct {
	*nn.Model
	input []byte
	want  [][]byte
}

func digits(t *testing.T, b *bed, name string) *network {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "digits", name))
	require.NoError(t, err)
	net, err := tflite.Import(data)
	require.NoError(t, err)
	n := &network{Model: net.Model}
	o := &n.Main.Operands[n.Main.Inputs[0]]
	size, err := o.ByteSize()
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(3, 4))
	for range size {
		n.input = append(n.input, byte(rng.Uint32()))
	}
	for i := 0; o.Type == nn.TensorFloat32 && i < len(n.input); i += 4 {
		binary.LittleEndian.PutUint32(n.input[i:], math.Float32bits(rng.Float32()))
	}
	pm, err := b.client.PrepareModel(t.Context(), n.Model, driver.WithPreference(nn.LowPower)) // another entry
	require.NoError(t, err)
	n.want = n.run(t, pm)
	require.NoError(t, pm.Close())
	return n
}

func (n *network) run(t *testing.T, pm *driver.PreparedModel) [][]byte {
	t.Helper()
	out := pm.NewOutputs()
	_, err := pm.Run(t.Context(), [][]byte{n.input}, out)
	assert.NoError(t, err) // no require: in any goroutine
	return out
}

// requireResult wants the same 8-bit outputs, and floats that differ by the order of sums only.
func (n *network) requireResult(t *testing.T, pm *driver.PreparedModel) {
	t.Helper()
	for i, got := range n.run(t, pm) {
		if n.Main.Operands[n.Main.Outputs[i]].Type != nn.TensorFloat32 {
			assert.Equal(t, n.want[i], got)
			continue
		}
		for k := 0; k < len(got); k += 4 {
			want := math.Float32frombits(binary.LittleEndian.Uint32(n.want[i][k:]))
			assert.InDelta(t, want, math.Float32frombits(binary.LittleEndian.Uint32(got[k:])), 1e-5+1e-5*math.Abs(float64(want)))
		}
	}
}

// requireOptimised waits until pm runs another form than the one with those figures.
func requireOptimised(t *testing.T, pm *driver.PreparedModel, quick any) {
	t.Helper()
	require.Eventually(t, func() bool { return any(pm.Stats()) != quick }, time.Minute, time.Millisecond)
}

func eachDigits(t *testing.T, f func(t *testing.T, open func() *bed, n *network)) {
	t.Helper()
	for _, name := range []string{"digits_f32.tflite", "digits_s8.tflite"} {
		t.Run(name, func(t *testing.T) {
			eachOpener(t, func(t *testing.T, open func() *bed) { f(t, open, digits(t, open(), name)) })
		})
	}
}

// TestStagedOnDevices: the quick form, then the optimised one, then what the next process finds.
func TestStagedOnDevices(t *testing.T) {
	eachDigits(t, func(t *testing.T, open func() *bed, n *network) {
		pm, err := open().client.PrepareModel(t.Context(), n.Model, driver.WithStagedCompilation(3))
		require.NoError(t, err)
		require.Equal(t, driver.CacheMiss, pm.Cached())
		quick := pm.Stats()
		for range 3 {
			require.Equal(t, quick, pm.Stats())
			n.requireResult(t, pm)
		}
		var wg sync.WaitGroup
		for range 2 { // while the form changes
			wg.Go(func() {
				for range 10 {
					n.requireResult(t, pm)
				}
			})
		}
		wg.Wait()
		requireOptimised(t, pm, quick)
		n.requireResult(t, pm)
		optimised := pm.Stats()
		require.NoError(t, pm.Close()) // the entry was replaced before the executable

		pm, err = open().client.PrepareModel(t.Context(), n.Model)
		require.NoError(t, err)
		require.Equal(t, driver.CacheHit, pm.Cached())
		require.Equal(t, optimised, pm.Stats())
		n.requireResult(t, pm)
	})
}

// TestC19StagedFilesOnDevices: the client's files get the optimised form after the client closed them.
func TestC19StagedFilesOnDevices(t *testing.T) {
	eachDigits(t, func(t *testing.T, open func() *bed, n *network) {
		b := open()
		e := b.newEntry(t, 1)
		model, data := handles(t, os.O_RDWR, e.model...), handles(t, os.O_RDWR, e.data...)
		pm, err := b.client.PrepareModel(t.Context(), n.Model, driver.WithStagedCompilation(1), driver.WithCacheFiles(e.token, model, data))
		require.NoError(t, err)
		require.NoError(t, model[0].Close())
		require.NoError(t, data[0].Close())
		quick := pm.Stats()
		loaded, err := b.load(t, e)
		require.NoError(t, err)
		require.Equal(t, quick, loaded.Stats())
		n.requireResult(t, loaded)
		n.requireResult(t, pm)
		requireOptimised(t, pm, quick)
		n.requireResult(t, pm)
		loaded, err = open().load(t, e)
		require.NoError(t, err)
		require.Equal(t, pm.Stats(), loaded.Stats())
		n.requireResult(t, loaded)
	})
}

// TestStagedCloseOnDevices closes at any moment of the compilation in the background.
func TestStagedCloseOnDevices(t *testing.T) {
	eachDigits(t, func(t *testing.T, open func() *bed, n *network) {
		b := open()
		for i := range 10 {
			pm, err := b.client.PrepareModel(t.Context(), n.Model, driver.WithStagedCompilation(0))
			require.NoError(t, err)
			if i > 0 { // then the background begins
				n.requireResult(t, pm)
			}
			time.Sleep(time.Duration(i) * 3 * time.Millisecond)
			require.NoError(t, pm.Close())
		}
		pm, err := open().client.PrepareModel(t.Context(), n.Model)
		require.NoError(t, err)
		n.requireResult(t, pm)
	})
}

// TestDelayedOnDevices: the first execution compiles, with cache files that the client has closed.
func TestDelayedOnDevices(t *testing.T) {
	eachDigits(t, func(t *testing.T, open func() *bed, n *network) {
		b := open()
		for _, opts := range [][]driver.Option{nil, {driver.WithStagedCompilation(1)}, {driver.WithCaching(t.TempDir(), cache.Token{1})}} {
			pm, err := b.client.PrepareModel(t.Context(), n.Model, append(opts, driver.WithDelayedCompilation())...)
			require.NoError(t, err)
			require.Zero(t, pm.Stats())
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() { n.requireResult(t, pm) })
			}
			wg.Wait()
			require.NotZero(t, pm.Stats())
			require.NoError(t, pm.Close())
		}
		e := b.newEntry(t, 1)
		model, data := handles(t, os.O_RDWR, e.model...), handles(t, os.O_RDWR, e.data...)
		pm, err := b.client.PrepareModel(t.Context(), n.Model, driver.WithDelayedCompilation(), driver.WithCacheFiles(e.token, model, data))
		require.NoError(t, err)
		require.NoError(t, model[0].Close())
		require.NoError(t, data[0].Close())
		require.Empty(t, content(t, e.model[0]))
		n.requireResult(t, pm)
		loaded, err := open().load(t, e)
		require.NoError(t, err)
		n.requireResult(t, loaded)
	})
}
