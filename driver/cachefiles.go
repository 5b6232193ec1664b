package driver

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// cacheFiles are the HAL's cache of one compilation: a token, and open files that the client brings, or the folder
// of such files.
type cacheFiles struct {
	token       cache.Token
	dir         string // "": model and data
	model, data []*os.File
}

// NumberOfCacheFilesNeeded is how many model-cache and data-cache files WithCacheFiles and
// PrepareModelFromCache take; both 0 where the backend cannot store compiled models.
func (d *Device) NumberOfCacheFilesNeeded() (model, data int) {
	if d.cache.restorer == nil {
		return 0, 0
	}
	return 1, 1
}

// WithCacheFiles keeps the compiled model in the client's files, which are open for reading and writing, to be
// found under token by PrepareModelFromCache. Files are written from their start, whatever their offset. A
// failure to save does not fail the preparation: then nothing is found later, and PreparedModel.Saved says why. With no
// files at all the token is ignored. Of a model that leaves dimensions of its inputs open the files keep what instances are
// compiled from; the instances themselves are in the transparent cache.
func WithCacheFiles(token cache.Token, model, data []*os.File) Option {
	return func(o *prepareOptions) { o.files = &cacheFiles{token: token, model: model, data: data} }
}

// compileFor compiles m in the way that o asks for.
func (d *Device) compileFor(ctx context.Context, m *ownModel, o *prepareOptions) (backend.Executable, CacheStatus, error) {
	if o.preparing.delayed {
		exe, err := d.delay(m, o)
		if err != nil {
			return nil, CacheOff, err
		}
		return exe, CacheOff, nil
	}
	exe, status, err := d.compileNow(ctx, m, o)
	if err == nil {
		d.counters.prepared[status.index()].Add(1)
	}
	return exe, status, err
}

// compileNow is compileFor of what is not to be delayed.
func (d *Device) compileNow(ctx context.Context, m *ownModel, o *prepareOptions) (backend.Executable, CacheStatus, error) {
	f := o.files
	switch {
	case f == nil || f.dir == "" && len(f.model) == 0 && len(f.data) == 0:
		return d.compileCached(ctx, m, o)
	case d.cache.restorer == nil:
		o.saving.done(errNotStored)
		return d.compileCached(ctx, m, o)
	case f.dir != "":
		return d.compileInDir(ctx, m, o)
	}
	exe, err := d.compileAnew(ctx, m, o, &fileKeeper{d, f, m, o.Options})
	return exe, CacheOff, err
}

func (d *Device) save(exe backend.Executable, m *nn.Model, f *cacheFiles, o *backend.Options) error {
	storer, ok := exe.(backend.Storer)
	if !ok {
		return errNotStored
	}
	model, data, err := storer.Store()
	if err != nil {
		return err
	}
	store, err := d.cache.open()
	if err != nil {
		return err
	}
	signature, err := encodeSignature(m, o, false)
	if err != nil {
		return err
	}
	return store.Save(f.token, append(signature, model...), data, f.model, f.data)
}

// PrepareModelFromCache brings back the model that was prepared with WithCacheFiles under the same token. The
// files are those of the preparation, in the same order, and may be closed after the call. Their content is
// read once and believed only when it is what was saved; otherwise the error is GENERAL_FAILURE, and the
// client prepares in full. So it is for files that are closed, not regular or not open for reading. A wrong number
// of files, none in the place of one, or the same twice, is INVALID_ARGUMENT. Other errors are those of PrepareModel.
// Preference and priority are those of the preparation, where opts say nothing else.
func (c *Client) PrepareModelFromCache(ctx context.Context, token cache.Token, model, data []*os.File, opts ...Option) (_ *PreparedModel, err error) {
	o, leave, err := c.enterPrepare(ctx, opts)
	if err != nil {
		return nil, err
	}
	defer leave()
	defer func() { c.device.counters.prepareEnded(err) }()
	d := c.device
	if d.cache.restorer == nil {
		return nil, nn.Errorf(nn.StatusGeneralFailure, "prepare from cache", "the backend cannot store compiled models")
	}
	store, err := d.cache.open()
	if err != nil {
		return nil, fmt.Errorf("prepare from cache: %w", err)
	}
	entry, err := store.Load(token, model, data)
	if errors.Is(err, cache.ErrInvalid) {
		return nil, &nn.Error{Status: nn.StatusInvalidArgument, Where: "cache files", Err: err}
	}
	if err != nil {
		return nil, &nn.Error{Status: nn.StatusGeneralFailure, Where: "cache files", Err: err}
	}
	ctx, cancel := withDeadline(ctx, o.deadline)
	defer cancel()
	pm, err := c.restoreFiles(ctx, entry, o, opts)
	if err != nil {
		return nil, fmt.Errorf("prepare from cache: %w", err)
	}
	o.saving.done(nil)
	return c.adopt(pm, o.Priority)
}

