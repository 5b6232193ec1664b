package driver

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/prepare"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// Option changes how a model is prepared.
type Option func(*prepareOptions)

type prepareOptions = prepare.Options

// WithPrepareDeadline says when the preparation must have ended. It is refused where it is expected to take longer: at
// once, or, where a cache may have the model and loading it is not expected to be late, when it turns out not to be
// there. MISSED_DEADLINE_PERSISTENT says that the deadline had passed at the call, or that no preparation like it was
// ever as quick; all else is MISSED_DEADLINE_TRANSIENT, and it is given up with that when it takes longer than
// expected. The nearer of this deadline and the context's counts.
func WithPrepareDeadline(t time.Time) Option {
	return func(o *prepareOptions) { o.Deadline = t }
}

// WithPreference says what to optimise for. The default is nn.FastSingleAnswer.
func WithPreference(p nn.Preference) Option {
	return func(o *prepareOptions) { o.Preference = p }
}

// WithPriority orders the model's executions among those of the same client. The default is
// nn.PriorityMedium.
func WithPriority(p nn.Priority) Option {
	return func(o *prepareOptions) { o.Priority = p }
}

// WithDelayedCompilation makes PrepareModel return once the model was checked. The first execution compiles it, or takes
// it from the cache; what would have been an error of PrepareModel is one of that execution, and of those that
// wait for it, and the next one tries again. Its context bounds the compilation; where it ends too early, one of those
// that wait goes on with its own. A deadline of WithDeadline ends the wait alone, so that a later execution finds the
// model compiled, however near the deadlines are.
//
// Until then Stats are zero, Cached is CacheOff, and the values of the model are retained and must not change; what was
// copied of its pools (see PrepareModel) stays in memory and in the client's account. Cache files are duplicated as far
// as they are needed, so that the client may close its own. PrepareModelFromCache never delays.
func WithDelayedCompilation() Option {
	return func(o *prepareOptions) { o.Delayed = true }
}

// WithStagedCompilation asks for the first result as soon as possible. Where compiling takes long, PrepareModel returns
// after a compilation that is fast and whose executions are slower: then Stats().Quick is true. After so many
// executions the optimised form is compiled in the background, one at a time on each device, and takes the place of the
// first one for the executions that begin then, and in the cache; 0 means after the first one, or after a second if
// that is sooner. A model that takes no longer to compile in full, or whose kernels the device has already, is compiled
// in full at once. Results stay within tolerance. A compilation that fails changes nothing and is logged as a warning;
// Close gives it up.
//
// The compilation in the background keeps out of the way: it begins no pipeline while an execution waits or runs on the
// device, or one a second where some always do.
//
// The values of the model are retained until then, and must not change; what was copied of its pools (see PrepareModel)
// stays in memory and in the client's account. Both forms are in memory for a moment.
// PrepareModelFromCache loads the form that is in its files, and does not improve it.
//
// Without this option too a device may give a quick form as long as it has to find out which kernels it can trust (see
// backend.Stats); that one is replaced in the same way, after one execution.
func WithStagedCompilation(after int) Option {
	return func(o *prepareOptions) { o.Staged, o.After = true, max(0, after) }
}

// WithTuning prepares the model with the kernels that run it fastest on this device: it runs the model with each kernel
// that could do an operation in turn, for about budget in all. Without it, kernels are chosen by estimates. The tuned
// form is kept in the cache, where there is one, and from then on every preparation of the same model takes it, with
// this option or without; with it, a form that was not tuned is compiled anew. Results may differ from those of another
// form within tolerance.
//
// Other executions have the device between segments; they disturb the measurement, which can cost no more than speed. A
// model of IF or WHILE, or of sizes that only data tells, is not tuned, nor is any on a device without timestamps. Each
// instance of a model that leaves dimensions open is tuned by itself; with WithStagedCompilation the form compiled in
// the background is the one that is tuned. A deadline of the preparation must leave time for the tuning.
//
// 0 is the same as without the option, less is INVALID_ARGUMENT.
func WithTuning(budget time.Duration) Option {
	return func(o *prepareOptions) { o.Tuning = budget }
}

// WithInstances says how many instances are kept of a model that leaves dimensions of its inputs open: compiled models,
// each for the dimensions of some execution. Beyond n, at least 1, or 16 without this option, the least recently used
// goes as soon as no execution uses it; so do those not in use where the device's memory or the client's budget would
// not suffice otherwise, or where the instances together take more than half of either. The transparent cache, where it
// is on, keeps what was compiled. Models of known sizes ignore this option.
//
// The execution that first brings some dimensions compiles the instance, or takes it from the cache, as with
// WithDelayedCompilation: others that want the same wait for it, executions of other instances do not, and a deadline ends
// the wait with MISSED_DEADLINE_TRANSIENT but not the compilation. While executions wait or run on the device it is
// compiled piece by piece, and gives way to them before each, unless the model is of high priority.
func WithInstances(n int) Option {
	return func(o *prepareOptions) { o.Instances = max(n, 1) }
}

// WithCacheFiles keeps the compiled model in the client's files, which are open for reading and writing, to be
// found under token by PrepareModelFromCache. Files are written from their start, whatever their offset. A
// failure to save does not fail the preparation: then nothing is found later, and PreparedModel.Saved says why. With no
// files at all the token is ignored. Of a model that leaves dimensions of its inputs open the files keep what instances are
// compiled from; the instances themselves are in the transparent cache.
func WithCacheFiles(token cache.Token, model, data []*os.File) Option {
	return func(o *prepareOptions) { o.Files = &prepare.Files{Token: token, Model: model, Data: data} }
}

