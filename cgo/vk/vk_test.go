package vk

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestErrors(t *testing.T) {
	sentinels := []error{ErrNoLoader, ErrIncompatibleDriver, ErrDeviceLost, ErrOutOfMemory, ErrNoLayer}
	for _, tc := range []struct {
		result Result
		is     error
		text   string
	}{
		{-1, ErrOutOfMemory, "vkTest: VK_ERROR_OUT_OF_HOST_MEMORY"},
		{-2, ErrOutOfMemory, "vkTest: VK_ERROR_OUT_OF_DEVICE_MEMORY"},
		{-1000069000, ErrOutOfMemory, "vkTest: VK_ERROR_OUT_OF_POOL_MEMORY"},
		{-4, ErrDeviceLost, "vkTest: VK_ERROR_DEVICE_LOST"},
		{-6, ErrNoLayer, "vkTest: VK_ERROR_LAYER_NOT_PRESENT"},
		{-9, ErrIncompatibleDriver, "vkTest: VK_ERROR_INCOMPATIBLE_DRIVER"},
		{-3, nil, "vkTest: VK_ERROR_INITIALIZATION_FAILED"},
		{2, nil, "vkTest: VK_TIMEOUT"},
		{-77, nil, "vkTest: VkResult(-77)"},
	} {
		t.Run(tc.result.String(), func(t *testing.T) {
			err := fmt.Errorf("wrapped: %w", check("vkTest", tc.result))
			for _, s := range sentinels {
				require.Equal(t, s == tc.is, errors.Is(err, s), s)
			}
			require.Equal(t, "wrapped: "+tc.text, err.Error())
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tc.result, e.Result)
		})
	}
	require.NoError(t, check("vkTest", success))
}

// TestOneInstanceStays: the first usual instance that is closed is held, and no other one.
func TestOneInstanceStays(t *testing.T) {
	openCPU(t) // or skips
	closed := func(o InstanceOptions) {
		inst, err := NewInstance(o)
		require.NoError(t, err)
		inst.Close()
	}
	closed(InstanceOptions{})
	first := held
	require.NotNil(t, first)
	closed(InstanceOptions{})
	closed(InstanceOptions{Env: []Env{{"NNGPU_TEST_ENV", "1"}}})
	require.Same(t, first, held)
}

// openCPU opens a software device that is installed, with the validation layer where there is one.
func openCPU(t *testing.T) (*Instance, *Device, *Properties) {
	t.Helper()
	if _, err := Load([]Library{{Path: "/nonexistent/libvulkan.so"}, {Path: "libvulkan.so.1"}}); err != nil {
		skip(t, err)
	}
	inst, err := NewInstance(InstanceOptions{Validation: ValidateCore | ValidateSync, Env: []Env{{"NNGPU_TEST_ENV", "1"}}})
	if errors.Is(err, ErrNoLayer) {
		inst, err = NewInstance(InstanceOptions{})
	}
	if errors.Is(err, ErrIncompatibleDriver) {
		skip(t, err)
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, m := range inst.Messages() {
			t.Error(m)
		}
		inst.Close()
		inst.Close()
	})
	list, err := inst.PhysicalDevices()
	require.NoError(t, err)
	for _, p := range list {
		props, err := p.Properties()
		require.NoError(t, err)
		if props.Type != TypeCPU || !props.Timeline {
			continue
		}
		var f Features
		if props.IntegerDot {
			f |= FeatureIntegerDot
		}
		d, err := NewDevice(p, props, Queues{}, f)
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, d.WaitIdle())
			d.Close()
			d.Close()
		})
		return inst, d, props
	}
	skip(t, errors.New("no software device"))
	return nil, nil, nil
}

func skip(t *testing.T, why error) {
	t.Helper()
	if strings.Contains(os.Getenv("NNGPU_REQUIRE"), "lavapipe") {
		t.Fatal(why)
	}
	t.Skip(why)
}

func TestProperties(t *testing.T) {
	_, d, p := openCPU(t)
	require.NotEmpty(t, p.Name)
	require.GreaterOrEqual(t, p.MaxStorageRange, int64(1<<27))
	require.GreaterOrEqual(t, p.MaxTexelElements, int64(1<<16))
	require.GreaterOrEqual(t, p.MaxInvocations, uint32(128))
	require.Positive(t, p.MaxAllocation)
	require.Positive(t, p.SubgroupSize)
	require.NotEmpty(t, p.MemoryTypes)
	require.NotEmpty(t, p.Heaps)
	require.NotZero(t, p.DriverUUID)
	require.Regexp(t, `^1\.[1-9]\.\d+$`, p.APIVersion())
	v, err := d.Reached(0)
	require.NoError(t, err)
	require.Zero(t, v)
	_, set := os.LookupEnv("NNGPU_TEST_ENV")
	require.False(t, set)
}

