package prepare

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// store is where the compiled forms of one model are kept.
type store interface {
	// load returns the form that is kept, or nil and no error if there is none that can be used. A quick one counts
	// only if that is wanted; if tuning is wanted, only a tuned one does.
	load(ctx context.Context, quick bool) (*Form, Status, error)
	// keep stores f, or says why it could not; a failure that nobody else logs goes to the device's logger. An
	// optimised form replaces a quick one.
	keep(f *Form) error
	// retain returns a store that stays usable after the call of the client. Its close must be called.
	retain() (store, error)
	close()
}

var (
	errNotStored = errors.New("the backend does not store this model")
	// errNoCache: the log has the cause, once.
	errNoCache = fmt.Errorf("there is no place for a cache: %w", cache.ErrUnavailable)
	// errOtherModel is the error for a token that was used for two models.
	errOtherModel = fmt.Errorf("inputs and outputs of another model: %w", cache.ErrRejected)
	// errOtherForm is the error for a quick form, which only a staged compilation wants, or for one that is not tuned.
	errOtherForm = fmt.Errorf("another form of the model: %w", cache.ErrRejected)
)

// storeFor returns the store in which o wants m to be kept; nil for none.
func (d *Device) storeFor(m *Source, o *Options) (store, error) {
	if f := o.Files; f.any() {
		if d.restorer != nil {
			return &fileStore{d, f, m, o.Options}, nil
		}
		o.Saved.done(errNotStored)
	}
	transparent := d.transparent()
	if transparent == nil {
		if d.restorer != nil && !d.off {
			o.Saved.done(errNoCache)
		}
		return nil, nil
	}
	key, err := modelKey(m.Model, o.Preference)
	if errors.Is(err, errOverlapping) {
		o.Saved.done(err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	label := fmt.Sprintf("%d operations, %d inputs, %d outputs", len(m.Main.Operations), len(m.Main.Inputs), len(m.Main.Outputs))
	return &entryStore{device: d, cache: transparent, key: key, label: label, options: o.Options}, nil
}

// transparent returns the transparent cache, nil if there is none.
func (d *Device) transparent() *cache.Store {
	if d.restorer == nil || d.off {
		return nil
	}
	s, err := d.open()
	if err != nil || !s.Enabled() {
		return nil
	}
	return s
}

// kind tells the forms of a model in a store apart.
type kind string

const (
	optimised kind = "" // as the backend chose its kernels
	tuned     kind = "tuned"
	quickForm kind = "quick"
)

// formKind is the kind of a form that a backend made with that much time for tuning.
func formKind(quick bool, tuning time.Duration) kind {
	switch {
	case quick:
		return quickForm
	case tuning > 0:
		return tuned
	}
	return optimised
}

// entryStore is an entry of the transparent cache.
type entryStore struct {
	device  *Device
	cache   *cache.Store
	key     cache.Key
	label   string // for people
	options backend.Options
}

// keyOf is the key of a form. Only a staged compilation looks for that of a quick one.
func (s *entryStore) keyOf(k kind) cache.Key {
	if k == optimised {
		return s.key
	}
	return cache.KeyOf(s.key[:], []byte(k))
}

// load looks for a tuned form first: whoever took the time to make one wants it used.
func (s *entryStore) load(ctx context.Context, quick bool) (f *Form, status Status, err error) {
	wanted := []kind{tuned, optimised}
	if s.options.Tuning > 0 {
		wanted = wanted[:1]
	}
	if quick {
		wanted = append(wanted, quickForm)
	}
	status = Miss
	for _, k := range wanted {
		f, found, err := s.loadForm(ctx, k)
		if f != nil || err != nil {
			return f, found, err
		}
		if found == Rejected {
			status = Rejected
		}
	}
	return nil, status, nil
}

func (s *entryStore) loadForm(ctx context.Context, k kind) (*Form, Status, error) {
	key := s.keyOf(k)
	e, err := s.cache.Get(key)
	if errors.Is(err, cache.ErrRejected) {
		s.device.refused(err)
		return nil, Rejected, nil
	}
	if err != nil {
		return nil, Miss, nil
	}
	o := s.options
	o.Quick, o.Storable = k == quickForm, true
	at := &entry{store: s.cache, key: key, sum: sha256.Sum256(e.Model)}
	f, err := s.device.restore(ctx, e, o)
	switch {
	case err == nil:
		f.entry = at
		return f, Hit, nil
	case exhausted(err) || ctx.Err() != nil:
		return nil, Hit, err
	}
	s.device.refused(err)
	return nil, Rejected, nil
}

func (s *entryStore) keep(f *Form) error {
	storer, ok := f.Executable.(backend.Storer)
	if !ok {
		return errNotStored
	}
	model, data, err := storer.Store()
	if err != nil {
		s.device.notKept(err)
		return err
	}
	key := s.keyOf(formKind(f.quick, s.options.Tuning))
	if err := s.cache.Put(key, s.label, model, data); err != nil { // the cache itself has logged that
		return err
	}
	if !f.quick {
		// If it cannot be removed, it does no harm until it is the least recently used.
		_ = s.cache.Remove(s.cache.ID(s.keyOf(quickForm)))
	}
	f.entry = &entry{store: s.cache, key: key, sum: sha256.Sum256(model)}
	return nil
}

func (s *entryStore) retain() (store, error) { return s, nil }
func (s *entryStore) close()                 {}

// Files are the HAL's cache of one compilation: a token, and open files that the client brings, or a folder with such
// files.
type Files struct {
	Token       cache.Token
	Dir         string // "": Model and Data
	Model, Data []*os.File
}

// any reports whether there are files, or a folder.
func (f *Files) any() bool { return f != nil && (f.Dir != "" || f.areOpen()) }

// areOpen reports whether the client brought files.
func (f *Files) areOpen() bool { return f != nil && f.Dir == "" && len(f.Model)+len(f.Data) > 0 }

// duplicate returns the same files with handles of their own; a folder needs none.
func (f *Files) duplicate() (*Files, error) {
	own := *f
	if f.Dir != "" {
		return &own, nil
	}
	for _, x := range append(f.Model[:len(f.Model):len(f.Model)], f.Data...) {
		if x == nil {
			return nil, fmt.Errorf("no file: %w", cache.ErrInvalid)
		}
	}
	var err error
	if own.Model, err = cache.Duplicate(f.Model); err != nil {
		return nil, err
	}
	if own.Data, err = cache.Duplicate(f.Data); err != nil {
		closeFiles(own.Model)
		return nil, err
	}
	return &own, nil
}

// close closes the handles of duplicate, or of open.
func (f *Files) close() {
	closeFiles(f.Model)
	closeFiles(f.Data)
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // what was written was synced, or its hash was not noted
	}
}

// NumberOfFiles is how many model files and data files a compilation needs; both 0 if the backend cannot store.
func (d *Device) NumberOfFiles() (model, data int) {
	if d.restorer == nil {
		return 0, 0
	}
	return 1, 1
}

// openFolder opens the files of a folder for reading and writing, and creates them if flag says so. Their names are 64
// letters, '1' for model or '2' for data, and the number of the file. From the NNAPI runtime, CompilationBuilder and
// TokenHasher (Android 11), except that here each part that is hashed follows its length.
func (d *Device) openFolder(f *Files, o *backend.Options, flag int) (*Files, error) {
	info := d.backend.Info()
	hash := cache.KeyOf(f.Token[:], []byte(info.Name), []byte(info.Driver), []byte{byte(o.Preference)}, []byte{byte(o.Priority)})
	name := make([]byte, 0, 2*len(hash))
	for _, b := range hash {
		name = append(name, 'A'+b&15, 'A'+b>>4)
	}
	out := &Files{Token: f.Token}
	openAll := func(to *[]*os.File, kind string, n int) error {
		for i := range n {
			x, err := os.OpenFile(filepath.Join(f.Dir, string(name)+kind+strconv.Itoa(i)), os.O_RDWR|flag, 0o600)
			if err != nil {
				out.close()
				return err
			}
			*to = append(*to, x)
		}
		return nil
	}
	models, datas := d.NumberOfFiles()
	if err := openAll(&out.Model, "1", models); err != nil {
		return nil, err
	}
	if err := openAll(&out.Data, "2", datas); err != nil {
		return nil, err
	}
	return out, nil
}

// fileStore is files of the client, or of a folder, which are opened when they are needed.
type fileStore struct {
	device  *Device
	files   *Files
	model   *Source
	options backend.Options
}

// load looks only into a folder: open files are read by FromFiles.
func (s *fileStore) load(ctx context.Context, quick bool) (*Form, Status, error) {
	if s.files.Dir == "" {
		return nil, Off, nil
	}
	f, err := s.loadFolder(ctx, quick)
	switch {
	case err == nil:
		return f, Hit, nil
	case exhausted(err) || ctx.Err() != nil:
		return nil, Hit, err
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, cache.ErrMiss):
		return nil, Miss, nil
	case !errors.Is(err, errOtherForm): // nothing is wrong with another form
		s.device.refused(err)
	}
	return nil, Rejected, nil
}

