package prepare

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/nngpu/nngpu/driver/internal/budget"
	"github.com/nngpu/nngpu/driver/internal/pools"
	"github.com/nngpu/nngpu/driver/nn"
)

// Source is a model whose constants nobody else can change, so that what was validated is what is hashed, compiled and
// kept: they lie in the process's own memory, in files that are sealed, or in copies. The copies are in the client's
// account until the last holder releases the model; then it is gone. Safe for concurrent use.
type Source struct {
	*nn.Model
	account *budget.Account // nil: nobody's
	of      *Source         // the holder of these constants, held; nil: they are its own
	copied  atomic.Int64    // bytes; 0 once released
	sealed  []pools.Pool    // kept open
	holders atomic.Int32
}

// Own returns m as it is now, held once. Each byte of a constant is copied at most once, and no other bytes are. a pays
// for the copies; nil for nobody. Mistakes in the model itself are left to validate.Model.
//
// Errors: GENERAL_FAILURE if a pool cannot be mapped or read, INVALID_ARGUMENT if one is closed; RESOURCE_EXHAUSTED_*
// of the account.
func Own(m *nn.Model, a *budget.Account) (*Source, error) {
	own := &Source{Model: m, account: a}
	own.holders.Store(1)
	if m == nil || len(m.Pools) == 0 {
		return own, nil
	}
	lists := make([]constants, len(m.Pools))
	ok := false
	defer func() {
		for i := range lists {
			lists[i].pool.Close()
		}
		if !ok {
			own.Release()
		}
	}()
	if err := own.openAll(lists); err != nil {
		return nil, err
	}
	if err := own.copyAll(lists); err != nil {
		return nil, err
	}
	ok = true
	return own, nil
}

// openAll keeps open the pools that are sealed, and opens for copyAll those that are not the process's own, each memory
// once.
func (own *Source) openAll(lists []constants) error {
	first := map[any]int{}
	for i, source := range own.Pools {
		switch source.(type) {
		case nn.BufferToken, nn.HostMemory:
			continue
		}
		if nn.IsNil(source) || source.Size() <= 0 {
			continue
		}
		c := &lists[i]
		x := &c.pool
		x.Source = source
		if err := x.Open(poolOfModel(i)); err != nil {
			return err
		}
		if s, ok := source.(nn.Sealed); ok && s.Sealed() {
			own.sealed = append(own.sealed, *x)
			*x = pools.Pool{}
			continue
		}
		size := source.Size()
		c.index, c.size = uint32(i), size
		if key := identity(source, size); key != nil {
			if at, ok := first[key]; ok {
				c.same = &lists[at]
				continue
			}
			first[key] = i
		}
		if c.from = x.File; x.File == nil {
			c.from, c.size = bytes.NewReader(x.Data), min(size, int64(len(x.Data)))
		}
	}
	return nil
}

// identity is the same for two pools exactly if they are known to be the same bytes; nil if nothing is known.
func identity(m nn.Memory, size int64) any {
	if l, ok := m.(nn.Located); ok {
		type place struct {
			file         [2]uint64
			offset, size int64
		}
		file, offset := l.Place()
		return place{file, offset, size}
	}
	if pools.IsComparable(m) {
		return m
	}
	return nil
}

// poolOfModel names a pool in messages.
func poolOfModel(i int) string { return fmt.Sprintf("pool %d", i) }

// copyAll replaces the pools that have a list by copies of the constants in them.
func (own *Source) copyAll(lists []constants) error {
	if !slices.ContainsFunc(lists, func(c constants) bool { return c.from != nil }) {
		return nil
	}
	own.Model = cloneForConstants(own.Model)
	each(own.Model, func(o *nn.Operand) {
		if at := uint64(o.Location.PoolIndex); o.Lifetime == nn.ConstantReference && at < uint64(len(lists)) {
			lists[at].add(o)
		}
	})
	var total int64
	for i := range lists {
		lists[i].arrange()
		total += lists[i].bytes()
	}
	if err := own.account.Take(total, "constants"); err != nil {
		return err
	}
	own.copied.Store(total)
	for i := range lists {
		c := &lists[i]
		switch {
		case c.same != nil:
			own.Pools[i] = nn.HostMemory(nil)
		case c.from == nil:
		case c.wrong:
			own.Pools[i] = unread(c.size)
		default:
			data, err := c.move()
			if err != nil {
				return nn.Errorf(nn.StatusGeneralFailure, poolOfModel(i), "%w", err)
			}
			own.Pools[i] = data
		}
	}
	return nil
}

