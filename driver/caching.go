package driver

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// CacheOptions say where a device keeps compiled models between processes. The zero value is the default:
// a cache of at most 1 GiB in the user's cache directory.
type CacheOptions struct {
	// Off switches the transparent cache off. Cache files that a client brings still work.
	Off bool
	// Dir is the folder of the transparent cache; "" for $XDG_CACHE_HOME/nngpu.
	Dir string
	// StateDir holds the key and the hashes that decide what is believed; "" for $XDG_STATE_HOME/nngpu. It
	// must be the user's own.
	StateDir string
	// MaxBytes bounds the transparent cache; 0 for 1 GiB. The least recently used goes first.
	MaxBytes int64
}

// CacheStatus says what a cache did for a prepared model.
type CacheStatus string

// Cache statuses.
const (
	CacheOff      CacheStatus = "off"      // not asked
	CacheHit      CacheStatus = "hit"      // the model came from the cache
	CacheMiss     CacheStatus = "miss"     // it was not there; compiled, and kept for the next time
	CacheRejected CacheStatus = "rejected" // what was there is not what was kept; compiled, and kept anew
)

// compiledCache is the device's side of package cache.
type compiledCache struct {
	restorer backend.Restorer // nil: the backend cannot store
	options  CacheOptions
	log      *slog.Logger
	open     func() (*cache.Store, error) // once
	keeping  sync.Once
	// background holds an element while a staged compilation goes on: one at a time.
	background chan struct{}
}

// notKept tells of the first compiled model that could not be kept for a reason that the cache knows nothing of.
func (c *compiledCache) notKept(err error) {
	c.keeping.Do(func() { c.log.Warn("a compiled model is not kept", "error", err) })
}

// refused tells of a compiled model that was there and cannot be used.
func (c *compiledCache) refused(err error) {
	c.log.Warn("a compiled model was refused by the cache and is compiled anew", "error", err)
}

func newCompiledCache(b backend.Backend, o CacheOptions, log *slog.Logger) *compiledCache {
	c := &compiledCache{options: o, log: log, background: make(chan struct{}, 1)}
	c.restorer, _ = b.(backend.Restorer)
	c.open = sync.OnceValues(func() (*cache.Store, error) {
		// The identity covers program, kernels, device and Vulkan driver; of any length.
		build := sha256.Sum256([]byte(c.restorer.StoreIdentity()))
		return cache.Open(cache.Options{
			Dir: o.Dir, StateDir: o.StateDir, MaxBytes: o.MaxBytes, Off: o.Off,
			Warn:     func(err error) { log.Warn("the cache does not work as it should", "error", err) },
			Identity: cache.Identity{Device: b.Info().Name, Build: hex.EncodeToString(build[:])},
		})
	})
	return c
}

// transparent returns the store, or nil where there is no transparent cache.
func (c *compiledCache) transparent() *cache.Store {
	if c.restorer == nil || c.options.Off {
		return nil
	}
	s, err := c.open()
	if err != nil || !s.Enabled() {
		return nil
	}
	return s
}

// compileCached compiles m, or takes it from the transparent cache.
func (d *Device) compileCached(ctx context.Context, m *ownModel, o *prepareOptions) (backend.Executable, CacheStatus, error) {
	store := d.cache.transparent()
	if store == nil {
		if d.cache.restorer != nil && !d.cache.options.Off {
			o.saving.done(errNoCache)
		}
		exe, err := d.compileAnew(ctx, m, o, nil)
		return exe, CacheOff, err
	}
	key, err := modelKey(m.Model, o.Preference)
	if errors.Is(err, errOverlapping) {
		o.saving.done(err)
		exe, err := d.compileAnew(ctx, m, o, nil)
		return exe, CacheOff, err
	}
	if err != nil {
		return nil, CacheOff, err
	}
	p := &entryKeeper{cache: d.cache, store: store, key: key, label: label(m.Model)}
	exe, status, err := d.restoreEntry(ctx, store, key, o.Options)
	if err != nil {
		return nil, status, err
	}
	if exe != nil {
		o.saving.done(nil)
		return exe, status, nil
	}
	if o.preparing.staged {
		b := o.Options
		b.Quick = true
		exe, quick, err := d.restoreEntry(ctx, store, quickKey(key), b)
		if err != nil {
			return nil, quick, err
		}
		if exe != nil {
			o.saving.done(nil)
			return d.stage(exe, m, o, p), quick, nil
		}
		if quick == CacheRejected {
			status = quick
		}
	}
	exe, err = d.compileAnew(ctx, m, o, p)
	return exe, status, err
}

