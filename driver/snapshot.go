package driver

import (
	"slices"

	"github.com/nngpu/nngpu/driver/backend"
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
	bySlot   [4]backend.Memory
	buffers  [2]bufferUse
	bindings [4]backend.Binding
	spans    [8]validate.Span
}

// newBound returns r as it is now, for which nothing was done yet: a client that changes its request while it runs
// gets what it asked for first. The pools stay the client's.
func newBound(p *PreparedModel, r *nn.Request) *boundRequest {
	b := &boundRequest{model: p}
	if r == nil {
		return b // which check refuses
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
		if m, ok := m.(nn.Image); ok && !nn.IsNil(m) {
			b.room.request.Pools[i] = imageAsItIs{m, m.Layout(), m.Texels()}
		}
	}
	b.request = &b.room.request
	return b
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