// Retain holds the model once more.
func (own *Source) Retain() *Source {
	own.holders.Add(1)
	return own
}

// Release ends what Own or Retain began.
func (own *Source) Release() {
	if own.holders.Add(-1) > 0 {
		return
	}
	for i := range own.sealed {
		own.sealed[i].Close()
	}
	if n := own.copied.Swap(0); n > 0 {
		own.account.Give(n)
	}
	if own.of != nil {
		own.of.Release()
	}
	own.Model, own.sealed, own.of = nil, nil, nil
}

// sharing returns m, which has the constants of own, held once.
func (own *Source) sharing(m *nn.Model) *Source {
	other := &Source{Model: m, of: own.Retain()}
	other.holders.Store(1)
	return other
}

// Held is how many bytes the model has in the client's account; 0 for nil.
func (own *Source) Held() int64 {
	if own == nil {
		return 0
	}
	return own.copied.Load()
}

// cloneForConstants copies the parts of m that moving constants changes.
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

// each calls f for every operand of m.
func each(m *nn.Model, f func(*nn.Operand)) {
	for i := range m.Main.Operands {
		f(&m.Main.Operands[i])
	}
	for i := range m.Referenced {
		for k := range m.Referenced[i].Operands {
			f(&m.Referenced[i].Operands[k])
		}
	}
}

// unread stands for a pool of that many bytes with a constant that does not fit it or its operand. validate.Model
// refuses the model: nothing but constants is read, or has memory allocated for it.
type unread int64

var errUnread = errors.New("constants that do not fit were not read")

func (n unread) Size() int64          { return int64(n) }
func (unread) Bytes() ([]byte, error) { return nil, errUnread }

// constants are those of one pool, which are moved out of it together. Where they overlap, their bytes are moved once.
type constants struct {
	pool  pools.Pool
	from  io.ReaderAt // nil: they stay where they are
	size  int64       // of the pool
	index uint32      // of the pool that they go to
	same  *constants  // those of an earlier pool that is the same memory; nil: there is none
	list  []*nn.Operand
	wrong bool // one of them does not fit
	runs  []run
}

// run is a range of bytes of a pool that all belong to constants.
type run struct {
	from, to uint64
	at       uint64 // where it goes
}

// add notes a constant of the pool.
func (c *constants) add(o *nn.Operand) {
	if c.same != nil {
		c = c.same
	}
	if c.from == nil {
		return
	}
	l := o.Location
	if size, err := o.ByteSize(); err != nil || size != l.Length || uint64(l.Offset)+uint64(l.Length) > uint64(c.size) {
		c.wrong = true
	}
	c.list = append(c.list, o)
}

// arrange says where each byte goes: in the order in which they lie in the pool, so that offsets only become smaller.
func (c *constants) arrange() {
	if c.wrong {
		return
	}
	slices.SortFunc(c.list, func(a, b *nn.Operand) int { return cmp.Compare(a.Location.Offset, b.Location.Offset) })
	for _, o := range c.list {
		from := uint64(o.Location.Offset)
		to := from + uint64(o.Location.Length)
		if n := len(c.runs); n == 0 || from > c.runs[n-1].to {
			c.runs = append(c.runs, run{from, to, uint64(c.bytes())})
		} else {
			c.runs[n-1].to = max(c.runs[n-1].to, to)
		}
	}
}

// bytes is how many bytes are moved. Precondition: arrange.
func (c *constants) bytes() int64 {
	if len(c.runs) == 0 {
		return 0
	}
	last := c.runs[len(c.runs)-1]
	return int64(last.at + last.to - last.from)
}

// move returns a copy of the bytes, and makes the operands refer to it. Preconditions: arrange, and none is wrong.
func (c *constants) move() (nn.HostMemory, error) {
	data := make(nn.HostMemory, c.bytes())
	for _, r := range c.runs {
		if err := pools.Fill(c.from, data[r.at:r.at+r.to-r.from], int64(r.from)); err != nil {
			return nil, err
		}
	}
	runs := c.runs
	for _, o := range c.list {
		for uint64(o.Location.Offset) > runs[0].to {
			runs = runs[1:]
		}
		o.Location.PoolIndex = c.index
		o.Location.Offset = uint32(runs[0].at + uint64(o.Location.Offset) - runs[0].from)
	}
	return data, nil
}
