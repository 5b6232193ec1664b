package fence

import (
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/driver/nn"
)

// TestSyncFile stands in for what no kernel of a test machine makes: a descriptor that says what a sync_file says.
func TestSyncFile(t *testing.T) {
	var state atomic.Int32
	syncStatus = func(int) (int, bool) { return int(state.Load()), true }
	defer func() { syncStatus = syncFileStatus }()
	for _, tc := range []struct {
		name  string
		state int
		want  nn.Status
	}{{"signalled", 1, nn.StatusNone}, {"failed", -int(unix.EIO), nn.StatusGeneralFailure}} {
		t.Run(tc.name, func(t *testing.T) {
			r, w, err := os.Pipe() // readable when "signalled"
			require.NoError(t, err)
			defer r.Close()
			outcome := make(chan error, 1)
			_, err = Watch(r, func(err error) { outcome <- err })
			require.NoError(t, err)
			require.Empty(t, outcome)
			state.Store(int32(tc.state))
			require.NoError(t, w.Close())
			require.Equal(t, tc.want, nn.StatusOf(<-outcome))
		})
	}
}

// TestX10UnknownOutcome: a fence that cannot tell how it ended has failed.
func TestX10UnknownOutcome(t *testing.T) {
	for name, sync := range map[string]bool{"eventfd": false, "sync_file": true} {
		t.Run(name, func(t *testing.T) {
			defer func() { syncStatus = syncFileStatus }()
			syncStatus = func(int) (int, bool) { return 1, sync }
			e, f, err := New()
			require.NoError(t, err)
			defer e.Signal(nil)
			status, err := statusReader(int(f.Fd()))
			require.NoError(t, err)
			require.NoError(t, status(int(f.Fd())))
			gone := int(f.Fd())
			require.NoError(t, f.Close())
			syncStatus = func(int) (int, bool) { return 0, false }
			require.ErrorIs(t, status(gone), errOutcome)
		})
	}
}