// loadFolder loads the form that is kept, if all files are there and it has the inputs and outputs of the model.
func (s *fileStore) loadFolder(ctx context.Context, quick bool) (*Form, error) {
	d := s.device
	files, err := d.openFolder(s.files, &s.options, 0)
	if err != nil {
		return nil, err
	}
	defer files.close()
	store, err := d.open()
	if err != nil {
		return nil, err
	}
	e, err := store.Load(files.Token, files.Model, files.Data)
	if err != nil {
		return nil, err
	}
	o := s.options
	if o.Quick, err = matchSignature(s.model.Model, o, e, quick); err != nil {
		_ = e.Close()
		return nil, err
	}
	return d.restore(ctx, e, o)
}

// matchSignature takes the signature of m off e, and reports whether it belongs to a quick form.
func matchSignature(m *nn.Model, o backend.Options, e *cache.Entry, quick bool) (bool, error) {
	for _, k := range []kind{optimised, tuned, quickForm} {
		signature, err := encodeSignature(m, &o, k, false)
		if err != nil {
			return false, err
		}
		rest, ok := bytes.CutPrefix(e.Model, signature)
		switch {
		case !ok:
		case k == quickForm && !quick, k == optimised && o.Tuning > 0:
			return false, errOtherForm
		default:
			e.Model = rest
			return k == quickForm, nil
		}
	}
	return false, errOtherModel
}

func (s *fileStore) keep(f *Form) error {
	err := s.save(f)
	if err != nil {
		s.device.notKept(err)
	}
	return err
}

func (s *fileStore) save(f *Form) error {
	storer, ok := f.Executable.(backend.Storer)
	if !ok {
		return errNotStored
	}
	model, data, err := storer.Store()
	if err != nil {
		return err
	}
	o := s.options
	signature, err := encodeSignature(s.model.Model, &o, formKind(f.quick, o.Tuning), false)
	if err != nil {
		return err
	}
	files := s.files
	if files.Dir != "" {
		if files, err = s.device.openFolder(files, &o, os.O_CREATE); err != nil {
			return err
		}
		defer files.close()
	}
	return s.device.save(files, append(signature, model...), data)
}

// save writes model and data into open files.
func (d *Device) save(f *Files, model, data []byte) error {
	store, err := d.open()
	if err != nil {
		return err
	}
	return store.Save(f.Token, model, data, f.Model, f.Data)
}

func (s *fileStore) retain() (store, error) {
	files, err := s.files.duplicate()
	if err != nil {
		return nil, err
	}
	return &fileStore{s.device, files, s.model, s.options}, nil
}

func (s *fileStore) close() { s.files.close() }
