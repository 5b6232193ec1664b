package driver

import (
	"context"
	"slices"
	"sync"

	"github.com/nngpu/nngpu/driver/nn"
)

// Burst runs a model again and again over memories that stay bound: a request is checked and bound when it first comes,
// and one that names the same places in the same memories needs neither again. One execution at a time. It needs no
// closing, and keeps no memory open.
type Burst struct {
	model   *PreparedModel
	running sync.Mutex

	mu     sync.Mutex
	recent []*burstRequest // guarded by mu; the latest first, at most maxRecent
}

// maxRecent is how many requests a burst remembers: two buffers that change places, for each of two inputs, are four.
const maxRecent = 4

// burstRequest is a request that was bound, and the slots of its pools.
type burstRequest struct {
	execution *execution
	slots     []int32
}

// NoSlot is the slot of a pool without identity: it is bound anew each time.
const NoSlot int32 = -1

// Burst returns a new burst on p.
func (p *PreparedModel) Burst() *Burst { return &Burst{model: p} }

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
	if r == nil || len(slots) != len(r.Pools) {
		return nil, nn.Invalid("burst", "%d slots; there must be one for each pool", len(slots))
	}
	for i, s := range slots {
		if s < NoSlot {
			return nil, nn.Invalid("burst", "slot %d of pool %d", s, i)
		}
	}
	x := b.find(r, slots)
	if x == nil {
		x = &burstRequest{newExecution(b.model, r), slices.Clone(slots)}
	}
	a := x.execution
	if err := a.again(ctx, &executeOptions{}, opts); err != nil {
		return nil, err
	}
	if err := a.p.enter(); err != nil {
		return nil, err
	}
	defer a.p.running.Done()
	res, err := a.execute(ctx, &Result{})
	if res != nil {
		res.Shapes = cloneShapes(res.Shapes)
	}
	if err == nil {
		b.remember(x)
	}
	return res, err
}

// find returns what r was bound as; nil where it was not.
func (b *Burst) find(r *nn.Request, slots []int32) (found *burstRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range b.recent {
		if slices.Equal(x.slots, slots) && x.execution.b.isOf(r) {
			return x
		}
	}
	return nil
}

// remember makes x the latest request.
func (b *Burst) remember(x *burstRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.Index(b.recent, x)
	switch {
	case at == 0:
		return
	case at > 0:
		b.recent = slices.Delete(b.recent, at, at+1)
	case len(b.recent) == maxRecent:
		b.recent = slices.Delete(b.recent, maxRecent-1, maxRecent)
	}
	b.recent = slices.Insert(b.recent, 0, x)
}

// ReleaseMemory forgets what a slot is bound to. A slot that is not bound is fine; INVALID_ARGUMENT below NoSlot.
func (b *Burst) ReleaseMemory(slot int32) error {
	if slot < NoSlot {
		return nn.Invalid("burst", "slot %d", slot)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.recent = slices.DeleteFunc(b.recent, func(x *burstRequest) bool { return slices.Contains(x.slots, slot) })
	return nil
}
