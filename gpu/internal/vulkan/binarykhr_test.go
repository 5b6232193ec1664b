package vulkan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// fakeBinaries is a driver with VK_KHR_pipeline_binary, as far as it can be imagined.
type fakeBinaries struct {
	key    []byte
	refuse error // of PipelineOf
	none   bool  // gives no binaries

	mu       sync.Mutex
	compiled int // guarded by mu
	reused   int // guarded by mu
}

func (f *fakeBinaries) BinaryKey() ([]byte, error) {
	if f.key == nil {
		return nil, errors.New("no key")
	}
	return f.key, nil
}

func (f *fakeBinaries) CapturePipeline(code []uint32, _ vk.PipelineLayout, w vk.Workgroup) (vk.Pipeline, []vk.Binary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.compiled++
	if f.none {
		return vk.Pipeline(w.Local[0]), nil, nil
	}
	return vk.Pipeline(w.Local[0]), []vk.Binary{
		{Key: []byte{byte(code[0]), byte(w.Local[0])}, Data: fmt.Appendf(nil, "code %d of %d", code[0], w.Local[0])},
		{Key: bytes.Repeat([]byte{7}, vk.MaxBinaryKey), Data: []byte{}},
	}, nil
}

func (f *fakeBinaries) PipelineOf(list []vk.Binary, code []uint32, _ vk.PipelineLayout, w vk.Workgroup) (vk.Pipeline, error) {
	if f.refuse != nil {
		return 0, f.refuse
	}
	if want := fmt.Sprintf("code %d of %d", code[0], w.Local[0]); len(list) != 2 || string(list[0].Data) != want {
		return 0, fmt.Errorf("%d binaries, %q instead of %q", len(list), list[0].Data, want)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reused++
	return vk.Pipeline(w.Local[0]), nil
}

var khrPipelines = []plan.Pipeline{
	{Kernel: shaders.UnaryAbsF32, Local: plan.Flat(64)}, {Kernel: shaders.UnaryAbsF32, Local: plan.Flat(8)}, {Kernel: shaders.UnaryNegF32, Local: plan.Flat(64)},
}

// compileAll makes all of khrPipelines.
func compileAll(t *testing.T, b *binaryTable) {
	t.Helper()
	for _, key := range khrPipelines {
		p, err := b.pipeline(key, []uint32{uint32(key.Kernel)}, 0, vk.Workgroup{Local: key.Local})
		require.NoError(t, err)
		require.Equal(t, vk.Pipeline(key.Local[0]), p)
	}
}

func TestBinaryTable(t *testing.T) {
	key := []byte("driver 1")
	first := &fakeBinaries{key: key}
	a := newBinaryTable(first, true)
	require.Nil(t, a.encode())
	compileAll(t, a)
	compileAll(t, a)
	require.Equal(t, 3, first.compiled)
	require.Equal(t, 3, first.reused)
	data := a.encode()
	require.Equal(t, data, a.encode(), "the order is fixed")
	require.LessOrEqual(t, len(data), binaryHeader+a.bytes)

	second := &fakeBinaries{key: key}
	b := newBinaryTable(second, true)
	b.add(data)
	compileAll(t, b)
	require.Zero(t, second.compiled)
	require.Equal(t, data, b.encode())

	third := &fakeBinaries{key: []byte("driver 2")}
	c := newBinaryTable(third, true)
	c.add(data)
	compileAll(t, c)
	require.Equal(t, 3, third.compiled, "another driver's")

	fourth := &fakeBinaries{key: key, refuse: vk.ErrInvalidHandle}
	d := newBinaryTable(fourth, true)
	d.add(data)
	compileAll(t, d)
	require.Equal(t, 3, fourth.compiled, "refused ones are compiled")
	require.Equal(t, b.bytes, d.bytes)

	fifth := &fakeBinaries{key: key, refuse: vk.ErrDeviceLost}
	e := newBinaryTable(fifth, true)
	e.add(data)
	_, err := e.pipeline(khrPipelines[0], []uint32{1}, 0, vk.Workgroup{Local: khrPipelines[0].Local})
	require.ErrorIs(t, err, vk.ErrDeviceLost)
	require.Zero(t, fifth.compiled)

	silent := newBinaryTable(&fakeBinaries{key: key, none: true}, true)
	compileAll(t, silent)
	require.Nil(t, silent.encode())

	require.Nil(t, newBinaryTable(first, false))
	require.Nil(t, newBinaryTable(&fakeBinaries{}, true))
	require.Nil(t, newBinaryTable(&fakeBinaries{key: make([]byte, vk.MaxBinaryKey+1)}, true))
}

func TestBinaryTableConcurrent(t *testing.T) {
	f := &fakeBinaries{key: []byte{1}}
	table := newBinaryTable(f, true)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 50 {
				key := plan.Pipeline{Kernel: khrPipelines[(i+k)%3].Kernel, Local: plan.Flat(uint32(k%7 + 1))}
				if _, err := table.pipeline(key, []uint32{uint32(key.Kernel)}, 0, vk.Workgroup{Local: key.Local}); err != nil {
					panic(err)
				}
				table.add(table.encode())
			}
		})
	}
	wg.Wait()
	require.NotNil(t, table.encode())
}

// TestDamagedBinaries cuts and flips an encoding everywhere: what decodes at all stays within its bounds.
func TestDamagedBinaries(t *testing.T) {
	key := []byte("driver 1")
	a := newBinaryTable(&fakeBinaries{key: key}, true)
	compileAll(t, a)
	data := a.encode()
	for n := range data {
		_, ok := decodeBinaries(data[:n], key)
		require.False(t, ok, "cut at %d", n)
	}
	_, ok := decodeBinaries(append(bytes.Clone(data), 0), key)
	require.False(t, ok, "longer")
	require.NotPanics(t, func() {
		for i := range data {
			for bit := range 8 {
				data[i] ^= 1 << bit
				decodeBinaries(data, key)
				data[i] ^= 1 << bit
			}
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for range 20000 {
			b := bytes.Clone(data)
			for range 1 + rng.IntN(4) {
				at := rng.IntN(len(b) - 3)
				binary.LittleEndian.PutUint32(b[at:], rng.Uint32()>>rng.IntN(32))
			}
			list, ok := decodeBinaries(b, key)
			if total := 0; ok {
				for _, l := range list {
					for _, x := range l {
						total += len(x.Key) + len(x.Data)
					}
				}
				require.LessOrEqual(t, total, len(b))
			}
		}
	})
	again, ok := decodeBinaries(data, key)
	require.True(t, ok)
	require.Len(t, again, 3)
}

// TestBinariesBounded keeps no more than may be stored.
func TestBinariesBounded(t *testing.T) {
	table := newBinaryTable(&fakeBinaries{key: []byte{1}}, true)
	big := []vk.Binary{{Key: []byte{1}, Data: make([]byte, maxBinaries/2)}}
	for i := range uint32(4) {
		table.keep(plan.Pipeline{Kernel: shaders.UnaryAbsF32, Local: plan.Flat(i + 1)}, big)
	}
	require.Len(t, table.list, 1)
	require.LessOrEqual(t, len(table.encode()), maxBinaries)
}
