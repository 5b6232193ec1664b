package vulkan

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/nn"
)

// TestOwnPages: large memory of a device that touches what it allocates is the host's, zero, and gone with its block.
func TestOwnPages(t *testing.T) {
	for _, selector := range []string{Lavapipe, SwiftShader} {
		t.Run(selector, func(t *testing.T) {
			d := openOrSkip(t, selector, Options{Validation: true})
			defer func() {
				require.Empty(t, d.ValidationMessages())
				require.NoError(t, d.Close())
			}()
			for _, n := range []int64{pagesFrom - 256, pagesFrom, pagesFrom + 4, 5<<20 + 1000} {
				for _, kind := range []blockKind{deviceBlock, weightsBlock, hostBlock} {
					t.Run(fmt.Sprint(n, " ", kind), func(t *testing.T) {
						before, _, _ := d.Memory()
						b, err := d.newBlock(n, 0, kind, "test")
						require.NoError(t, err)
						require.Equal(t, selector == SwiftShader && n >= pagesFrom, b.pages != nil)
						if kind == deviceBlock {
							require.Nil(t, b.host)
						}
						used, _, _ := d.Memory()
						require.GreaterOrEqual(t, used-before, max(n, b.bytes))
						require.NoError(t, b.zero())
						got := bytes.Repeat([]byte{1}, int(n))
						require.NoError(t, b.download(got, 0))
						require.Equal(t, make([]byte, n), got)

						data := bytes.Repeat([]byte("weights!"), int(n/8+1))[:n&^3]
						require.NoError(t, b.upload(t.Context(), bytes.NewReader(data), int64(len(data)), 0))
						got = make([]byte, len(data))
						require.NoError(t, b.download(got, 0))
						require.Equal(t, data, got)

						b.free()
						used, _, _ = d.Memory()
						require.Equal(t, before, used)
					})
				}
			}
			before := addressSpace(t)
			for range 64 {
				b, err := d.newBlock(64<<20, 0, deviceBlock, "test")
				require.NoError(t, err)
				b.free()
			}
			require.Less(t, addressSpace(t)-before, int64(1<<30))
		})
	}
}

// TestOwnPagesBudget: what rounding to pages adds is in the account.
func TestOwnPagesBudget(t *testing.T) {
	d := openOrSkip(t, SwiftShader, Options{})
	defer func() { require.NoError(t, d.Close()) }()
	_, err := d.newBlock(pagesFrom+4, pagesFrom+512, hostBlock, "test")
	require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(err))
	used, _, _ := d.Memory()
	require.Zero(t, used)
	b, err := d.newBlock(pagesFrom+4, pagesFrom+int64(os.Getpagesize()), hostBlock, "test")
	require.NoError(t, err)
	b.free()
}

func TestTouchesMemory(t *testing.T) {
	for _, tc := range []struct {
		p    vk.Properties
		want bool
	}{
		{vk.Properties{DriverID: driverSwiftShader, HostAlign: 4096}, true},
		{vk.Properties{DriverID: driverSwiftShader}, false}, // imports nothing
		{vk.Properties{DriverID: driverLLVMpipe, HostAlign: 4096}, false},
	} {
		require.Equal(t, tc.want, touchesMemory(&tc.p), tc.p)
	}
}

// addressSpace is what the process has mapped, in bytes.
func addressSpace(t *testing.T) int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var pages int64
	_, err = fmt.Sscan(string(statm), &pages)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}
