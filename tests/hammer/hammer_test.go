// Package hammer works on shared memory from many goroutines at once, on real devices.
package hammer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

const (
	threads  = 8
	elements = 35 // of the tensors: [7, 5], so that the device's form has padding
	nbuffers = 6
)

// operations of each thread: 10,000 with NNGPU_SOAK=1.
func operations() int {
	if os.Getenv("NNGPU_SOAK") == "1" {
		return 10_000
	}
	if testing.Short() {
		return 200
	}
	return 1_500
}

// nextModel is y = x + 1.
func nextModel() *nn.Model {
	var b nn.Builder
	dims := nn.Dims{7, 5}
	x := b.Input(nn.TensorFloat32, dims, 0, 0)
	y := b.Temp(nn.TensorFloat32, dims, 0, 0)
	b.Op(nn.OpAdd, []uint32{x, b.Floats(nn.Dims{1}, 1), b.Scalar(0)}, []uint32{y})
	b.Output(y)
	return nntest.Build(&b)
}

// uniform is a tensor whose elements are all v.
func uniform(v float32) nn.HostMemory {
	m := make(nn.HostMemory, 4*elements)
	for i := range elements {
		binary.LittleEndian.PutUint32(m[4*i:], math.Float32bits(v))
	}
	return m
}

// value returns the element that all of m is; an error if they differ: then a write was seen half done.
func value(m nn.HostMemory) (float32, error) {
	first := binary.LittleEndian.Uint32(m)
	for i := range elements {
		if w := binary.LittleEndian.Uint32(m[4*i:]); w != first {
			return 0, fmt.Errorf("element %d is %v, element 0 %v", i, math.Float32frombits(w), math.Float32frombits(first))
		}
	}
	return math.Float32frombits(first), nil
}

// shared is a buffer that all threads use, and that some of them replace.
type shared struct {
	mu     sync.RWMutex // held for reading while the buffer is used by its token
	buffer *driver.Buffer
}

type hammer struct {
	client  *driver.Client
	model   *driver.PreparedModel
	buffers [nbuffers]*shared
	counts  [8]atomic.Int64
}

func (h *hammer) allocate() (*driver.Buffer, error) {
	role := []driver.BufferRole{{Model: h.model, Probability: 1}}
	return h.client.Allocate(driver.BufferDesc{}, role, role)
}

// TestHammer mixes copies, executions, misuse and replacement over shared buffers. Every write is of a uniform
// tensor, so that whatever is read must be uniform; every status is one that the rules allow.
func TestHammer(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		c, err := d.NewClient("hammer")
		require.NoError(t, err)
		stranger, err := d.NewClient("stranger")
		require.NoError(t, err)
		h := &hammer{client: c}
		h.model, err = c.PrepareModel(t.Context(), nextModel())
		require.NoError(t, err)
		foreign, err := stranger.PrepareModel(t.Context(), nextModel())
		require.NoError(t, err)
		before := c.Memory()
		for i := range h.buffers {
			b, err := h.allocate()
			require.NoError(t, err)
			h.buffers[i] = &shared{buffer: b}
		}
		var group sync.WaitGroup
		for i := range threads {
			group.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(i), 5))
				for k := range operations() {
					if err := h.step(t.Context(), rng, foreign); err != nil {
						t.Errorf("thread %d, operation %d: %v", i, k, err)
						return
					}
				}
			})
		}
		group.Wait()
		var counts []int64
		for i := range h.counts {
			counts = append(counts, h.counts[i].Load())
			require.Positive(t, counts[i], "kind %d never ran", i)
		}
		t.Logf("%d threads: %v operations by kind", threads, counts)
		for _, s := range h.buffers {
			require.NoError(t, s.buffer.Close())
		}
		require.Equal(t, before, c.Memory())
	})
}

