package gpu

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// trust is what is known of kernels of families with several variants. On a device that is no software one each must have
// computed once what those of the family's floor compute (compare), which take its place until then; on software devices
// every kernel was tested before it was released. Safe for concurrent use.
type trust struct {
	path, key string // of the record; immutable
	on        bool   // immutable; else all kernels are trusted
	// alter changes what a kernel is compared by, for tests.
	alter func(shaders.Kernel, *plan.Plan)

	mu           sync.Mutex
	right, wrong shaders.Set // guarded by mu
}

// open takes what is on record of d.
func (t *trust) open(d *vulkan.Device, class plan.Class) {
	if class == plan.ClassCPU || selfTestOff() {
		return
	}
	t.on = true
	info := d.Describe()
	t.path, t.key = recordPath(&info, "selftest")
	if r, ok := readVerdict(t.path, t.key); ok {
		t.right, t.wrong = kernelSet(r.Right), kernelSet(r.Wrong)
	}
}

// kernelSet has the kernels of the given names that there are.
func kernelSet(names []string) (s shaders.Set) {
	for _, name := range names {
		if k, ok := shaders.ByName(name); ok {
			s.Add(k)
		}
	}
	return s
}

// varied reports whether k has to be compared before it is trusted.
func varied(k shaders.Kernel) bool {
	key, ok := k.Key().(family.Varied)
	return ok && !key.Floor()
}

// known are the kernels that compute wrongly.
func (t *trust) known() shaders.Set {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wrong
}

// trusted reports whether k may be used.
func (t *trust) trusted(k shaders.Kernel) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.on || !varied(k) || t.right.Has(k) && !t.wrong.Has(k)
}

// avoided are all kernels that are not trusted.
func (t *trust) avoided() (s shaders.Set) {
	for k := shaders.Kernel(1); k.Valid(); k++ {
		if !t.trusted(k) {
			s.Add(k)
		}
	}
	return s
}

// untrusted lists the kernels of p that are not trusted.
func (t *trust) untrusted(p *plan.Plan) (list []shaders.Kernel) {
	for _, x := range p.Pipelines() {
		if !t.trusted(x.Kernel) && !slices.Contains(list, x.Kernel) {
			list = append(list, x.Kernel)
		}
	}
	return list
}

// learn notes what k computes, here and on the record of the self-test, where there is one.
func (t *trust) learn(k shaders.Kernel, right bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if right {
		t.right.Add(k)
	} else {
		t.wrong.Add(k)
	}
	r, ok := readVerdict(t.path, t.key) // as other processes left it
	if !ok {
		return
	}
	list := &r.Wrong
	if right {
		list = &r.Right
	}
	if !slices.Contains(*list, k.String()) {
		*list = append(*list, k.String())
	}
	writeRecord(t.path, &r)
}

// compare learns whether k computes on d what its floor does. It calls pause before each piece of work. The error is for
// what says nothing of k. A kernel that the device fails at is wrong.
func (b *Backend) compare(ctx context.Context, d *vulkan.Device, k shaders.Kernel, pause func(context.Context) error) error {
	t, err := newTrial(&b.facts, k)
	if err != nil {
		return err
	}
	if b.trust.alter != nil {
		b.trust.alter(k, t.variant.plan)
	}
	want, err := t.run(ctx, d, &t.floor, pause)
	if err != nil {
		return err
	}
	got, err := t.run(ctx, d, &t.variant, pause)
	switch status := nn.StatusOf(err); {
	case ctx.Err() != nil:
		return ctx.Err()
	case status == nn.StatusResourceExhaustedTransient || status == nn.StatusResourceExhaustedPersistent || errors.Is(err, nn.ErrClosed):
		return err
	case err != nil || !t.same(want, got):
		b.trust.learn(k, false)
		b.devices.warn("a kernel computes wrongly on this device and is not used", "kernel", k.String(), "error", err)
		if _, lost := d.Lost(); lost != nil {
			return lost
		}
		return nil
	}
	b.trust.learn(k, true)
	return nil
}
