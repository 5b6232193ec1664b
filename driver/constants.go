package driver

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// keepConstants keeps the pools of m open until release is called, and sees that they can be mapped: GENERAL_FAILURE
// where one cannot, INVALID_ARGUMENT for one that is closed. It returns m, or where a pool is an nn.File a copy of m whose
// constants in it were read, once. What is wrong with the model itself is left to validate.Model.
func keepConstants(m *nn.Model) (full *nn.Model, release func(), err error) {
	if m == nil || len(m.Pools) == 0 {
		return m, func() {}, nil
	}
	pools := make([]pool, len(m.Pools))
	closeAll := func() {
		for i := range pools {
			pools[i].close()
		}
	}
	defer func() {
		if release == nil {
			closeAll()
		}
	}()
	full = m
	for i, source := range m.Pools {
		if _, ok := source.(nn.BufferToken); ok || nn.IsNil(source) || source.Size() <= 0 {
			continue
		}
		where := fmt.Sprintf("pool %d", i)
		pools[i].source = source
		err := pools[i].acquire(where)
		if err != nil {
			return nil, nil, err
		}
		if pools[i].file == nil {
			continue
		}
		if full == m {
			full = cloneForConstants(m)
		}
		if err := readConstants(full, uint32(i), pools[i].file); err != nil {
			return nil, nil, nn.Errorf(nn.StatusGeneralFailure, where, "%w", err)
		}
	}
	return full, closeAll, nil
}

// cloneForConstants copies what readConstants changes.
func cloneForConstants(m *nn.Model) *nn.Model {
	full := *m
	full.Pools = slices.Clone(m.Pools)
	full.Main.Operands = slices.Clone(m.Main.Operands)
	full.Referenced = slices.Clone(m.Referenced)
	for i := range full.Referenced {
		full.Referenced[i].Operands = slices.Clone(m.Referenced[i].Operands)
	}
	return &full
}

// place is where constants lie in a pool.
type place struct{ offset, length uint32 }

// source is what constants are read from: an nn.File, or bytes.
type source interface {
	Size() int64
	io.ReaderAt
}

// ownConstants returns m, or where constants lie in memory that others may write a copy of m that has them to itself,
// as they were when each was read. Precondition: m passed keepConstants and validate.Model.
func ownConstants(m *nn.Model) (*nn.Model, error) {
	full := m
	for i, p := range m.Pools {
		if _, ok := p.(nn.HostMemory); ok {
			continue
		}
		data, err := p.Bytes()
		if err == nil {
			if full == m {
				full = cloneForConstants(m)
			}
			err = readConstants(full, uint32(i), bytes.NewReader(data))
		}
		if err != nil {
			return nil, nn.Errorf(nn.StatusGeneralFailure, fmt.Sprintf("pool %d", i), "%w", err)
		}
	}
	return full, nil
}

// readConstants replaces the pool of m at index, which is f, by host memory that has the constants of the pool,
// each place once, or all between the first and the last where that is less.
func readConstants(m *nn.Model, index uint32, f source) error {
	graphs := []*nn.Graph{&m.Main}
	for i := range m.Referenced {
		graphs = append(graphs, &m.Referenced[i])
	}
	var list []*nn.Operand
	places := map[place]uint32{} // where they go
	first, last, sum := uint64(1)<<62, uint64(0), uint64(0)
	for _, g := range graphs {
		for i := range g.Operands {
			o := &g.Operands[i]
			if o.Lifetime != nn.ConstantReference || o.Location.PoolIndex != index {
				continue
			}
			l := o.Location
			if size, err := o.ByteSize(); err != nil || size != l.Length || uint64(l.Offset)+uint64(l.Length) > uint64(f.Size()) {
				return nil // validate.Model refuses it: nothing is read, or made room for, that is no constant
			}
			list = append(list, o)
			at := place{l.Offset, l.Length}
			if _, ok := places[at]; !ok {
				places[at] = uint32(sum) // checked below
				sum += uint64(l.Length)
				first, last = min(first, uint64(l.Offset)), max(last, uint64(l.Offset)+uint64(l.Length))
			}
		}
	}
	if len(list) == 0 {
		m.Pools[index] = nn.HostMemory(nil)
		return nil
	}
	if extent := last - first; sum >= extent || sum > 1<<32-1 {
		data := make([]byte, extent)
		if err := fill(f, data, int64(first)); err != nil {
			return err
		}
		m.Pools[index] = nn.HostMemory(data)
		for _, o := range list {
			o.Location.Offset -= uint32(first)
		}
		return nil
	}
	data := make([]byte, sum)
	for at, to := range places {
		if err := fill(f, data[to:uint64(to)+uint64(at.length)], int64(at.offset)); err != nil {
			return err
		}
	}
	m.Pools[index] = nn.HostMemory(data)
	for _, o := range list {
		o.Location.Offset = places[place{o.Location.Offset, o.Location.Length}]
	}
	return nil
}
