package driver

import (
	"context"
	"sync"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// Burst runs a model again and again over memories that stay bound: what the device had to do to use a memory where
// it is was done when a slot first named it. One execution at a time. It needs no closing, and keeps no memory open.
type Burst struct {
	model   *PreparedModel
	running sync.Mutex

	mu    sync.Mutex
	slots map[int32]slot // guarded by mu
}

// slot is a memory that was bound.
type slot struct {
	source   nn.Memory
	imported backend.Memory
}

// NoSlot is the slot of a pool without identity: it is bound anew each time.
const NoSlot int32 = -1

// Burst returns a new burst on p.
func (p *PreparedModel) Burst() *Burst {
	return &Burst{model: p, slots: map[int32]slot{}}
}

// Execute is PreparedModel.Execute. slots has one number for each pool of r: NoSlot, or 0 and above for one that
// identifies its memory from call to call. A slot that is seen with another memory than before is bound to that one.
//
// Errors: those of PreparedModel.Execute; GENERAL_FAILURE while another execution of the burst goes on; INVALID_ARGUMENT
// for a list of another length or with numbers below NoSlot.
func (b *Burst) Execute(ctx context.Context, r *nn.Request, slots []int32, opts ...ExecuteOption) (*Result, error) {
	if !b.running.TryLock() {
		return nil, &nn.Error{Status: nn.StatusGeneralFailure, Where: "burst", Err: errRunning}
	}
	defer b.running.Unlock()
	return b.model.Execute(ctx, r, append(opts[:len(opts):len(opts)], func(o *executeOptions) {
		o.bind = func(ctx context.Context, r *nn.Request, a *attempt) (*boundRequest, error) {
			return b.bind(ctx, r, a, slots)
		}
	})...)
}

// bind is PreparedModel.bind with what the slots know.
func (b *Burst) bind(ctx context.Context, r *nn.Request, a *attempt, slots []int32) (*boundRequest, error) {
	x := newBound(b.model, r)
	if x.request == nil || len(slots) != len(x.request.Pools) {
		return nil, nn.Invalid("burst", "%d slots; there must be one for each pool", len(slots))
	}
	x.bySlot = resize(x.room.bySlot[:], len(slots))
	b.mu.Lock()
	for i, s := range slots {
		if s < NoSlot {
			b.mu.Unlock()
			return nil, nn.Invalid("burst", "slot %d of pool %d", s, i)
		}
		if old, ok := b.slots[s]; ok && sameMemory(old.source, x.request.Pools[i]) {
			x.bySlot[i] = old.imported
		}
	}
	b.mu.Unlock()
	x, err := x.start(ctx, a)
	if err != nil {
		return x, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, s := range slots {
		switch m := x.pools[i].imported; {
		case s < 0:
		case m != nil:
			b.slots[s] = slot{x.request.Pools[i], m}
		default:
			delete(b.slots, s) // there is nothing to remember
		}
	}
	return x, nil
}

// ReleaseMemory forgets what a slot is bound to. A slot that is not bound is fine; INVALID_ARGUMENT below NoSlot.
func (b *Burst) ReleaseMemory(slot int32) error {
	if slot < NoSlot {
		return nn.Invalid("burst", "slot %d", slot)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.slots, slot)
	return nil
}
