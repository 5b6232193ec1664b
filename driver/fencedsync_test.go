package driver_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// TestSyncFileOfAnExecution: no device of a test machine makes sync_files, so a pipe stands for one. It is exported when
// all segments are submitted, not before.
func TestSyncFileOfAnExecution(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	gate := make(chan struct{})
	b := &null.Backend{Compute: add, Gate: gate, Segments: 2, SyncFile: func() (*os.File, error) { return r, nil }}
	pm := prepare(t, b, addModel())
	e, err := pm.ExecuteFenced(t.Context(), addRequest(), nil, driver.WithSyncFile())
	require.NoError(t, err)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = e.SyncFile(canceled)
	require.ErrorIs(t, err, context.Canceled)
	require.NotContains(t, b.Calls(), "sync file")
	gate <- struct{}{} // the first segment
	f, err := e.SyncFile(t.Context())
	require.NoError(t, err)
	require.Same(t, r, f)
	require.NoError(t, f.Close())
	require.NoError(t, e.Fence().Err(), "not done yet")
	close(gate)
	require.NoError(t, wait(t, e.Fence()))
}

// TestSyncFileIsGivenOutOnce, to one of those who ask, and nobody is told that the work is done before it is.
func TestSyncFileIsGivenOutOnce(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	defer r.Close()
	gate := make(chan struct{})
	b := &null.Backend{Compute: add, Gate: gate, SyncFile: func() (*os.File, error) { return r, nil }}
	pm := prepare(t, b, addModel())
	e, err := pm.ExecuteFenced(t.Context(), addRequest(), nil, driver.WithSyncFile())
	require.NoError(t, err)
	const callers = 8
	files, errs := make([]*os.File, callers), make([]error, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() { files[i], errs[i] = e.SyncFile(t.Context()) })
	}
	group.Wait()
	given := 0
	for i, err := range errs {
		if err == nil {
			given++
			require.Same(t, r, files[i])
		} else {
			requireStatus(t, nn.StatusGeneralFailure, err)
			require.Nil(t, files[i])
		}
	}
	require.Equal(t, 1, given)
	close(gate)
	require.NoError(t, wait(t, e.Fence()))
}

func TestNoSyncFile(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	e, err := pm.ExecuteFenced(t.Context(), addRequest(), nil, driver.WithSyncFile())
	require.NoError(t, err)
	_, err = e.SyncFile(t.Context())
	require.ErrorIs(t, err, backend.ErrNoSyncFile)
	requireStatus(t, nn.StatusGeneralFailure, err)
	require.NoError(t, wait(t, e.Fence()))

	plain, err := pm.ExecuteFenced(t.Context(), addRequest(), nil)
	require.NoError(t, err)
	_, err = plain.SyncFile(t.Context())
	requireStatus(t, nn.StatusInvalidArgument, err)
	require.NoError(t, wait(t, plain.Fence()))

	never := driver.NewFence()
	ctx, cancel := context.WithCancel(t.Context())
	e, err = pm.ExecuteFenced(ctx, addRequest(), []*driver.Fence{never}, driver.WithSyncFile())
	require.NoError(t, err)
	cancel()
	_, err = e.SyncFile(t.Context())
	require.ErrorIs(t, err, context.Canceled, "it ended before it was submitted")
}

// TestPendingIsBounded: executions that wait for fences which never come are not started without end.
func TestPendingIsBounded(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	never := []*driver.Fence{driver.NewFence()}
	n := 0
	for ; ; n++ {
		if _, err := pm.ExecuteFenced(ctx, addRequest(), never); err != nil {
			requireStatus(t, nn.StatusResourceExhaustedTransient, err)
			break
		}
		require.Less(t, n, 1<<16)
	}
	require.Greater(t, n, 1000)
	_, err := pm.Execute(t.Context(), addRequest())
	require.NoError(t, err, "others go on")
	_, err = pm.ExecuteAsync(t.Context(), addRequest()).Wait()
	requireStatus(t, nn.StatusResourceExhaustedTransient, err)
}
