package driver_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// The rules that speak of damage to files are tested on devices, in tests/caching.

// cacheFile opens a new file for reading and writing.
func cacheFile(t *testing.T, name string) []*os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), name), os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return []*os.File{f}
}

func TestC2CachingNotSupported(t *testing.T) {
	b := &null.Backend{Compute: add}
	d, c := open(t, b)
	model, data := d.NumberOfCacheFilesNeeded()
	require.Zero(t, model)
	require.Zero(t, data)
	files := [2][]*os.File{cacheFile(t, "model"), cacheFile(t, "data")}
	pm, err := c.PrepareModel(t.Context(), addModel(), driver.WithCacheFiles(cache.Token{1}, files[0], files[1]))
	require.NoError(t, err)
	require.Equal(t, driver.CacheOff, pm.Cached())
	_, err = pm.Execute(t.Context(), addRequest())
	require.NoError(t, err)
	for _, list := range [][2][]*os.File{files, {}} {
		pm, err = c.PrepareModelFromCache(t.Context(), cache.Token{1}, list[0], list[1])
		require.Nil(t, pm)
		requireStatus(t, nn.StatusGeneralFailure, err)
	}
}

// TestC16LoadErrorsComeFromTheCall: a load has checked files, content and the stored form before it returns.
func TestC16LoadErrorsComeFromTheCall(t *testing.T) {
	var warned atomic.Int32
	b := &storing{}
	c := openStoring(t, b, cacheOptions(t, &warned))
	model, data := cacheFile(t, "model"), cacheFile(t, "data")
	fails := func(want nn.Status) {
		t.Helper()
		pm, err := c.PrepareModelFromCache(t.Context(), cache.Token{1}, model, data)
		require.Nil(t, pm)
		requireStatus(t, want, err)
	}
	fails(nn.StatusGeneralFailure) // nothing was saved
	_, err := c.PrepareModel(t.Context(), binaryModel(nn.OpAdd, 3), driver.WithCacheFiles(cache.Token{1}, model, data))
	require.NoError(t, err)
	b.restoreErr = errors.New("not of this version")
	fails(nn.StatusGeneralFailure)
	b.restoreErr = nn.Invalid("plan", "its arguments are wrong")
	fails(nn.StatusGeneralFailure) // not the caller's arguments
	b.restoreErr = nn.Errorf(nn.StatusResourceExhaustedTransient, "memory", "none left")
	fails(nn.StatusResourceExhaustedTransient)
	b.restoreErr = context.DeadlineExceeded
	fails(nn.StatusMissedDeadlineTransient)
	b.restoreErr = nil
	pm, err := c.PrepareModelFromCache(t.Context(), cache.Token{1}, model, data)
	require.NoError(t, err)
	require.Equal(t, byte(10), runBinary(t, pm))
	require.NoError(t, c.Close())
	fails(nn.StatusGeneralFailure)
	require.Zero(t, b.open.Load())
}

// TestC17SavingNeverFailsAPreparation, whatever goes wrong; a load finds nothing then.
func TestC17SavingNeverFailsAPreparation(t *testing.T) {
	closedFile := func(t *testing.T) []*os.File {
		f := cacheFile(t, "closed")
		require.NoError(t, f[0].Close())
		return f
	}
	folder := func(t *testing.T) []*os.File {
		f, err := os.Open(t.TempDir())
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return []*os.File{f}
	}
	good := func(t *testing.T) []*os.File { return cacheFile(t, "good") }
	for name, tc := range map[string]struct {
		model, data func(*testing.T) []*os.File
		storeErr    error
	}{
		"model file is closed":    {closedFile, good, nil},
		"data file is closed":     {good, closedFile, nil},
		"folder":                  {folder, good, nil},
		"no handle":               {func(*testing.T) []*os.File { return []*os.File{nil} }, good, nil},
		"backend does not store":  {good, good, errors.New("not this one")},
		"full disk":               {fullDisk, good, nil},
		"full disk for constants": {good, fullDisk, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var warned atomic.Int32
			c := openStoring(t, &storing{storeErr: tc.storeErr}, cacheOptions(t, &warned))
			model, data := tc.model(t), tc.data(t)
			for range 2 {
				pm, err := c.PrepareModel(t.Context(), binaryModel(nn.OpAdd, 3), driver.WithCacheFiles(cache.Token{1}, model, data))
				require.NoError(t, err)
				require.Equal(t, byte(10), runBinary(t, pm))
				pm, err = c.PrepareModelFromCache(t.Context(), cache.Token{1}, model, data)
				require.Error(t, err)
				require.Nil(t, pm)
			}
			require.EqualValues(t, 1, warned.Load())
		})
	}
}

