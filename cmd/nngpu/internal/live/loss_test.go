package live

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/canvas"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/frames"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/y4m"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
)

// TestLoss: a device that is lost once costs a frame at most; one that stays lost ends all.
func TestLoss(t *testing.T) {
	eachOpened(t, func(t *testing.T, d *nngpu.Device) {
		for name, tc := range map[string]struct {
			call  vk.Call
			after int
		}{"submission": {vk.CallSubmit, 0}, "later submission": {vk.CallSubmit, 2}, "wait": {vk.CallWait, 1}} {
			t.Run(name, func(t *testing.T) {
				d, err := nngpu.Open(nngpu.Options{Device: d.Info().Name, Cache: driver.CacheOptions{Off: true}})
				require.NoError(t, err)
				defer func() { require.NoError(t, d.Close()) }()
				defer vk.Inject(nil, nil)
				video := &losing{faults: &vk.Faults{Calls: map[vk.Call]vk.Fault{tc.call: {Result: vk.ResultDeviceLost, After: tc.after, Times: 1}}}}
				s := digits(t)
				s.Frames, s.Record = 12, video
				s.Rival = &Rival{Path: "rival", Model: s.Network.Model, Inputs: [][]byte{make([]byte, 28*28)}}
				sum, last, err := Run(t.Context(), d, open(t, "test", frames.Options{}), s)
				require.NoError(t, err)
				require.NotNil(t, last)
				require.Equal(t, 12, sum.Frames)
				require.GreaterOrEqual(t, sum.Met, 11)
				in, err := y4m.NewReader(video)
				require.NoError(t, err)
				n := 0
				for pixels := make([]byte, canvas.Width*canvas.Height*4); err == nil; n++ {
					err = in.Next(pixels)
				}
				require.Equal(t, io.EOF, err)
				require.GreaterOrEqual(t, n-1, 8, "those drawn before and after, of one recording")
			})
		}
		t.Run("for good", func(t *testing.T) {
			defer vk.Inject(nil, nil)
			s := digits(t)
			s.Record = &losing{faults: &vk.Faults{Calls: map[vk.Call]vk.Fault{vk.CallSubmit: {Result: vk.ResultDeviceLost}}}}
			began := time.Now()
			sum, last, err := Run(t.Context(), d, open(t, "test", frames.Options{}), s)
			require.Equal(t, nn.StatusDeviceUnavailable, nn.StatusOf(err), "%v", err)
			require.Nil(t, last)
			require.Positive(t, sum.Met)
			require.Less(t, time.Since(began), 30*time.Second)
		})
	})
}

// losing is a recording at whose first bytes, when frames are computed, the device is lost.
type losing struct {
	bytes.Buffer
	faults *vk.Faults
}

func (l *losing) Write(b []byte) (int, error) {
	if l.faults != nil {
		vk.Inject(nil, l.faults)
		l.faults = nil
	}
	return l.Buffer.Write(b)
}
