package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/internal/devices"
)

// TestLiveLoss: the command says that the device was lost, and goes on if it can be opened again.
func TestLiveLoss(t *testing.T) {
	devices.EachNamed(t, func(t *testing.T, device string) {
		for name, tc := range map[string]struct {
			fault vk.Fault
			code  int
			says  []string
		}{
			"once":     {vk.Fault{Result: vk.ResultDeviceLost, Times: 1}, exitOK, []string{"warning: the device is lost", "opened again"}},
			"for good": {vk.Fault{Result: vk.ResultDeviceLost}, exitRefused, []string{"VK_ERROR_DEVICE_LOST", "nngpu info lists the devices\n"}},
		} {
			t.Run(name, func(t *testing.T) {
				video := filepath.Join(t.TempDir(), "x.y4m")
				done := make(chan struct{})
				go func() {
					defer close(done)
					for range 3000 { // until frames are drawn
						time.Sleep(10 * time.Millisecond)
						if st, err := os.Stat(video); err == nil && st.Size() > 0 {
							break
						}
					}
					vk.Inject(nil, &vk.Faults{Calls: map[vk.Call]vk.Fault{vk.CallSubmit: tc.fault}})
				}()
				var out, errOut bytes.Buffer
				code := run(t.Context(), []string{
					"live", filepath.Join("..", "..", "examples", "digits", "digits_s8.tflite"), "--device", device, "--no-cache", "--fps", "0", "--frames", "8", "--record", video,
				}, &out, &errOut, func(int) { panic("it hung") })
				<-done
				vk.Inject(nil, nil)
				require.Equal(t, tc.code, code, "%s%s", &out, &errOut)
				for _, part := range tc.says {
					require.Contains(t, errOut.String(), part)
				}
				if code == exitOK {
					require.Contains(t, out.String(), "8 frames")
				}
			})
		}
	})
}