// WithCaching keeps the compiled model in files of dir, which exists and is the caller's own, and takes it from there
// the next time. It is the client's side of the HAL's caching: the caller chooses token, which must change whenever the
// model does, and PrepareModel first tries PrepareModelFromCache, then prepares with WithCacheFiles.
// PreparedModel.Cached says which it was. Where files cannot be made, the model is prepared without a cache. Of
// WithCaching and WithCacheFiles the last one counts; a device that cannot store ignores both.
//
// Of a model that leaves dimensions of its inputs open each instance has files of its own there.
//
// Nothing bounds or removes the files; the transparent cache does both by itself.
func WithCaching(dir string, token cache.Token) Option {
	return func(o *prepareOptions) { o.Files = &prepare.Files{Token: token, Dir: dir} }
}

// PrepareModel compiles m, or takes it from the cache. ctx bounds the compilation. The main graph and the pools
// of m are retained and must not change. Where it leaves dimensions of its inputs open, what is returned is a template: m
// is checked as far as that is possible without them, and executions compile it for theirs (see WithInstances). Its values
// and its nn.HostMemory are then retained, and must not change, and what was copied of its pools stays in memory and in the
// client's account.
//
// The bytes in the pools may change at any time: constants that others could write, which is all but nn.HostMemory and
// nn.Sealed, are copied before anything looks at them, and the copy counts in the client's budget until the model is
// compiled.
//
// Errors: INVALID_ARGUMENT for what is wrong with m, its pools or an option; GENERAL_FAILURE for a pool that cannot be
// mapped, and context.Canceled where ctx was cancelled; MISSED_DEADLINE_* as WithPrepareDeadline says, and where ctx
// ended by its deadline; RESOURCE_EXHAUSTED_*; DEVICE_UNAVAILABLE.
func (c *Client) PrepareModel(ctx context.Context, m *nn.Model, opts ...Option) (*PreparedModel, error) {
	return c.prepare(ctx, opts, func(o *prepareOptions) (*prepare.Model, error) {
		return c.device.preparations.Prepare(ctx, m, c.memory, o)
	})
}

// PrepareModelFromCache brings back the model that was prepared with WithCacheFiles under the same token. The
// files are those of the preparation, in the same order, and may be closed after the call. Their content is
// read once and believed only when it is what was saved; otherwise the error is GENERAL_FAILURE, and the
// client prepares in full. So it is for files that are closed, not regular or not open for reading. A wrong number
// of files, none in the place of one, or the same twice, is INVALID_ARGUMENT. Other errors are those of PrepareModel.
// Preference and priority are those of the preparation, where opts say nothing else.
func (c *Client) PrepareModelFromCache(ctx context.Context, token cache.Token, model, data []*os.File, opts ...Option) (*PreparedModel, error) {
	return c.prepare(ctx, opts, func(o *prepareOptions) (*prepare.Model, error) {
		return c.device.preparations.FromFiles(ctx, token, model, data, c.memory, o, func(o *prepareOptions) {
			for _, f := range opts {
				f(o)
			}
		})
	})
}

// prepare checks options, keeps the backend open while made makes a model, and makes that a prepared model of c.
func (c *Client) prepare(ctx context.Context, opts []Option, made func(*prepareOptions) (*prepare.Model, error)) (_ *PreparedModel, err error) {
	o, err := c.decodePrepare(ctx, opts)
	if err != nil {
		return nil, err
	}
	d := c.device
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.busy.Done()
	defer func() { d.counters.Ended(err) }()
	m, err := made(o)
	if err != nil {
		return nil, err
	}
	p := &PreparedModel{
		client: c, model: m, signature: m.Signature, needed: m.Needed, outputs: m.Outputs, saved: o.Saved, priority: o.Priority,
	}
	if !c.add(p) {
		return nil, errors.Join(closed("client"), m.Close())
	}
	return p, nil
}

// add makes p one of the client's models; false: the client is closed.
func (c *Client) add(p *PreparedModel) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.models == nil {
		return false
	}
	c.models[p] = true
	return true
}

// decodePrepare decodes and checks options.
func (c *Client) decodePrepare(ctx context.Context, opts []Option) (*prepareOptions, error) {
	if c.isClosed() {
		return nil, closed("client")
	}
	o := &prepareOptions{
		Start: time.Now(), Saved: &prepare.Saved{}, Options: backend.Options{Preference: nn.FastSingleAnswer, Priority: nn.PriorityMedium},
	}
	if err := apply(opts, o); err != nil {
		return nil, err
	}
	if err := cmp.Or(validate.Preference(o.Preference), validate.Priority(o.Priority), checkContext("preparation", ctx)); err != nil {
		return nil, err
	}
	if o.Tuning < 0 {
		return nil, nn.Invalid("tuning", "a budget of %v", o.Tuning)
	}
	if t, ok := ctx.Deadline(); ok && (o.Deadline.IsZero() || t.Before(o.Deadline)) {
		o.Deadline = t
	}
	return o, checkDeadline("preparation", o.Deadline, o.Start)
}

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
