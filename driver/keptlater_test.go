package driver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
)

// foreseeing is an executable of which more comes.
type foreseeing struct{ backend.Executable }

func (foreseeing) Later() time.Duration { return 5 * time.Second }

// TestKeptExecutablesForesee: admission hears of loops of a model that lies in the cache, too.
func TestKeptExecutablesForesee(t *testing.T) {
	for want, exe := range map[time.Duration]backend.Executable{5 * time.Second: foreseeing{}, 0: struct{ backend.Executable }{}} {
		var x backend.Executable = &kept{Executable: exe}
		f, ok := x.(backend.Foreseeing)
		require.True(t, ok)
		require.Equal(t, want, f.Later())
	}
}