// restoreFiles makes a prepared model of e and closes e. Options say what differs from the preparation that saved it; o
// becomes what they make of that.
func (c *Client) restoreFiles(ctx context.Context, e *cache.Entry, o *prepareOptions, opts []Option) (*PreparedModel, error) {
	signature, stored, err := decodeSignature(e.Model)
	if err != nil {
		_ = e.Close()
		return nil, &nn.Error{Status: nn.StatusGeneralFailure, Where: "cache files", Err: err}
	}
	e.Model = stored
	o.Options = backend.Options{Preference: signature.Preference, Priority: signature.Priority, Quick: signature.Quick}
	for _, f := range opts {
		f(o)
	}
	if signature.Template {
		return c.restoreTemplate(e, signature, o)
	}
	exe, err := c.device.restore(ctx, e, o.Options)
	if err != nil && nn.StatusOf(err) == nn.StatusInvalidArgument {
		// The arguments were right: what the files hold is not.
		err = &nn.Error{Status: nn.StatusGeneralFailure, Where: "cache files", Err: err}
	}
	if err != nil {
		return nil, err
	}
	c.device.counters.prepared[CacheHit.index()].Add(1)
	return &PreparedModel{
		client: c, only: &instance{exe: exe, kept: CacheOff}, signature: signature.model(), needed: signature.Needed,
		outputs: signature.OutputDims, saving: o.saving,
	}, nil
}

// storedSignature is what a request is checked against and how the model was prepared, for a model that is not
// there any more.
type storedSignature struct {
	Main       nn.Graph // inputs and outputs only
	Names      storedNames
	Needed     []string // of each input: validate.Needed
	OutputDims []nn.Dims
	Preference nn.Preference
	Priority   nn.Priority
	Quick      bool // the first form of a staged compilation
	Template   bool // what follows is a storedTemplate, not a backend's form
}

func (s *storedSignature) model() *nn.Model {
	return &nn.Model{Main: s.Main, Names: nn.Names{Inputs: texts(s.Names.Inputs), Outputs: texts(s.Names.Outputs)}}
}

// storedNames are nn.Names as bytes: JSON would change what is not UTF-8.
type storedNames struct{ Inputs, Outputs [][]byte }

func texts(list [][]byte) (out []string) {
	for _, b := range list {
		out = append(out, string(b))
	}
	return out
}

func textBytes(list []string) (out [][]byte) {
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

const signatureMagic = "nngpusig"

// encodeSignature: magic, length (4 bytes, least significant first), JSON. The backend's form follows it, or the template.
func encodeSignature(m *nn.Model, o *backend.Options, template bool) ([]byte, error) {
	dims, err := outputDims(m)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(storedSignature{
		Main: interfaceOf(&m.Main), Names: storedNames{textBytes(m.Names.Inputs), textBytes(m.Names.Outputs)},
		Needed: validate.Needed(m), OutputDims: dims,
		Preference: o.Preference, Priority: o.Priority, Quick: o.Quick, Template: template,
	})
	if err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint32([]byte(signatureMagic), uint32(len(text)))
	return append(b, text...), nil
}

// interfaceOf is g without what lies between its inputs and its outputs, which may be much to read.
func interfaceOf(g *nn.Graph) nn.Graph {
	var out nn.Graph
	add := func(list []uint32) (indexes []uint32) {
		for _, i := range list {
			indexes = append(indexes, uint32(len(out.Operands)))
			out.Operands = append(out.Operands, g.Operands[i])
		}
		return indexes
	}
	out.Inputs, out.Outputs = add(g.Inputs), add(g.Outputs)
	return out
}

// decodeSignature undoes encodeSignature. The content was verified; it is checked all the same, so that a
// mistake of ours cannot index out of range later.
func decodeSignature(b []byte) (*storedSignature, []byte, error) {
	const head = len(signatureMagic) + 4
	if len(b) < head || string(b[:len(signatureMagic)]) != signatureMagic {
		return nil, nil, errors.New("no signature")
	}
	n := binary.LittleEndian.Uint32(b[len(signatureMagic):])
	if uint64(n) > uint64(len(b)-head) {
		return nil, nil, fmt.Errorf("signature of %d bytes in %d", n, len(b)-head)
	}
	s := &storedSignature{}
	if err := json.Unmarshal(b[head:head+int(n)], s); err != nil {
		return nil, nil, fmt.Errorf("signature: %w", err)
	}
	if err := validate.Signature(&s.Main); err != nil {
		return nil, nil, err
	}
	if len(s.Needed) != len(s.Main.Inputs) || len(s.OutputDims) != len(s.Main.Outputs) {
		return nil, nil, fmt.Errorf("%d and %d entries for %d inputs and %d outputs",
			len(s.Needed), len(s.OutputDims), len(s.Main.Inputs), len(s.Main.Outputs))
	}
	return s, b[head+int(n):], nil
}
