package driver_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// TestM17LostBuffers: a buffer whose device was lost is uninitialised until it is written again.
func TestM17LostBuffers(t *testing.T) {
	for _, rewrite := range []string{"copy", "execution"} {
		t.Run(rewrite, func(t *testing.T) {
			b, c, pm := domain(t)
			x, z := allocate(t, c, nil, roleOf(pm, 0), nil), allocate(t, c, nil, nil, roleOf(pm, 0))
			value := nn.HostMemory{1, 2, 3, 4, 5, 6}
			require.NoError(t, x.CopyFrom(t.Context(), value, nil))
			_, err := pm.Execute(t.Context(), bufferRequest(x, nil, z))
			require.NoError(t, err)
			want := read(t, z, 6)
			allocations, bytes := count(b.Calls(), "allocate"), b.Used()

			b.Lose()
			begun := count(b.Calls(), "begin")
			refuseForms(t, nn.StatusGeneralFailure, pm, bufferRequest(x, nil, z))
			requireStatus(t, nn.StatusGeneralFailure, x.CopyTo(t.Context(), make(nn.HostMemory, 6)))
			requireStatus(t, nn.StatusGeneralFailure, z.CopyTo(t.Context(), make(nn.HostMemory, 6)))
			require.Equal(t, begun, count(b.Calls(), "begin"))
			require.Equal(t, allocations, count(b.Calls(), "allocate"))

			require.NoError(t, x.CopyFrom(t.Context(), value, nil))
			if rewrite == "copy" {
				require.NoError(t, z.CopyFrom(t.Context(), value, nil))
			}
			_, err = pm.Execute(t.Context(), bufferRequest(x, nil, z))
			require.NoError(t, err)
			require.Equal(t, want, read(t, z, 6))
			require.Equal(t, allocations+2, count(b.Calls(), "allocate"))
			require.Equal(t, bytes, b.Used())
			require.NoError(t, x.Close())
			require.NoError(t, z.Close())
			require.Zero(t, b.Used())
		})
	}
}

// TestLossInFlight: what is on the device when it is lost fails and leaves its outputs uninitialised; what waits, or
// comes later, does not know of it.
func TestLossInFlight(t *testing.T) {
	for _, form := range []string{"sync", "async", "fenced", "burst"} {
		t.Run(form, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &null.Backend{Gate: make(chan struct{}), Compute: add, Segments: 3}
				d, c, pm := start(t, b)
				z := allocate(t, c, nil, nil, roleOf(pm, 0))
				run := forms(t, pm)[form]
				hit := make(chan error, 1)
				go func() { hit <- run(bufferRequest(nil, nil, z)) }()
				synctest.Wait()
				waiting := make(chan error, 1)
				go func() { waiting <- run(addRequest()) }() // the device is taken
				synctest.Wait()
				require.Equal(t, 1, count(b.Calls(), "submit"))
				b.Lose()
				close(b.Gate)
				requireStatus(t, nn.StatusDeviceUnavailable, <-hit)
				require.NoError(t, <-waiting)
				requireStatus(t, nn.StatusGeneralFailure, z.CopyTo(t.Context(), make(nn.HostMemory, 6)))
				require.NoError(t, run(bufferRequest(nil, nil, z)))
				require.Equal(t, addResult, read(t, z, 6))
				require.NoError(t, d.Close())
			})
		})
	}
}

// TestLostImports: pools are imported again, once, by whatever uses them next.
func TestLostImports(t *testing.T) {
	for _, end := range []string{"pool first", "device first"} {
		t.Run(end, func(t *testing.T) {
			b := &null.Backend{Compute: add}
			d, _, pm := start(t, b)
			r := addRequest()
			data := []byte(r.Pools[0].(nn.HostMemory))
			p := newPinned(data)
			r.Pools[0] = p
			burst := pm.Burst()
			run := func() {
				t.Helper()
				clear(data[16:])
				_, err := burst.Execute(t.Context(), r, []int32{5})
				require.NoError(t, err)
				require.Equal(t, addResult, data[16:22])
				_, err = pm.Execute(t.Context(), r)
				require.NoError(t, err)
			}
			run()
			for n := 1; n <= 3; n++ {
				require.Equal(t, n, count(b.Calls(), "import"))
				b.Lose()
				run()
			}
			require.Equal(t, 4, count(b.Calls(), "import"))
			if end == "pool first" {
				p.Close()
				require.Equal(t, 4, count(b.Calls(), "free memory"))
			}
			require.NoError(t, d.Close())
			require.Equal(t, 4, count(b.Calls(), "free memory"))
			if end == "device first" {
				p.Close()
				require.Equal(t, 4, count(b.Calls(), "free memory"))
			}
		})
	}
}
