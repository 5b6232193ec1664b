package vulkan

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/nn"
)

// endlessShader is what glslc -O makes of this:
//
//	#version 450
//	layout(local_size_x = 1) in;
//	layout(std430, binding = 0) volatile buffer B { uint x[]; };
//	void main() { while (x[0] == 0u) x[1] += 1u; }
var endlessShader = []uint32{
	0x7230203, 0x10000, 0xd000b, 0x20, 0x0, 0x20011, 0x1, 0x6000b, 0x1, 0x4c534c47,
	0x6474732e, 0x3035342e, 0x0, 0x3000e, 0x0, 0x1, 0x5000f, 0x5, 0x4, 0x6e69616d,
	0x0, 0x60010, 0x4, 0x11, 0x1, 0x1, 0x1, 0x40047, 0xc, 0x6,
	0x4, 0x40048, 0xd, 0x0, 0x15, 0x40048, 0xd, 0x0, 0x17, 0x50048,
	0xd, 0x0, 0x23, 0x0, 0x30047, 0xd, 0x3, 0x40047, 0xf, 0x22,
	0x0, 0x40047, 0xf, 0x21, 0x0, 0x40047, 0x1f, 0xb, 0x19, 0x20013,
	0x2, 0x30021, 0x3, 0x2, 0x40015, 0xb, 0x20, 0x0, 0x3001d, 0xc,
	0xb, 0x3001e, 0xd, 0xc, 0x40020, 0xe, 0x2, 0xd, 0x4003b, 0xe,
	0xf, 0x2, 0x40015, 0x10, 0x20, 0x1, 0x4002b, 0x10, 0x11, 0x0,
	0x40020, 0x12, 0x2, 0xb, 0x4002b, 0xb, 0x15, 0x0, 0x20014, 0x16,
	0x4002b, 0x10, 0x18, 0x1, 0x4002b, 0xb, 0x19, 0x1, 0x40017, 0x1e,
	0xb, 0x3, 0x6002c, 0x1e, 0x1f, 0x19, 0x19, 0x19, 0x50036, 0x2,
	0x4, 0x0, 0x3, 0x200f8, 0x5, 0x200f9, 0x6, 0x200f8, 0x6, 0x60041,
	0x12, 0x13, 0xf, 0x11, 0x11, 0x4003d, 0xb, 0x14, 0x13, 0x500aa,
	0x16, 0x17, 0x14, 0x15, 0x400f6, 0x8, 0x7, 0x0, 0x400fa, 0x17,
	0x7, 0x8, 0x200f8, 0x7, 0x60041, 0x12, 0x1a, 0xf, 0x11, 0x18,
	0x4003d, 0xb, 0x1b, 0x1a, 0x50080, 0xb, 0x1c, 0x1b, 0x19, 0x3003e,
	0x1a, 0x1c, 0x200f9, 0x6, 0x200f8, 0x8, 0x100fd, 0x10038,
}

const hangEnv = "NNGPU_TEST_HANG"

// TestEndlessShader runs a shader that never ends, in a child process: the threads of a software device go on until it
// exits.
func TestEndlessShader(t *testing.T) {
	if selector := os.Getenv(hangEnv); selector != "" {
		hang(t, selector)
		return
	}
	selectors := []string{Lavapipe, SwiftShader}
	if s := os.Getenv("NNGPU_DEVICE"); s != "" {
		selectors = []string{s}
	}
	for _, selector := range selectors {
		t.Run(selector, func(t *testing.T) {
			exe, err := os.Executable()
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, exe, "-test.run=^TestEndlessShader$", "-test.v")
			cmd.Env = append(os.Environ(), hangEnv+"="+selector)
			text, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", text)
			if strings.Contains(string(text), "--- SKIP") {
				t.Skipf("%s", text)
			}
		})
	}
}

// hang is the child.
func hang(t *testing.T, selector string) {
	d := openOrSkip(t, selector, Options{Watchdog: 200 * time.Millisecond})
	b, err := d.newBlock(256, 0, hostBlock, "test")
	require.NoError(t, err)
	require.NoError(t, b.zero())
	l, err := d.pipelines.layout("s")
	require.NoError(t, err)
	p, err := d.dev.NewPipeline(endlessShader, l.pipeline, vk.Workgroup{Local: [3]uint32{1, 1, 1}}, 0)
	require.NoError(t, err)
	pool, err := d.dev.NewDescriptorPool(1, 1, 0, 0)
	require.NoError(t, err)
	sets, err := d.dev.NewDescriptorSets(pool, []vk.SetLayout{l.set})
	require.NoError(t, err)
	var w vk.Writes
	w.Buffer(sets[0], 0, b.buffer, 0, b.bytes)
	require.NoError(t, d.dev.WriteDescriptors(&w))
	var c vk.Commands
	c.Pipeline(p)
	c.Set(sets[0], l.pipeline)
	c.Dispatch([3]uint32{1, 1, 1})
	err = d.runOnce(&c)
	if err == nil && b.host[0] == 0 && strings.Contains(d.info.Driver, "Mesa 22.") {
		t.Skip("this lavapipe ends every loop after 65,535 turns")
	}
	require.ErrorIs(t, err, ErrAbandoned)
	require.Equal(t, nn.StatusDeviceUnavailable, nn.StatusOf(err))
	_, err = d.submit(d.normal(), nil, 0)
	require.ErrorIs(t, err, vk.ErrDeviceLost)

	// The device opens once more beside the threads that go on.
	again, err := d.Reopen()
	require.NoError(t, err)
	x, err := again.newBlock(256, 0, hostBlock, "test")
	require.NoError(t, err)
	c = vk.Commands{}
	c.Fill(x.buffer, 0, x.bytes, 7)
	c.Barrier(vk.StageTransfer, vk.AccessTransferWrite, vk.StageHost, vk.AccessHostRead)
	again.normal().watch.least = -1 // one of the cores is taken
	require.NoError(t, again.runOnce(&c))
	require.Equal(t, byte(7), x.host[0])
	x.free()
	require.NoError(t, again.Close())
	b.free()
	require.NoError(t, d.Close())
	used, _, _ := d.Memory()
	require.Zero(t, used)
}
