package gpu

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

var _ backend.Storer = (*tree)(nil)

// Store implements backend.Storer. Regions whose constants come out the same have them once.
//
// Errors: also where the tree is one that is not stored, for its size or for regions that have no plan yet.
func (x *tree) Store() (model, data []byte, err error) {
	if err := x.canStore(); err != nil {
		return nil, nil, err
	}
	weights, seen := make([]int, len(x.parts)), map[[sha256.Size]byte]int{}
	regions, _ := x.model.Order()
	for _, s := range regions {
		b, err := x.parts[s.Index].Weights()
		if err != nil {
			return nil, nil, fmt.Errorf("store: %w", err)
		}
		sum := sha256.Sum256(b)
		n, ok := seen[sum]
		if !ok {
			n = len(seen)
			seen[sum] = n
			data = append(data, b...)
		}
		weights[s.Index] = n
	}
	for i := range x.model.Values {
		data = append(data, x.model.Values[i].Data...)
	}
	x.weights.Store(&weights)
	model, err = x.StoreModel()
	return model, data, err
}

// canStore is an error where x cannot be stored.
func (x *tree) canStore() error {
	if !x.o.Storable {
		return errNotStorable
	}
	facts := x.b.current()
	if err := x.model.Verify(&facts); err != nil {
		return fmt.Errorf("this control flow is not stored: %w", err)
	}
	for _, p := range x.parts {
		if err := p.open(); err != nil {
			return err
		}
	}
	return nil
}

// StoreModel implements backend.Storer. Precondition: x was stored or restored.
func (x *tree) StoreModel() ([]byte, error) {
	if err := x.canStore(); err != nil {
		return nil, err
	}
	weights := x.weights.Load()
	if weights == nil {
		return nil, errors.New("the model was not stored before")
	}
	return x.b.storeSections(sectionTree, compile.EncodeTree(x.model, *weights), x.encodeEstimates())
}

// SetEstimates implements backend.Storer. What regions behind the first one took, the tree knows by itself.
func (x *tree) SetEstimates(list []time.Duration) {
	if p, ok := x.first(x.model.Main).(*part); ok {
		p.SetEstimates(list)
		p.ratio.Store(0)
	}
}

// encodeEstimates: of the regions in the order of the encoding, then 8 bytes for each loop, least significant first: how
// many iterations are expected and one, 0 where it never ran.
func (x *tree) encodeEstimates() (b []byte) {
	regions, loops := x.model.Order()
	for _, s := range regions {
		p := x.parts[s.Index]
		list := slices.Clone(p.Estimates())
		for i, d := range list {
			list[i] = max(asDuration(float64(d)*p.factor()), 1)
		}
		b = append(b, encodeEstimates(list)...)
	}
	for _, l := range loops {
		known := 0
		if n, ok := x.loops[l.Index].known(); ok {
			known = n + 1
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(known))
	}
	return b
}

// decodeEstimates undoes encodeEstimates. Precondition: all parts are there.
func (x *tree) decodeEstimates(b []byte) error {
	for i, s := range x.model.Straights {
		n := len(s.Plan.Segments)
		list, err := decodeEstimates(b[:min(len(b), 8*n)], n)
		if err != nil {
			return fmt.Errorf("region %d: %w", i, err)
		}
		x.parts[i].SetEstimates(list)
		b = b[8*n:]
	}
	if len(b) != 8*len(x.loops) {
		return fmt.Errorf("%d bytes of expectations for %d loops", len(b), len(x.loops))
	}
	for i := range x.loops {
		switch n := binary.LittleEndian.Uint64(b[8*i:]); {
		case n > math.MaxInt32:
			return fmt.Errorf("loop %d is expected to have %d iterations", i, n)
		case n > 0:
			x.loops[i].ended(int(n) - 1)
		}
	}
	return nil
}

// restoreTree is Restore of what a tree stored.
func (b *Backend) restoreTree(ctx context.Context, s *[sectionKinds][]byte, data backend.Data, o backend.Options) (_ backend.Executable, err error) {
	facts := b.current()
	t, err := compile.DecodeTree(&facts, s[sectionTree])
	if err != nil {
		return nil, err
	}
	plans := make([]*plan.Plan, len(t.Straights))
	for i, s := range t.Straights {
		plans[i] = s.Plan
	}
	if err := b.admit(s[sectionBinaries], plans...); err != nil {
		return nil, err
	}
	sizes, total, err := t.Sizes()
	if err != nil {
		return nil, err
	}
	if data.Size() < total {
		return nil, fmt.Errorf("%d bytes of constants, there must be %d", data.Size(), total)
	}
	x := b.newTree(t.Tree, o)
	defer func() {
		if err != nil {
			_ = x.Close() // this error is the one to tell
		}
	}()
	x.share()
	source := &readAhead{Data: data}
	at := make([]int64, len(sizes)+1)
	for i, n := range sizes {
		at[i+1] = at[i] + n
	}
	for i, w := range t.Weights {
		l, err := b.newLongLived(ctx, plans[i], io.NewSectionReader(source, at[w], sizes[w]), x.options(o))
		if err != nil {
			return nil, err
		}
		l.stats.Quick = o.Quick
		x.take(i, l)
	}
	if err := x.decodeEstimates(s[sectionEstimates]); err != nil {
		return nil, err
	}
	off := at[len(sizes)]
	for i := range t.Values {
		if v := &t.Values[i]; v.Place == compile.InConstant {
			n, _ := v.ByteSize() // which was verified
			v.Data = make([]byte, n)
			if k, err := source.ReadAt(v.Data, off); k < len(v.Data) {
				return nil, fmt.Errorf("state of a loop: %w", err)
			}
			off += int64(n)
		}
	}
	x.weights.Store(&t.Weights)
	if err := x.complete(ctx); err != nil {
		return nil, err
	}
	return x, nil
}

// readAhead reads much at once, for many who want little: reading from a cache verifies whole chunks. Not safe for
// concurrent use.
type readAhead struct {
	backend.Data
	buf  []byte // what lies from from on
	from int64
}

// aheadBytes is how much is read at once.
const aheadBytes = 1 << 20

// ReadAt implements io.ReaderAt.
func (r *readAhead) ReadAt(p []byte, off int64) (int, error) {
	end := off + int64(len(p))
	if off < r.from || end > r.from+int64(len(r.buf)) {
		n := min(aheadBytes, r.Size()-off)
		if int64(len(p)) > n {
			return r.Data.ReadAt(p, off)
		}
		r.from, r.buf = off, slices.Grow(r.buf[:0], int(n))[:n]
		if k, err := r.Data.ReadAt(r.buf, off); k < len(r.buf) {
			r.buf = r.buf[:0]
			return 0, err
		}
	}
	return copy(p, r.buf[off-r.from:]), nil
}
