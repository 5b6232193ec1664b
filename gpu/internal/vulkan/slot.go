package vulkan

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nngpu/nngpu/cgo/vk"
)

// slot is what one execution needs for itself. It is used by one execution at a time.
type slot struct {
	x      *Executable
	number int // in Executable.slots
	arena  *block
	shared *Arena       // that arena is, where it is not the slot's own
	inputs *block       // the inputs' part of plan.Host, see inputsEnd: the host only writes to it; nil where host has it
	host   *block       // the rest of plan.Host
	views  *viewTable   // of arena, inputs and host
	stamps vk.QueryPool // 0 where executions are timed by the host, or not at all
	// Where there are stamps: what they said last, and the times of segments derived from it.
	ticks []uint64
	times []time.Duration
	// clean is closed when arena, inputs and host were cleared, or dirty says why not; nil: nothing to clear.
	clean chan struct{}
	dirty error
	// base has all inputs and outputs in inputs and host; others those that were bound elsewhere, at most maxRecordings.
	base     *recording
	others   []*recording
	uses     uint64    // of others, so far
	sampling *sampling // of one of them, for traces; nil before the first

	// Of the execution under way: where inputs and outputs are, the bytes that outputs in host go to, and the memory
	// of devices that what lies in inputs and host is copied from and to.
	at    []place
	out   [][]byte
	aside []place
	run   Execution
	// fences are those of its submissions, each at its first segment.
	fences []fence
}

// maxRecordings is the number of ways of binding inputs and outputs that a slot remembers, beside the one with
// all of them in host memory: two buffers that change places at each step, for each of two states, are four.
const maxRecordings = 8

// cleared waits until the slot's memory was cleared.
func (s *slot) cleared() error {
	if s.clean == nil {
		return nil
	}
	<-s.clean
	return s.dirty
}

// newSlot makes a slot for pool n; see allocateSlot and complete.
func (x *Executable) newSlot(n int) (*slot, error) {
	s, err := x.allocateSlot(n)
	if err != nil {
		return nil, err
	}
	return s.complete()
}

// allocateSlot allocates the memory of a slot for pool n and begins to clear it, which takes most of the time if it is the
// first to touch the pages.
func (x *Executable) allocateSlot(n int) (*slot, error) {
	d, s := x.dev, x.emptySlot()
	s.number = n
	var group sync.WaitGroup
	var arenaErr, inputsErr, hostErr error
	group.Go(func() { arenaErr = s.takeArena() })
	inputs, host := x.hostBytes()
	s.inputs, inputsErr = d.newBlock(inputs, x.o.MemoryBudget, inputsBlock, "inputs")
	s.host, hostErr = d.newBlock(host, x.o.MemoryBudget, hostBlock, "inputs and outputs")
	group.Wait()
	if err := cmp.Or(arenaErr, inputsErr, hostErr); err != nil {
		s.destroy()
		return nil, d.failure("slot", err)
	}
	// No kernel may see what another model left.
	s.clean = make(chan struct{})
	go func() {
		defer close(s.clean)
		s.dirty = errors.Join(s.clearArena(), s.inputs.zero(), s.host.zero())
	}()
	return s, nil
}

func (s *slot) takeArena() (err error) {
	x := s.x
	if x.o.Arenas == nil {
		s.arena, err = x.dev.newBlock(x.plan.ArenaBytes, x.o.MemoryBudget, deviceBlock, "arena")
		return err
	}
	if s.shared, err = x.o.Arenas.take(x.dev, s.number, x.plan.ArenaBytes, x.o.MemoryBudget); s.shared != nil {
		s.arena = s.shared.block
	}
	return err
}

func (s *slot) clearArena() error {
	if s.shared != nil {
		return s.shared.clear()
	}
	return s.arena.zero()
}

// complete writes the descriptors and records the command buffers of a slot that has its memory. On an error it
// destroys it.
func (s *slot) complete() (_ *slot, err error) {
	d := s.x.dev
	defer func() {
		if err != nil {
			s.destroy()
			err = d.failure("slot", err)
		}
	}()
	if n := len(s.x.plan.Segments); n > 0 && !d.hostTimed {
		if s.stamps, err = d.dev.NewQueryPool(2 * n); err != nil {
			return nil, err
		}
		s.ticks, s.times = make([]uint64, 2*n), make([]time.Duration, n)
	}
	if s.base, err = s.newRecording(nil, nil); err != nil {
		return nil, err
	}
	return s, nil
}

// emptySlot returns a slot without memory.
func (x *Executable) emptySlot() *slot {
	return &slot{
		x: x, views: newViews(x.dev),
		at: make([]place, len(x.ios)), out: make([][]byte, len(x.plan.Outputs)), aside: make([]place, len(x.ios)),
		fences: make([]fence, len(x.plan.Segments)),
	}
}

// recording returns the recording for inputs and outputs at the places of s.at, made now or before.
// Precondition: no pending work uses s.
func (s *slot) recording() (*recording, error) {
	if !slices.ContainsFunc(s.at, func(p place) bool { return p.memory != nil }) {
		return s.base, nil
	}
	s.uses++
	oldest := 0
	for i, r := range s.others {
		if slices.Equal(r.at, s.at) {
			r.used = s.uses
			return r, nil
		}
		if r.used < s.others[oldest].used {
			oldest = i
		}
	}
	r, err := s.newRecording(s.at, s.base)
	if err != nil {
		return nil, err
	}
	r.used = s.uses
	if len(s.others) < maxRecordings {
		s.others = append(s.others, r)
	} else {
		if s.sampling != nil && s.sampling.of == s.others[oldest] {
			s.sampling.destroy(s.x.dev)
			s.sampling = nil
		}
		s.others[oldest].destroy()
		s.others[oldest] = r
	}
	return r, nil
}

// recordStart orders an execution behind the slot's former one and behind the host's writes.
func (s *slot) recordStart(c *vk.Commands) {
	if s.stamps != 0 {
		c.ResetQueries(s.stamps, 0, len(s.ticks))
	}
	c.Barrier(computeTransfer|vk.StageHost, deviceWrites|vk.AccessHostWrite, computeTransfer, deviceAccess)
	if s.x.dev.poison && s.arena != nil && !s.x.borrowed {
		c.Fill(s.arena.buffer, 0, s.arena.bytes, ^uint32(0))
		c.Barrier(vk.StageTransfer, vk.AccessTransferWrite, computeTransfer, deviceAccess)
	}
}

func (s *slot) stamp(c *vk.Commands, query int) {
	if s.stamps != 0 {
		// At the bottom of the pipe: when all earlier work is done.
		c.Timestamp(s.stamps, query, vk.StageBottom)
	}
}

// destroy frees the slot; nil is ignored. Precondition: no pending work uses it.
func (s *slot) destroy() {
	if s == nil {
		return
	}
	_ = s.cleared()
	s.sampling.destroy(s.x.dev)
	for _, r := range s.others {
		r.destroy()
	}
	s.base.destroy()
	if d := s.x.dev; !d.abandoned() && s.stamps != 0 {
		d.dev.DestroyQueryPool(s.stamps)
	}
	s.views.close()
	if s.x.borrowed {
		return
	}
	s.inputs.free()
	s.host.free()
	if s.shared != nil {
		s.shared.Close()
		return
	}
	s.arena.free()
}
