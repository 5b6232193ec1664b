package driver_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

func TestView(t *testing.T) {
	_, c, pm := domain(t)
	buffer := allocate(t, c, nil, roleOf(pm, 0), nil)
	seen := make([]byte, 6)
	look := func(m backend.Memory) error { return m.Read(t.Context(), seen) }

	requireStatus(t, nn.StatusGeneralFailure, buffer.View(t.Context(), look))
	require.NoError(t, buffer.CopyFrom(t.Context(), nn.HostMemory("abcdef"), nil))
	require.NoError(t, buffer.View(t.Context(), look))
	require.Equal(t, "abcdef", string(seen))
	requireStatus(t, nn.StatusInvalidArgument, buffer.View(t.Context(), nil))

	wrong := errors.New("the screen is dark")
	require.ErrorIs(t, buffer.View(t.Context(), func(backend.Memory) error { return wrong }), wrong)

	// Who reads may read meanwhile, who writes waits.
	require.NoError(t, buffer.View(t.Context(), func(backend.Memory) error {
		require.Equal(t, "abcdef", string(read(t, buffer, 6)))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, buffer.CopyFrom(ctx, nn.HostMemory("ghijkl"), nil), context.Canceled)
		return buffer.Close() // it has memory until the end
	}))
	require.ErrorIs(t, buffer.View(t.Context(), look), driver.ErrClosed)

	_, _, empty := openBuffer(t, nn.Dims{0, 3})
	requireStatus(t, nn.StatusGeneralFailure, empty.View(t.Context(), look))
}
