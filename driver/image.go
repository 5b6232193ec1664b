package driver

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// maxConverters bounds the images and tensors that a device remembers how to convert.
const maxConverters = 32

// imageTable has what makes tensors of images. The zero value is empty.
type imageTable struct {
	mu      sync.Mutex
	entries map[imageKey]*converter // guarded by mu
}

// imageKey is what a converter depends on.
type imageKey struct {
	layout nn.ImageLayout
	typ    nn.OperandType
	dims   [4]uint32
	scale  float32
	zero   int32
}

type converter struct {
	uses int        // guarded by imageTable.mu
	mu   sync.Mutex // held while it is compiled
	exe  backend.Executable
}

// get returns the converter of images of the given layout to o, until put is called. Precondition: the rank of o is 4.
func (t *imageTable) get(ctx context.Context, b backend.Imager, layout nn.ImageLayout, o *nn.Operand) (exe backend.Executable, put func(), err error) {
	key := imageKey{layout: layout, typ: o.Type, dims: [4]uint32(o.Dims), scale: o.Scale, zero: o.ZeroPoint}
	t.mu.Lock()
	e := t.entries[key]
	var unused backend.Executable
	if e == nil {
		e = &converter{}
		if t.entries == nil {
			t.entries = map[imageKey]*converter{}
		}
		unused = t.evict()
		t.entries[key] = e
	}
	e.uses++
	t.mu.Unlock()
	put = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		e.uses--
	}
	if unused != nil {
		_ = unused.Close()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.exe == nil {
		if e.exe, err = b.CompileImage(ctx, layout, o, backend.Options{}); err != nil {
			e.exe = nil
			put()
			return nil, nil, err
		}
	}
	return e.exe, put, nil
}

// evict makes room for an entry where there is none, and returns what to close. Precondition: mu is held.
func (t *imageTable) evict() backend.Executable {
	if len(t.entries) < maxConverters {
		return nil
	}
	for key, e := range t.entries {
		if e.uses == 0 {
			delete(t.entries, key)
			return e.exe // nobody compiles it: uses counts who does
		}
	}
	return nil
}

// close frees all converters. Precondition: nobody uses them.
func (t *imageTable) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, e := range t.entries {
		if e.exe != nil {
			errs = append(errs, e.exe.Close())
		}
	}
	t.entries = nil
	return errors.Join(errs...)
}

// convertImage has the device make input i of the image in x, which takes its turn like any execution.
func (b *boundRequest) convertImage(ctx context.Context, to *backend.Binding, x *pool, i int) error {
	d := b.model.client.device
	imager, ok := d.backend.(backend.Imager)
	if !ok {
		return nn.Errorf(nn.StatusGeneralFailure, "image", "the device reads no images")
	}
	o := b.model.signature.Main.Operands[b.model.signature.Main.Inputs[i]]
	o.Dims = b.dims.InputDims[i]
	exe, put, err := d.images.get(ctx, imager, *x.image, &o)
	if err != nil {
		return generalFailure("image", err)
	}
	defer put()
	tensor, err := imager.Allocate(o.Type, o.Dims, 0)
	if err != nil {
		return generalFailure("image", err)
	}
	if err := b.model.client.take(tensor.Bytes(), "image"); err != nil {
		return errors.Join(err, tensor.Close())
	}
	b.images = append(b.images, tensor) // released with the request
	to.Memory = tensor
	var texels backend.Binding
	if err := b.placeTexels(&texels, x); err != nil {
		return err
	}
	return b.runConverter(ctx, exe, texels, backend.Binding{Memory: tensor})
}

// placeTexels binds the bytes of an image, which may be more than 32 bits can count.
func (b *boundRequest) placeTexels(to *backend.Binding, x *pool) (err error) {
	n := x.image.Bytes()
	if x.file != nil {
		to.Host = make([]byte, n)
		b.copied += n
		if err := fill(x.file, to.Host, 0); err != nil {
			return nn.Errorf(nn.StatusGeneralFailure, "image", "%w", err)
		}
		return nil
	}
	if to.Memory, err = b.importPool(x); to.Memory == nil {
		to.Host = x.data[:n:n]
	}
	return err
}

func (b *boundRequest) runConverter(ctx context.Context, exe backend.Executable, from, to backend.Binding) error {
	var x backend.Execution
	defer func() {
		if x != nil {
			x.Release()
		}
	}()
	segments := exe.Estimates()
	job := qos.Job{
		Priority: b.model.priority, Segments: segments,
		Begin: func(ctx context.Context) (err error) {
			x, err = exe.Begin(ctx, []backend.Binding{from}, []backend.Binding{to})
			return err
		},
		Submit: func(first, last int) (qos.Fence, error) { return x.Submit(first, last) },
	}
	if _, err := b.model.client.queue.Run(ctx, &job); err != nil {
		return fmt.Errorf("image: %w", err)
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
