package gpu

import (
	"context"
	"slices"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

// frame is what one execution needs for itself beside the slots of its regions.
type frame struct {
	number  int              // of its arena, in all regions
	numbers chan<- int       // which number goes back to
	arena   *vulkan.Arena    // held, so that regions find the memory
	memory  []backend.Memory // by value; nil where that has none
	words   [][]byte         // by value; conditions and parameters
	spare   []*tensorMemory  // of values with open dimensions; the latest last
}

// maxFrames bounds the executions of a tree that are under way at once. Each way of binding a region's inputs and outputs is
// recorded once for each slot, and loops have several.
const maxFrames = 2

// newFrame takes the memory of an execution.
func (x *tree) newFrame(ctx context.Context) (_ *frame, err error) {
	d, err := x.b.devices.use()
	if err != nil {
		return nil, err
	}
	defer d.Release()
	t := x.model
	f := &frame{number: <-x.numbers, numbers: x.numbers, memory: make([]backend.Memory, len(t.Values)), words: make([][]byte, len(t.Values))}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if f.arena, err = x.arenas.Hold(d, f.number, x.o.MemoryBudget); err != nil {
		return nil, err
	}
	for i := range t.Values {
		v := &t.Values[i]
		if v.Place == compile.InWord && !v.IsOpen() {
			n, _ := v.ByteSize() // which validation has computed
			f.words[i] = make([]byte, n)
		}
		if v.Place != compile.InMemory && v.Place != compile.InConstant || v.IsOpen() {
			continue
		}
		m, err := x.b.Allocate(v.Type, v.Dims, x.o.MemoryBudget)
		if err == nil {
			f.memory[i] = m
			if v.Place == compile.InConstant {
				err = m.Write(ctx, v.Data)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *frame) close() {
	if f == nil {
		return
	}
	for _, m := range f.memory {
		if m != nil {
			_ = m.Close() // which only says that there is nothing to do
		}
	}
	f.dropSpare(0)
	f.arena.Close()
	f.numbers <- f.number
}

// lost reports that what f holds went with its device.
func (f *frame) lost() bool {
	lost := func(m backend.Memory) bool { return m != nil && m.Lost() }
	return f.arena.Lost() || slices.ContainsFunc(f.memory, lost) || slices.ContainsFunc(f.spare, func(s *tensorMemory) bool { return lost(s.Memory) })
}

// takeFrame returns a frame that nobody uses, until it is given back. Where the memory of one was lost, it makes it anew.
func (x *tree) takeFrame(ctx context.Context) (*frame, error) {
	f, err := x.frames.Take(ctx)
	if err != nil || f != nil && !f.lost() {
		return f, err
	}
	f.close()
	if f, err = x.newFrame(ctx); err != nil {
		x.frames.Give(nil)
		return nil, err
	}
	return f, nil
}
