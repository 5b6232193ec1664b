package live

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/memory"
	"github.com/nngpu/nngpu/qos"
)

// slot is the memory of one frame: what is written, what of it stays on the device, and what the host reads.
type slot struct {
	texels  *memory.Image
	view    *driver.Buffer
	input   *driver.Buffer
	outputs []*driver.Buffer // nil for those that the host reads
	results [][]byte         // those; nil for the others
	feed    nn.Request
	network nn.Request
	done    time.Time // when the results were there
}

// argument adds a pool to a request, and is the argument for all of it: host memory of n bytes, or an image or buffer with n = 0.
func argument(r *nn.Request, m nn.Memory, n int) nn.RequestArgument {
	r.Pools = append(r.Pools, m)
	return nn.RequestArgument{Location: nn.Location{PoolIndex: uint32(len(r.Pools) - 1), Length: uint32(n)}}
}

func host(r *nn.Request, b []byte) nn.RequestArgument { return argument(r, nn.HostMemory(b), len(b)) }

func (x *session) newSlot() (_ *slot, err error) {
	s := &slot{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	w, h := uint32(x.source.Width), uint32(x.source.Height)
	pool, err := memory.NewHardwareBuffer("frame", memory.Descriptor{Width: w, Height: h, Layers: 1, Stride: w, Format: memory.FormatRGBA8})
	if err != nil {
		return s, err
	}
	s.texels = pool.(*memory.Image) // as of all formats but that of bytes
	role := func(m *driver.PreparedModel, i int) []driver.BufferRole {
		return []driver.BufferRole{{Model: m, Index: i, Probability: 1}}
	}
	if s.view, err = x.client.Allocate(driver.BufferDesc{}, role(x.drawer.model, 0), role(x.feed, feedView)); err != nil {
		return s, err
	}
	if s.input, err = x.client.Allocate(driver.BufferDesc{}, role(x.network, x.Input), role(x.feed, feedInput)); err != nil {
		return s, err
	}
	s.feed.Inputs = []nn.RequestArgument{argument(&s.feed, s.texels, 0)}
	s.feed.Outputs = []nn.RequestArgument{argument(&s.feed, s.view.Token(), 0), argument(&s.feed, s.input.Token(), 0)}
	for i, v := range x.Others {
		if i == x.Input {
			s.network.Inputs = append(s.network.Inputs, argument(&s.network, s.input.Token(), 0))
		} else {
			s.network.Inputs = append(s.network.Inputs, host(&s.network, v))
		}
	}
	read := x.Kind.read()
	for i, v := range x.network.NewOutputs() {
		if slices.Contains(read, i) {
			s.outputs, s.results = append(s.outputs, nil), append(s.results, v)
			s.network.Outputs = append(s.network.Outputs, host(&s.network, v))
			continue
		}
		var drawn []driver.BufferRole
		if i == 0 {
			drawn = x.drawer.resultRole()
		}
		b, err := x.client.Allocate(driver.BufferDesc{}, drawn, role(x.network, i))
		if err != nil {
			return s, err
		}
		s.outputs, s.results = append(s.outputs, b), append(s.results, nil)
		s.network.Outputs = append(s.network.Outputs, argument(&s.network, b.Token(), 0))
	}
	return s, nil
}

// close frees the memory that is not the client's.
func (s *slot) close() {
	if s.texels != nil {
		_ = s.texels.Close() // memory of ours that nobody else has
	}
}

// compute makes the results of the picture in s. deadline is zero for none.
func (x *session) compute(ctx context.Context, s *slot, deadline time.Time) error {
	opts := []driver.ExecuteOption{driver.WithProfile()}
	if !deadline.IsZero() {
		opts = append(opts, driver.WithDeadline(deadline))
	}
	fed, err := x.feed.Execute(ctx, &s.feed, opts...)
	x.lost.note(err)
	if err != nil {
		return err
	}
	res, err := x.network.Execute(ctx, &s.network, opts...)
	x.lost.note(err)
	if err != nil {
		return err
	}
	s.done = time.Now()
	x.history.ran(drawLane, fed)
	x.history.ran(networkLane, res)
	for _, r := range s.results {
		x.history.moved.read.Add(int64(len(r)))
	}
	return nil
}

// outcome is how a frame ended.
type outcome uint8

const (
	met     outcome = iota // with a result in time
	late                   // with a result behind its deadline
	missed                 // given up on the way
	refused                // before any work, because of the deadline or of a full queue
)

// outcomeOf tells how a frame ended from the error of its executions and the time that it took; err is what is no outcome.
func outcomeOf(err error, took, deadline time.Duration) (_ outcome, _ error) {
	switch status := nn.StatusOf(err); {
	case err == nil && deadline > 0 && took > deadline:
		return late, nil
	case err == nil:
		return met, nil
	case errors.Is(err, context.Canceled):
		return 0, err
	case status == nn.StatusResourceExhaustedTransient, errors.Is(err, qos.ErrRefused):
		return refused, nil
	case status == nn.StatusMissedDeadlineTransient, status == nn.StatusMissedDeadlinePersistent:
		return missed, nil
	}
	return 0, err
}