// testBuffer is a mapped buffer.
type testBuffer struct {
	buffer Buffer
	memory Memory
	bytes  []byte
}

func newTestBuffer(t *testing.T, d *Device, p *Properties, n int64) testBuffer {
	t.Helper()
	b, err := d.NewBuffer(n, UsageStorage|UsageTransferSrc|UsageTransferDst|UsageUniformTexel)
	require.NoError(t, err)
	r := d.Requirements(b)
	require.GreaterOrEqual(t, r.Size, n)
	for i, mt := range p.MemoryTypes {
		if r.Types>>i&1 == 0 || mt.Flags&(HostVisible|HostCoherent) != HostVisible|HostCoherent {
			continue
		}
		m, err := d.Allocate(r.Size, i)
		require.NoError(t, err)
		require.NoError(t, d.Bind(b, m))
		mapped, err := d.Map(m, r.Size)
		require.NoError(t, err)
		t.Cleanup(func() {
			d.DestroyBuffer(b)
			d.Free(m)
		})
		return testBuffer{b, m, mapped[:n]}
	}
	t.Fatal("no host-visible memory")
	return testBuffer{}
}

// TestGarbageCollection records and submits long command buffers while the garbage collector runs all the
// time: nothing that a driver reads may belong to Go.
func TestGarbageCollection(t *testing.T) {
	_, d, p := openCPU(t)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			runtime.GC()
		}
	}()
	defer func() { stop.Store(true); <-done }()

	const words = 257
	src, dst := newTestBuffer(t, d, p, 4*words), newTestBuffer(t, d, p, 4*words)
	layout, err := d.NewSetLayout([]DescriptorType{StorageBuffer, StorageBuffer, UniformTexelBuffer})
	require.NoError(t, err)
	defer Destroy(d, layout)
	for value := uint64(1); value <= 40; value++ {
		dpool, err := d.NewDescriptorPool(50, 100, 50, 0)
		require.NoError(t, err)
		layouts := make([]SetLayout, 50)
		for i := range layouts {
			layouts[i] = layout
		}
		sets, err := d.NewDescriptorSets(dpool, layouts)
		require.NoError(t, err)
		view, err := d.NewBufferView(src.buffer, FormatR32Uint, 0, 256)
		require.NoError(t, err)
		var w Writes
		for _, s := range sets {
			w.Buffer(s, 0, src.buffer, 0, 4*words)
			w.Buffer(s, 1, dst.buffer, 0, 256)
			w.View(s, 2, view, UniformTexelBuffer)
		}
		require.NoError(t, d.WriteDescriptors(&w))

		var c Commands
		for i := range int64(words) {
			c.Fill(src.buffer, 4*i, 4, uint32(value)*1000+uint32(i))
		}
		c.Barrier(StageTransfer, AccessTransferWrite, StageTransfer, AccessTransferRead|AccessTransferWrite)
		for i := range int64(words) { // backwards
			c.Copy(src.buffer, 4*i, dst.buffer, 4*(words-1-i), 4)
		}
		c.Barrier(StageTransfer, AccessTransferWrite, StageHost, AccessHostRead)
		cpool, err := d.NewCommandPool()
		require.NoError(t, err)
		cmds, err := d.NewCommandBuffers(cpool, 1)
		require.NoError(t, err)
		require.NoError(t, d.Record(cmds[0], &c))
		require.NoError(t, d.Submit(0, cmds, value))
		ok, err := d.Wait(0, value, 10*time.Second)
		require.NoError(t, err)
		require.True(t, ok)
		want := make([]byte, 0, 4*words)
		for i := words - 1; i >= 0; i-- {
			v := uint32(value)*1000 + uint32(i)
			want = append(want, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
		require.True(t, bytes.Equal(want, dst.bytes), "submission %d", value)
		d.DestroyBufferView(view)
		Destroy(d, cpool)
		Destroy(d, dpool)
	}
}

func TestTimestamps(t *testing.T) {
	_, d, p := openCPU(t)
	if p.TimestampPeriod == 0 {
		t.Skip("no timestamps")
	}
	b := newTestBuffer(t, d, p, 1<<20)
	pool, err := d.NewQueryPool(2)
	require.NoError(t, err)
	defer d.DestroyQueryPool(pool)
	cpool, err := d.NewCommandPool()
	require.NoError(t, err)
	defer Destroy(d, cpool)
	cmds, err := d.NewCommandBuffers(cpool, 1)
	require.NoError(t, err)
	var c Commands
	c.ResetQueries(pool, 0, 2)
	c.Timestamp(pool, 0, StageBottom)
	c.Fill(b.buffer, 0, 1<<20, 7)
	c.Timestamp(pool, 1, StageBottom)
	c.Barrier(StageTransfer, AccessTransferWrite, StageHost, AccessHostRead)
	require.NoError(t, d.Record(cmds[0], &c))
	require.NoError(t, d.Submit(0, cmds, 1))
	ok, err := d.Wait(0, 1, 10*time.Second)
	require.NoError(t, err)
	require.True(t, ok)
	stamps := make([]uint64, 2)
	require.NoError(t, d.Timestamps(pool, 0, stamps))
	require.Greater(t, stamps[1], stamps[0])
	require.Equal(t, byte(7), b.bytes[1<<20-4])
}

func TestWaitTimesOut(t *testing.T) {
	_, d, _ := openCPU(t)
	begin := time.Now()
	ok, err := d.Wait(0, 1, 20*time.Millisecond)
	require.NoError(t, err)
	require.False(t, ok)
	require.GreaterOrEqual(t, time.Since(begin), 19*time.Millisecond)
}

// TestSpins waits without sleep for the whole time and for a part of it.
func TestSpins(t *testing.T) {
	_, d, _ := openCPU(t)
	const limit = 20 * time.Millisecond
	for i, spin := range []time.Duration{limit / 4, limit, time.Hour} {
		value := uint64(i + 1)
		begin := time.Now()
		ok, err := d.WaitSpinning(0, value, spin, limit)
		require.NoError(t, err)
		require.False(t, ok)
		require.GreaterOrEqual(t, time.Since(begin), limit-time.Millisecond)
		require.NoError(t, d.Submit(0, nil, value))
		ok, err = d.WaitSpinning(0, value, 10*time.Second, 10*time.Second)
		require.NoError(t, err)
		require.True(t, ok)
		ok, err = d.WaitSpinning(0, value, spin, -1)
		require.NoError(t, err)
		require.True(t, ok, "done already")
	}
	Inject(d, &Faults{Stuck: 1})
	ok, err := d.WaitSpinning(0, 1, limit, limit)
	require.NoError(t, err)
	require.False(t, ok)
	Inject(d, &Faults{Calls: map[Call]Fault{CallWait: {Result: ResultDeviceLost}}})
	_, err = d.WaitSpinning(0, 1, limit, limit)
	require.ErrorIs(t, err, ErrDeviceLost)
}

func TestPipelineCacheData(t *testing.T) {
	_, d, _ := openCPU(t)
	c, err := d.NewPipelineCache(nil)
	require.NoError(t, err)
	data, err := d.PipelineCacheData(c)
	require.NoError(t, err)
	Destroy(d, c)
	c, err = d.NewPipelineCache(data)
	require.NoError(t, err)
	Destroy(d, c)
}

// TestValidationMessages makes a mistake on purpose and looks for the layer's message.
func TestValidationMessages(t *testing.T) {
	inst, d, _ := openCPU(t)
	b, err := d.NewBuffer(64, UsageStorage) // no transfer usage
	require.NoError(t, err)
	pool, err := d.NewCommandPool()
	require.NoError(t, err)
	cmds, err := d.NewCommandBuffers(pool, 1)
	require.NoError(t, err)
	require.Empty(t, inst.Messages())
	r := d.Requirements(b)
	m, err := d.Allocate(r.Size, 0)
	require.NoError(t, err)
	require.NoError(t, d.Bind(b, m))
	var c Commands
	for range 100 {
		c.Fill(b, 0, 64, 0)
	}
	require.NoError(t, d.Record(cmds[0], &c))
	if list := inst.Messages(); len(list) > 0 {
		require.Contains(t, list[0], "VUID-vkCmdFillBuffer-dstBuffer-00029")
		require.LessOrEqual(t, len(list), 65) // the ring's size and the count of the rest
	} else if strings.Contains(os.Getenv("NNGPU_REQUIRE"), "validation") {
		t.Error("no message")
	}
	require.Empty(t, inst.Messages())
	Destroy(d, pool)
	d.DestroyBuffer(b)
	d.Free(m)
}