// restoreEntry takes a model from the transparent cache. It gives no executable and no error where there is none that
// can be used.
func (d *Device) restoreEntry(ctx context.Context, store *cache.Store, key cache.Key, o backend.Options) (backend.Executable, CacheStatus, error) {
	entry, err := store.Get(key)
	if errors.Is(err, cache.ErrRejected) {
		d.cache.refused(err)
		return nil, CacheRejected, nil
	}
	if err != nil {
		return nil, CacheMiss, nil
	}
	o.Storable = true
	sum := sha256.Sum256(entry.Model)
	exe, err := d.restore(ctx, entry, o)
	if err == nil {
		return &kept{Executable: exe, store: store, key: key, sum: sum}, CacheHit, nil
	}
	if exhausted(err) || ctx.Err() != nil {
		return nil, CacheHit, err
	}
	d.cache.refused(err)
	return nil, CacheRejected, nil
}

// restore makes an executable of e and closes e.
func (d *Device) restore(ctx context.Context, e *cache.Entry, o backend.Options) (backend.Executable, error) {
	defer e.Close() // files that were only read: nothing can be lost
	start := time.Now()
	exe, err := d.cache.restorer.Restore(ctx, e.Model, e.Data, o)
	took(&d.counters.restore, start, err)
	d.log.Debug("a model was brought back from the cache", "took", time.Since(start), "failed", err != nil)
	return exe, err
}

// exhausted reports whether trying again in another way cannot help.
func exhausted(err error) bool {
	switch nn.StatusOf(err) {
	case nn.StatusResourceExhaustedTransient, nn.StatusResourceExhaustedPersistent, nn.StatusDeviceUnavailable:
		return true
	}
	return false
}

// label names an entry for people.
func label(m *nn.Model) string {
	return fmt.Sprintf("%d operations, %d inputs, %d outputs", len(m.Main.Operations), len(m.Main.Inputs), len(m.Main.Outputs))
}

// maxOverlap bounds how often all bytes of values and pools are hashed for a key. Each operand's constant is hashed by
// itself, and nothing keeps a small model from having thousands that are the same gigabyte.
const maxOverlap = 16

// errNoCache: the log tells the cause, once.
var errNoCache = fmt.Errorf("there is no place for a cache: %w", cache.ErrUnavailable)

var errOverlapping = errors.New("constants overlap too much to be hashed")

// modelKey covers all that a compilation depends on beside the device: graphs, constants, options. The
// place of constants in values and pools does not count, their content does.
func modelKey(m *nn.Model, p nn.Preference) (cache.Key, error) {
	h := keyHash{h: sha256.New(), room: maxOverlap * int64(len(m.Values))}
	for _, p := range m.Pools {
		h.room += maxOverlap * p.Size()
	}
	h.numbers(uint64(p), uint64(len(m.Referenced)))
	h.flag(m.RelaxFloat32)
	graphs := append([]nn.Graph{m.Main}, m.Referenced...)
	for i := range graphs {
		if err := h.graph(m, &graphs[i]); err != nil {
			return cache.Key{}, err
		}
	}
	return cache.Key(h.h.Sum(nil)), nil
}

// keyHash writes numbers and byte strings, each string after its length, so that no two models read alike.
type keyHash struct {
	h    hash.Hash
	room int64 // bytes of constants that may still be hashed
}

func (k keyHash) numbers(v ...uint64) {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	k.h.Write(b)
}

func (k keyHash) flag(on bool) {
	if on {
		k.numbers(1)
	} else {
		k.numbers(0)
	}
}

func (k keyHash) indexes(list []uint32) {
	k.numbers(uint64(len(list)))
	for _, x := range list {
		k.numbers(uint64(x))
	}
}

func (k *keyHash) graph(m *nn.Model, g *nn.Graph) error {
	k.numbers(uint64(len(g.Operands)), uint64(len(g.Operations)))
	for i := range g.Operands {
		o := &g.Operands[i]
		lifetime := o.Lifetime
		if lifetime == nn.ConstantReference {
			lifetime = nn.ConstantCopy
		}
		k.numbers(uint64(o.Type), uint64(math.Float32bits(o.Scale)), uint64(uint32(o.ZeroPoint)), uint64(lifetime))
		k.indexes(o.Dims)
		k.flag(o.Channel != nil)
		if o.Channel != nil {
			k.numbers(uint64(o.Channel.ChannelDim), uint64(len(o.Channel.Scales)))
			for _, s := range o.Channel.Scales {
				k.numbers(uint64(math.Float32bits(s)))
			}
		}
		if o.Lifetime == nn.Subgraph {
			k.numbers(uint64(o.Location.Offset))
		}
		value, err := m.Value(o)
		if err != nil {
			return fmt.Errorf("operand %d: %w", i, err)
		}
		if k.room -= int64(len(value)); k.room < 0 {
			return errOverlapping
		}
		k.numbers(uint64(len(value)))
		k.h.Write(value)
	}
	for i := range g.Operations {
		k.numbers(uint64(g.Operations[i].Type))
		k.indexes(g.Operations[i].Inputs)
		k.indexes(g.Operations[i].Outputs)
	}
	k.indexes(g.Inputs)
	k.indexes(g.Outputs)
	return nil
}
