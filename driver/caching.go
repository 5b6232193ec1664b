package driver

import (
	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver/internal/prepare"
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
	CacheOff      = CacheStatus(prepare.Off)      // not asked
	CacheHit      = CacheStatus(prepare.Hit)      // the model came from the cache
	CacheMiss     = CacheStatus(prepare.Miss)     // it was not there; compiled, and kept for the next time
	CacheRejected = CacheStatus(prepare.Rejected) // what was there is not what was kept; compiled, and kept anew
)

// WithCache says where compiled models are kept between processes, or that they are not.
func WithCache(c CacheOptions) DeviceOption {
	return func(o *deviceOptions) {
		o.cache = cache.Options{Off: c.Off, Dir: c.Dir, StateDir: c.StateDir, MaxBytes: c.MaxBytes}
	}
}

// NumberOfCacheFilesNeeded is how many model-cache and data-cache files WithCacheFiles and
// PrepareModelFromCache take; both 0 where the backend cannot store compiled models.
func (d *Device) NumberOfCacheFilesNeeded() (model, data int) { return d.preparations.NumberOfFiles() }

// Saved reports whether the compiled form that the model runs on is kept for the next time: in the files of WithCacheFiles
// or WithCaching, or in the transparent cache. That it came from there counts. Where it is not kept err says why; it is nil
// where nobody asked for a cache, and before a delayed model is compiled. Of a staged model it is the form that was
// compiled last.
func (p *PreparedModel) Saved() (saved bool, err error) { return p.saved.Outcome() }
