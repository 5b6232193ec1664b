package driver

import (
	"slices"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/pools"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// room is what binding a request of usual size takes, in one piece with the boundRequest: small allocations would
// be a good part of what an execution of a small network costs the host. Larger requests allocate.
type room struct {
	request  nn.Request
	args     [4]nn.RequestArgument
	memories [4]nn.Memory
	pools    [4]pool
	buffers  [2]bufferUse
	bindings [4]backend.Binding
	spans    [8]validate.Span
	dims     [2]nn.Dims
}

// reset makes b, which is empty, r as it is now, for which nothing was done yet: a client that changes its request while
// it runs gets what it asked for first. The pools stay the client's.
func (b *boundRequest) reset(p *PreparedModel, r *nn.Request) {
	if b.model = p; r == nil {
		return // check refuses it
	}
	given := *r
	args := append(append(b.room.args[:0], given.Inputs...), given.Outputs...)
	for i := range args {
		if len(args[i].Dims) > 0 {
			args[i].Dims = slices.Clone(args[i].Dims)
		}
	}
	n := len(given.Inputs)
	b.room.request = nn.Request{Inputs: args[:n:n], Outputs: args[n:], Pools: append(b.room.memories[:0], given.Pools...)}
	for i, m := range b.room.request.Pools {
		b.room.request.Pools[i] = asItIs(m)
	}
	b.request = &b.room.request
}

// isOf reports whether r asks for the same: the same places in the same memories.
func (b *boundRequest) isOf(r *nn.Request) bool {
	same := func(x, y nn.RequestArgument) bool {
		return x.HasNoValue == y.HasNoValue && x.Location == y.Location && x.Dims.Equal(y.Dims)
	}
	return slices.EqualFunc(b.request.Inputs, r.Inputs, same) && slices.EqualFunc(b.request.Outputs, r.Outputs, same) &&
		slices.EqualFunc(b.request.Pools, r.Pools, func(x, y nn.Memory) bool {
			if x, ok := x.(nn.HostMemory); ok {
				y, ok := y.(nn.HostMemory)
				return ok && len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
			}
			return pools.Same(x, asItIs(y))
		})
}

// asItIs is m, and an image with what it says now.
func asItIs(m nn.Memory) nn.Memory {
	if i, ok := m.(nn.Image); ok && !nn.IsNil(m) {
		return imageAsItIs{i, i.Layout(), i.Texels()}
	}
	return m
}

// imageAsItIs is an image with what it said when the request came: a client's own may say something else each time that
// it is asked. Comparable where the image is.
type imageAsItIs struct {
	nn.Memory
	layout nn.ImageLayout
	texels nn.Memory
}

// Layout implements nn.Image.
func (i imageAsItIs) Layout() nn.ImageLayout { return i.layout }

// Texels implements nn.Image.
func (i imageAsItIs) Texels() nn.Memory { return i.texels }

// resize returns room if it is large enough, else a new slice, of n elements.
func resize[T any](room []T, n int) []T {
	if n <= len(room) {
		return room[:n:n]
	}
	return make([]T, n)
}
