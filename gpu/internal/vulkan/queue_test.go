package vulkan

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
)

func TestSpins(t *testing.T) {
	require.Zero(t, spins(vk.TypeCPU, 64))
	require.Zero(t, spins(vk.TypeDiscrete, 2))
	require.Equal(t, spinTime, spins(vk.TypeDiscrete, 4))
	require.Equal(t, spinTime, spins(vk.TypeIntegrated, 4))
}

// TestWaitSpins waits on software devices as on GPUs.
func TestWaitSpins(t *testing.T) {
	for _, selector := range []string{Lavapipe, SwiftShader} {
		t.Run(selector, func(t *testing.T) {
			t.Setenv("NNGPU_CLASS", "gpu")
			d := openOrSkip(t, selector, Options{Validation: true})
			defer func() {
				require.Empty(t, d.ValidationMessages())
				require.NoError(t, d.Close())
			}()
			require.Zero(t, d.spin, "a software device stays one")
			b, err := d.newBlock(1<<20, 0, hostBlock, "test")
			require.NoError(t, err)
			defer b.free()
			for i, spin := range []time.Duration{spinTime, time.Nanosecond, 10 * time.Second} {
				d.spin = spin
				var c vk.Commands
				c.Fill(b.buffer, 0, b.bytes, uint32(i+1))
				c.Barrier(vk.StageTransfer, vk.AccessTransferWrite, vk.StageHost, vk.AccessHostRead)
				require.NoError(t, d.runOnce(&c))
				require.Equal(t, byte(i+1), b.host[b.bytes-4])
			}
			q := d.normal()
			ctx, cancel := context.WithTimeout(context.Background(), 2*waitSlice)
			defer cancel()
			never := fence{queue: q, value: q.next + 1}
			require.ErrorIs(t, never.Wait(ctx), context.DeadlineExceeded)
		})
	}
}