// step does one random operation.
func (h *hammer) step(ctx context.Context, rng *rand.Rand, foreign *driver.PreparedModel) error {
	i, k := rng.IntN(nbuffers), rng.IntN(nbuffers)
	a, b := h.buffers[i], h.buffers[k]
	kind := rng.IntN(len(h.counts))
	if kind == 7 && rng.IntN(20) > 0 {
		kind = 3 // replacing is rare
	}
	h.counts[kind].Add(1)
	switch kind {
	case 0: // write
		a.mu.RLock()
		defer a.mu.RUnlock()
		return a.buffer.CopyFrom(ctx, uniform(float32(rng.IntN(1000))), nil)
	case 1: // read
		a.mu.RLock()
		defer a.mu.RUnlock()
		m := uniform(-1)
		if err := a.buffer.CopyTo(ctx, m); err != nil {
			return allow(err, nn.StatusGeneralFailure) // M12: not initialised
		}
		_, err := value(m)
		return err
	case 2, 3: // from buffer to buffer
		return h.execute(ctx, a, b, i, k)
	case 4: // from host memory to a buffer, and what is written is read elsewhere
		a.mu.RLock()
		defer a.mu.RUnlock()
		_, err := h.model.Execute(ctx, &nn.Request{
			Inputs: []nn.RequestArgument{inHost()}, Outputs: []nn.RequestArgument{inBuffer(1)},
			Pools: []nn.Memory{uniform(float32(rng.IntN(1000))), a.buffer.Token()},
		})
		return err
	case 5: // from a buffer to host memory
		a.mu.RLock()
		defer a.mu.RUnlock()
		out := inHost()
		out.Location.PoolIndex = 1
		m := uniform(-1)
		_, err := h.model.Execute(ctx, &nn.Request{
			Inputs: []nn.RequestArgument{inBuffer(0)}, Outputs: []nn.RequestArgument{out},
			Pools: []nn.Memory{a.buffer.Token(), m},
		})
		if err != nil {
			return allow(err, nn.StatusGeneralFailure) // M17
		}
		_, err = value(m)
		return err
	case 6: // misuse: of another client, a wrong size, an unknown token, while others work
		return h.misuse(ctx, rng, a, foreign)
	default: // replace
		fresh, err := h.allocate()
		if err != nil {
			return err
		}
		a.mu.Lock()
		old := a.buffer
		a.buffer = fresh
		a.mu.Unlock()
		return old.Close()
	}
}

func inHost() nn.RequestArgument {
	return nn.RequestArgument{Location: nn.Location{Length: 4 * elements}}
}

func inBuffer(pool uint32) nn.RequestArgument {
	return nn.RequestArgument{Location: nn.Location{PoolIndex: pool}}
}

// execute runs the model from a to b, which are buffers i and k.
func (h *hammer) execute(ctx context.Context, a, b *shared, i, k int) error {
	first, second := a, b
	if k < i {
		first, second = b, a
	}
	first.mu.RLock()
	defer first.mu.RUnlock()
	if i != k {
		second.mu.RLock()
		defer second.mu.RUnlock()
	}
	_, err := h.model.Execute(ctx, &nn.Request{
		Inputs: []nn.RequestArgument{inBuffer(0)}, Outputs: []nn.RequestArgument{inBuffer(1)},
		Pools: []nn.Memory{a.buffer.Token(), b.buffer.Token()},
	})
	if i == k { // M18
		if err == nil {
			return errors.New("one buffer as input and output was accepted")
		}
		return allow(err, nn.StatusInvalidArgument)
	}
	if err != nil {
		return allow(err, nn.StatusGeneralFailure) // M17
	}
	return nil
}

func (h *hammer) misuse(ctx context.Context, rng *rand.Rand, a *shared, foreign *driver.PreparedModel) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	token, model := nn.Memory(a.buffer.Token()), h.model
	var err error
	switch rng.IntN(4) {
	case 0: // M10
		err = a.buffer.CopyFrom(ctx, make(nn.HostMemory, 8*elements), nil)
	case 1: // M12: too small, whether initialised or not
		err = a.buffer.CopyTo(ctx, make(nn.HostMemory, 2*elements))
		return allow(err, nn.StatusInvalidArgument, nn.StatusGeneralFailure)
	case 2: // M14
		token = nn.BufferToken(rng.Uint64() | 1)
		fallthrough
	default: // M15, M22: a token of another client and model
		if rng.IntN(2) == 0 {
			model = foreign
		} else {
			token = nn.BufferToken(0)
		}
		_, err = model.Execute(ctx, &nn.Request{
			Inputs: []nn.RequestArgument{inBuffer(0)}, Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: 4 * elements}}},
			Pools: []nn.Memory{token, uniform(0)},
		})
	}
	return allow(err, nn.StatusInvalidArgument)
}

// allow returns nil when err has one of the given statuses.
func allow(err error, want ...nn.Status) error {
	for _, s := range want {
		if nn.StatusOf(err) == s {
			return nil
		}
	}
	return fmt.Errorf("status %v of %v, not %v", nn.StatusOf(err), err, want)
}
