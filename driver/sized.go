package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/prepare"
	"github.com/nngpu/nngpu/driver/nn"
)

// maxResized is how often an execution runs at most because a buffer must become as large as what it takes: twice suffices
// while nobody changes the inputs.
const maxResized = 4

// errRestless is the error of an execution that never ends with the dimensions that it had before.
var errRestless = errors.New("the outputs have other dimensions each time: the inputs change meanwhile")

// runSized is run of a request some of whose outputs have dimensions that only the data tells. A buffer of open dimensions
// takes what has those that it has already; otherwise it becomes as large, and the execution runs once more.
func (a *execution) runSized(ctx context.Context, res *Result) error {
	for range maxResized {
		a.b.heard = nil
		err := a.run(ctx, res)
		again, err := a.b.settle(err)
		if !again {
			return err
		}
		a.earlier += a.deviceTime()
		a.x, a.continuing, a.part, a.used, a.onDevice = nil, nil, nil, 0, 0
		if a.profiler != nil {
			a.profiler = newProfiler(a.o.profiling)
			a.profiler.isBound()
		}
	}
	return nn.Errorf(nn.StatusGeneralFailure, "execution", "%w", errRestless)
}

// hear notes what x says of the dimensions of the outputs, before it is released.
func (b *boundRequest) hear(x backend.Execution) {
	b.heard = prepare.CloneDims(x.OutputDims())
}

// settle finds the shapes of the outputs from what the execution reported, err being how it ended. It returns err, or what is
// wrong with the report: GENERAL_FAILURE where it contradicts the model, the memory that was bound, or a buffer. again says
// that the execution has to run once more, because buffers had other dimensions; they have the right ones now.
func (b *boundRequest) settle(err error) (again bool, _ error) {
	isShort := nn.StatusOf(err) == nn.StatusOutputInsufficientSize
	if err != nil && !isShort {
		return false, err
	}
	if len(b.heard) != len(b.outputs) {
		return false, nn.Errorf(nn.StatusGeneralFailure, "outputs", "nobody knows their dimensions")
	}
	var short error
	var resized []int
	for i := range b.outputs {
		where, a := fmt.Sprintf("output %d", i), &b.request.Outputs[i]
		o, isSaid, err := b.reportedOutput(i)
		if err != nil {
			return false, err
		}
		size, err := o.ByteSize()
		if err != nil {
			return false, nn.Errorf(nn.StatusGeneralFailure, where, "%w", err)
		}
		x := b.poolOf(a).buffer
		b.shapes[i] = nn.OutputShape{Dims: append(b.shapes[i].Dims[:0], o.Dims...), IsSufficient: true}
		switch {
		case !isSaid && !known(o.Type, o.Dims):
			if !isShort {
				return false, nn.Errorf(nn.StatusGeneralFailure, where, "nobody knows its dimensions: %v%v", o.Type, []uint32(o.Dims))
			}
		case x != nil && size == 0:
			if !isShort {
				err = x.empty(o.Dims)
			}
			if err != nil {
				return false, fmt.Errorf("output %d: %w", i, err)
			}
		case x != nil:
			if b.outputs[i].Memory == nil || !x.shape.Equal(o.Dims) {
				resized = append(resized, i)
			}
		case a.Location.Length < size:
			b.shapes[i].IsSufficient = false
			short = nn.Errorf(nn.StatusOutputInsufficientSize, where, "%d bytes of room; %v%v has %d",
				a.Location.Length, o.Type, []uint32(o.Dims), size)
		default:
			b.trim(i, size)
		}
	}
	switch {
	case !isShort && (short != nil || len(resized) > 0):
		return false, nn.Errorf(nn.StatusGeneralFailure, "outputs", "they were written, but do not fit what is bound: %v", b.heard)
	case !isShort:
		return false, nil
	case short != nil:
		return false, short
	case len(resized) == 0:
		return false, nn.Errorf(nn.StatusGeneralFailure, "outputs", "there is room for what is known of them: %w", err)
	}
	for _, i := range resized {
		if err := b.resizeBuffer(i); err != nil {
			return false, err
		}
	}
	return true, nil
}

// reportedOutput is output i with the dimensions that model, request, buffer and report give together. isSaid: the report has
// them, and 0 among them is a size.
func (b *boundRequest) reportedOutput(i int) (o nn.Operand, isSaid bool, err error) {
	o.Type = b.output(i).Type
	o.Dims = b.computed[i]
	heard, where := b.heard[i], fmt.Sprintf("output %d", i)
	switch {
	case len(heard) == 0:
		return o, false, nil
	case !b.inferred()[i].Admits(heard):
		return o, false, nn.Errorf(nn.StatusGeneralFailure, where, "the device reports dimensions %v, of %v", []uint32(heard), []uint32(b.inferred()[i]))
	case heard.Known():
		o.Dims, err = b.outputDims(i, heard)
	case !o.Dims.Admits(heard): // what request and buffer say of it
		err = nn.Invalid(where, "dimensions %v, of %v: it has no elements", []uint32(heard), []uint32(o.Dims))
	default:
		o.Dims = heard
	}
	return o, true, err
}

// inferred are the dimensions of the outputs as far as they follow from those of the inputs.
func (b *boundRequest) inferred() []nn.Dims {
	return b.model.model.OutputsOf(b.instance)
}

// trim says that output i, where it lies in a file, is that small.
func (b *boundRequest) trim(i int, size uint32) {
	if k := slices.IndexFunc(b.files, func(f fileOutput) bool { return f.index == i }); k >= 0 {
		b.files[k].data = b.files[k].data[:size]
	}
}

// resizeBuffer gives the buffer of output i the dimensions of its shape.
func (b *boundRequest) resizeBuffer(i int) error {
	x := b.poolOf(&b.request.Outputs[i]).buffer
	b.outputs[i] = backend.Binding{}
	if err := x.reserve(b.shapes[i].Dims); err != nil {
		return fmt.Errorf("output %d: %w", i, err)
	}
	b.bindBuffer(i, x)
	return nil
}

// bindBuffer binds output i to what buffer x has of memory, if any.
func (b *boundRequest) bindBuffer(i int, x *Buffer) {
	if x.memory == nil || x.memory.Lost() {
		return
	}
	o := nn.Operand{Type: x.operand.Type, Dims: x.shape}
	size, _ := o.ByteSize() // as it was allocated
	b.outputs[i].Memory, b.outputs[i].Length = x.memory, int64(size)
}
