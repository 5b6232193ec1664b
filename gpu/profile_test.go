package gpu_test

import (
	"context"
	"fmt"
	"os"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/gpu"
)

// TestProfile prints the time of every step of the network that NNGPU_PROFILE names, on NNGPU_DEVICE.
func TestProfile(t *testing.T) {
	path := os.Getenv("NNGPU_PROFILE")
	if path == "" {
		t.Skip("NNGPU_PROFILE names no network")
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	net, err := tflite.Import(data)
	require.NoError(t, err)
	b, err := gpu.Open(os.Getenv("NNGPU_DEVICE"), gpu.Options{})
	require.NoError(t, err)
	defer b.Close()
	buffers := func(list []uint32) (out [][]byte) {
		for _, i := range list {
			n, err := net.Model.Main.Operands[i].ByteSize()
			require.NoError(t, err)
			out = append(out, make([]byte, n))
		}
		return out
	}
	steps, err := b.Profile(context.Background(), net.Model, buffers(net.Model.Main.Inputs), buffers(net.Model.Main.Outputs), 15)
	require.NoError(t, err)
	byKernel := map[string]time.Duration{}
	var total time.Duration
	for i, s := range steps {
		fmt.Printf("%3d %8.3f ms %8.1f GFLOP/s %7.2f GB/s  %-32v %v %s\n", i, float64(s.Time)/1e6, s.Step.FLOP/float64(s.Time), s.Step.Bytes/float64(s.Time), s.Step.Kernel, s.Step.Groups, s.Step.Label)
		byKernel[s.Step.Kernel.String()] += s.Time
		total += s.Time
	}
	var names []string
	for n := range byKernel {
		names = append(names, n)
	}
	sort.Slice(names, func(i, j int) bool { return byKernel[names[i]] > byKernel[names[j]] })
	for _, n := range names {
		fmt.Printf("%-40s %8.3f ms\n", n, float64(byKernel[n])/1e6)
	}
	fmt.Printf("total %.3f ms\n", float64(total)/1e6)
}
