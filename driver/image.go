package driver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/pools"
	"github.com/nngpu/nngpu/driver/internal/prepare"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

const (
	// maxConverters bounds the kinds of images that a prepared model remembers how to convert.
	maxConverters = 8
	// maxTensors bounds the tensors that are kept for the next images of a kind: as many as executions run at once
	// on a device.
	maxTensors = 4
)

// imageTable has what makes inputs of one prepared model of images, so that the next image of the same kind finds
// all that it needs. All of it is in the client's account. The zero value is empty.
type imageTable struct {
	mu      sync.Mutex
	entries map[imageKey]*converter // guarded by mu
	clock   uint64                  // guarded by mu; counts calls of enter
}

// imageKey is what a converter depends on.
type imageKey struct {
	layout nn.ImageLayout
	typ    nn.OperandType
	dims   [4]uint32
	scale  uint32 // its bits
	zero   int32
}

type converter struct {
	uses int              // guarded by imageTable.mu
	used uint64           // guarded by imageTable.mu; when it was last entered
	free []backend.Memory // guarded by imageTable.mu; tensors that nobody uses
	// expected is guarded by imageTable.mu: the time of each segment of exe, nil before it is there.
	expected []time.Duration

	compiling sync.Mutex
	exe       backend.Executable // set once, under compiling; read by who has entered
	bytes     int64              // of exe, in the client's account
}

func imageKeyOf(layout nn.ImageLayout, o *nn.Operand) imageKey {
	return imageKey{layout, o.Type, [4]uint32(o.Dims), math.Float32bits(o.Scale), o.ZeroPoint}
}

// expected is what converting such an image is expected to take, by segments; nil where nothing is known.
func (t *imageTable) expected(key imageKey) []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.entries[key]; c != nil {
		return c.expected
	}
	return nil
}

// expect says what expected returns for the images of c.
func (t *imageTable) expect(c *converter, segments []time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.expected = segments
}

// enter returns the entry of key, which stays until leave is called, and what to close instead.
func (t *imageTable) enter(key imageKey) (c *converter, unused []*converter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clock++
	if c = t.entries[key]; c == nil {
		unused = t.evict()
		c = &converter{}
		if t.entries == nil {
			t.entries = map[imageKey]*converter{}
		}
		t.entries[key] = c
	}
	c.uses++
	c.used = t.clock
	return c, unused
}

// evict takes out the entries that make room for one more, those first that were not used for longest. Entries in
// use stay. Precondition: mu is held.
func (t *imageTable) evict() (unused []*converter) {
	for len(t.entries) >= maxConverters {
		var oldest *converter
		var at imageKey
		for key, c := range t.entries {
			if c.uses == 0 && (oldest == nil || c.used < oldest.used) {
				oldest, at = c, key
			}
		}
		if oldest == nil {
			break
		}
		delete(t.entries, at)
		unused = append(unused, oldest)
	}
	return unused
}

// trim takes out all that nobody uses; of an entry in use, its other tensors.
func (t *imageTable) trim() (unused []*converter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, c := range t.entries {
		if c.uses == 0 {
			delete(t.entries, key)
			unused = append(unused, c)
		} else if len(c.free) > 0 {
			unused = append(unused, &converter{free: c.free})
			c.free = nil
		}
	}
	return unused
}

// take returns a tensor of c that nobody uses; nil where there is none.
func (t *imageTable) take(c *converter) backend.Memory {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(c.free)
	if n == 0 {
		return nil
	}
	m := c.free[n-1]
	c.free = c.free[:n-1]
	return m
}

// leave undoes enter and keeps m, a tensor of c or nil, for others. It reports whether it did, else m is to be freed.
func (t *imageTable) leave(c *converter, m backend.Memory) (kept bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.uses--
	if m == nil || len(c.free) >= maxTensors {
		return false
	}
	c.free = append(c.free, m)
	return true
}

// closeImages frees all that p keeps to convert images. Precondition: no execution goes on.
func (p *PreparedModel) closeImages() { p.freeConverters(p.images.trim()) }

// freeConverters frees what is in no table any more and not in use, and reports whether there is any.
func (p *PreparedModel) freeConverters(list []*converter) bool {
	for _, c := range list {
		for _, m := range c.free {
			p.freeTensor(m)
		}
		if c.exe != nil {
			_ = c.exe.Close()
			p.client.memory.Give(c.bytes)
		}
	}
	return len(list) > 0
}

// freeTensor frees memory that is in the client's account.
func (p *PreparedModel) freeTensor(m backend.Memory) {
	bytes := m.Bytes()
	_ = m.Close()
	p.client.memory.Give(bytes)
}

// imageTensor is the tensor that an image became, for one execution.
type imageTensor struct {
	of     *converter
	memory backend.Memory
}

// takeTensor returns the executable for images of the given layout and a tensor like o, of rank 4, for its output,
// both until giveTensor is called. Where there is no memory for them, what the model keeps for other images goes.
func (p *PreparedModel) takeTensor(ctx context.Context, layout nn.ImageLayout, o *nn.Operand) (imageTensor, error) {
	c, unused := p.images.enter(imageKeyOf(layout, o))
	p.freeConverters(unused)
	x, err := p.makeTensor(ctx, c, layout, o)
	if s := nn.StatusOf(err); s == nn.StatusResourceExhaustedTransient || s == nn.StatusResourceExhaustedPersistent {
		if p.freeConverters(p.images.trim()) {
			x, err = p.makeTensor(ctx, c, layout, o)
		}
	}
	if err != nil {
		p.images.leave(c, nil)
		return x, generalFailure("image", err)
	}
	return x, nil
}