// fullDisk is a device file that takes no byte.
func fullDisk(t *testing.T) []*os.File {
	t.Helper()
	f, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no /dev/full: %v", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return []*os.File{f}
}

// TestC18NoFilesNoToken: with both lists empty the token is ignored, and the transparent cache works as without.
func TestC18NoFilesNoToken(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), &storing{}
	for _, want := range []driver.CacheStatus{driver.CacheMiss, driver.CacheHit} {
		status, result := prepareCached(t, b, o, binaryModel(nn.OpAdd, 3), driver.WithCacheFiles(cache.Token{1}, nil, []*os.File{}))
		require.Equal(t, want, status)
		require.Equal(t, byte(10), result)
	}
	require.Zero(t, warned.Load())
}

// TestC22AllIsInTheFiles: a load gets no model, preference or priority, and needs none.
func TestC22AllIsInTheFiles(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), &storing{}
	model, data := cacheFile(t, "model"), cacheFile(t, "data")
	saved, err := openStoring(t, b, o).PrepareModel(t.Context(), binaryModel(nn.OpMul, 5), driver.WithPreference(nn.SustainedSpeed),
		driver.WithPriority(nn.PriorityLow), driver.WithCacheFiles(cache.Token{9}, model, data))
	require.NoError(t, err)
	require.Equal(t, byte(35), runBinary(t, saved))

	c := openStoring(t, b, o) // another process
	pm, err := c.PrepareModelFromCache(t.Context(), cache.Token{9}, model, data)
	require.NoError(t, err)
	require.Equal(t, byte(35), runBinary(t, pm))
	require.Equal(t, saved.Stats(), pm.Stats(), "preference and priority")
	require.EqualValues(t, 1, b.compiled.Load())

	// Requests are checked as before.
	_, err = pm.Run(t.Context(), [][]byte{{1, 2, 3}}, pm.NewOutputs())
	requireStatus(t, nn.StatusInvalidArgument, err)
	_, err = pm.Run(t.Context(), [][]byte{{1, 2, 3, 4, 5}}, nil)
	requireStatus(t, nn.StatusInvalidArgument, err)

	pm, err = c.PrepareModelFromCache(t.Context(), cache.Token{9}, model, data, driver.WithPriority(nn.PriorityHigh))
	require.NoError(t, err)
	require.Equal(t, int(nn.PriorityHigh), pm.Stats().Dispatches, "an option says otherwise")
	_, err = c.PrepareModelFromCache(t.Context(), cache.Token{9}, model, data, driver.WithPriority(99))
	requireStatus(t, nn.StatusInvalidArgument, err)
}

// TestOmittedInputsOfALoadedModel: a request may omit the inputs that it may omit of the model that was saved, no others.
func TestOmittedInputsOfALoadedModel(t *testing.T) {
	m := binaryModel(nn.OpAdd, 3)
	y := m.Main.Outputs[0]
	m.Main.Operands[y].Lifetime = nn.Temporary
	transposed := m.Main.Operands[y]
	transposed.Dims, transposed.Lifetime = nn.Dims{5, 1}, nn.SubgraphOutput
	m.Main.Operands = append(m.Main.Operands, transposed, nn.Operand{Type: nn.TensorInt32, Dims: nn.Dims{0}, Lifetime: nn.SubgraphInput})
	out := uint32(len(m.Main.Operands) - 2)
	m.Main.Operations = append(m.Main.Operations, nn.Operation{Type: nn.OpTranspose, Inputs: []uint32{y, out + 1}, Outputs: []uint32{out}})
	m.Main.Inputs, m.Main.Outputs = append(m.Main.Inputs, out+1), []uint32{out}

	var warned atomic.Int32
	c := openStoring(t, &storing{}, cacheOptions(t, &warned))
	model, data := cacheFile(t, "model"), cacheFile(t, "data")
	prepared, err := c.PrepareModel(t.Context(), m, driver.WithCacheFiles(cache.Token{1}, model, data))
	require.NoError(t, err)
	loaded, err := c.PrepareModelFromCache(t.Context(), cache.Token{1}, model, data)
	require.NoError(t, err)
	for _, pm := range []*driver.PreparedModel{prepared, loaded} {
		result := pm.NewOutputs()
		_, err = pm.Run(t.Context(), [][]byte{{7, 7, 7, 7, 7}, nil}, result)
		require.NoError(t, err)
		require.Equal(t, [][]byte{{10, 10, 10, 10, 10}}, result)
		_, err = pm.Run(t.Context(), [][]byte{nil, nil}, result)
		requireStatus(t, nn.StatusInvalidArgument, err)
		require.ErrorContains(t, err, "has no value, but operation 0 (ADD) needs it")
	}
}