// makeTensor makes what c lacks.
func (p *PreparedModel) makeTensor(ctx context.Context, c *converter, layout nn.ImageLayout, o *nn.Operand) (imageTensor, error) {
	if err := p.compileImage(ctx, c, layout, o); err != nil {
		return imageTensor{}, err
	}
	for m := p.images.take(c); m != nil; m = p.images.take(c) {
		if !m.Lost() {
			return imageTensor{c, m}, nil
		}
		p.freeTensor(m)
	}
	m, err := p.client.device.backend.Allocate(o.Type, o.Dims, 0)
	if err != nil {
		return imageTensor{}, err
	}
	if err := p.client.memory.Take(m.Bytes(), "image"); err != nil {
		return imageTensor{}, errors.Join(err, m.Close())
	}
	return imageTensor{c, m}, nil
}

// compileImage makes the executable of c, if it has none.
func (p *PreparedModel) compileImage(ctx context.Context, c *converter, layout nn.ImageLayout, o *nn.Operand) error {
	c.compiling.Lock()
	defer c.compiling.Unlock()
	if c.exe != nil {
		return nil
	}
	exe, err := p.client.device.backend.CompileImage(ctx, layout, o, backend.Options{})
	if err != nil {
		return err
	}
	stats := exe.Stats()
	bytes := stats.ArenaBytes + stats.WeightBytes
	if err := p.client.memory.Take(bytes, "image"); err != nil {
		return errors.Join(err, exe.Close())
	}
	c.exe, c.bytes = exe, bytes
	p.images.expect(c, exe.Estimates())
	return nil
}

// giveTensor undoes takeTensor. Precondition: no execution borrows the tensor.
func (p *PreparedModel) giveTensor(x imageTensor) {
	if !p.images.leave(x.of, x.memory) {
		p.freeTensor(x.memory)
	}
}

// conversions has the expected times of making inputs of images, by segments, as far as such were made before.
// Precondition: check was called.
func (b *boundRequest) conversions() (list []time.Duration) {
	for i := range b.request.Inputs {
		a := &b.request.Inputs[i]
		if a.HasNoValue || b.poolOf(a).image == nil || len(b.dims.InputDims[i]) != 4 {
			continue
		}
		o := *b.input(i)
		o.Dims = b.dims.InputDims[i]
		list = append(list, b.model.images.expected(imageKeyOf(*b.poolOf(a).image, &o))...)
	}
	return list
}

// convertImage has the device make input i of the image in x, which takes its turn like any execution.
func (b *boundRequest) convertImage(ctx context.Context, to *backend.Binding, x *pool, i int) error {
	p := b.model
	o := *b.input(i)
	o.Dims = b.inputDims[i]
	ctx, cancel := prepare.WithDeadline(ctx, b.execution.o.deadline)
	defer cancel()
	tensor, err := p.takeTensor(ctx, *x.image, &o)
	if err != nil {
		return err
	}
	b.images = append(b.images, tensor) // given back by release
	size, err := o.ByteSize()
	if err != nil {
		return nn.Invalid("image", "%w", err)
	}
	to.Memory, to.Length = tensor.memory, int64(size)
	var texels backend.Binding
	if err := b.placeTexels(&texels, x); err != nil {
		return err
	}
	return b.runConverter(ctx, tensor.of.exe, texels, *to)
}

// placeTexels binds the bytes of an image, which may be more than 32 bits can count.
func (b *boundRequest) placeTexels(to *backend.Binding, x *pool) error {
	n := x.image.Bytes()
	if x.File != nil {
		to.Host = make([]byte, n)
		b.copied += n
		if err := pools.Fill(x.File, to.Host, 0); err != nil {
			return nn.Errorf(nn.StatusGeneralFailure, "image", "%w", err)
		}
		return nil
	}
	if err := b.model.client.device.pools.Import(&x.Pool); err != nil {
		return err
	}
	if x.Imported != nil {
		to.Memory, to.Length = x.Imported, n
	} else {
		to.Host = x.Data[:n:n]
	}
	return nil
}

// runConverter runs exe from one place to another, in its turn.
func (b *boundRequest) runConverter(ctx context.Context, exe backend.Executable, from, to backend.Binding) error {
	var x backend.Execution
	defer func() {
		if x != nil {
			x.Release()
		}
	}()
	segments := exe.Estimates()
	b.execution.converting += total(segments)
	job := qos.Job{
		Priority: b.execution.priority(), Segments: segments,
		Begin: func(ctx context.Context) (err error) {
			x, err = exe.Begin(ctx, []backend.Binding{from}, []backend.Binding{to})
			return err
		},
		Submit: func(first, last int) (qos.Fence, error) { return x.Submit(first, last) },
	}
	if _, err := b.model.client.queue.Run(ctx, &job); err != nil {
		return fmt.Errorf("image: %w", b.execution.verdict(err))
	}
	if err := x.Finish(); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	t := x.Traffic()
	b.copied += t.Copied
	b.converted += t.Converted
	return nil
}

// generalFailure is err, of a device that was asked for what the client may want: INVALID_ARGUMENT is not the
// client's then.
func generalFailure(where string, err error) error {
	if nn.StatusOf(err) == nn.StatusInvalidArgument {
		return &nn.Error{Status: nn.StatusGeneralFailure, Where: where, Err: err}
	}
	return err
}
