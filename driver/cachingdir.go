package driver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// WithCaching keeps the compiled model in files of dir, which exists and is the caller's own, and takes it from
// there the next time. It is the client's side of the HAL's caching: the caller chooses token, which must change
// whenever the model does, and PrepareModel first tries PrepareModelFromCache, then prepares with WithCacheFiles.
// What it did PreparedModel.Cached says. Files that cannot be made cost the cache, not the preparation. Of
// WithCaching and WithCacheFiles the last one counts; a device that cannot store ignores both.
//
// Of a model that leaves dimensions of its inputs open each instance has files of its own there.
//
// Nothing bounds or removes the files; the transparent cache does both by itself.
func WithCaching(dir string, token cache.Token) Option {
	return func(o *prepareOptions) { o.files = &cacheFiles{token: token, dir: dir} }
}

// cachePaths names the cache files of one compilation: 64 letters, '1' for model or '2' for data, and the number
// of the file. From the NNAPI runtime, CompilationBuilder and TokenHasher (Android 11); what is hashed differs in
// that each part has its length before it.
func (d *Device) cachePaths(f *cacheFiles, o *backend.Options) (model, data []string) {
	info := d.Info()
	hash := cache.KeyOf(f.token[:], []byte(info.Name), []byte(info.Driver), []byte{byte(o.Preference)}, []byte{byte(o.Priority)})
	name := make([]byte, 0, 2*len(hash))
	for _, b := range hash {
		name = append(name, 'A'+b&15, 'A'+b>>4)
	}
	list := func(kind string, n int) (paths []string) {
		for i := range n {
			paths = append(paths, filepath.Join(f.dir, string(name)+kind+strconv.Itoa(i)))
		}
		return paths
	}
	models, datas := d.NumberOfCacheFilesNeeded()
	return list("1", models), list("2", datas)
}

// openAll opens files for reading and writing, and makes them where flag says so. On an error none is open.
func openAll(paths []string, flag int) (files []*os.File, err error) {
	for _, path := range paths {
		f, err := os.OpenFile(path, os.O_RDWR|flag, 0o600)
		if err != nil {
			closeFiles(files)
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// openBoth is openAll for both lists.
func openBoth(model, data []string, flag int) (m, d []*os.File, err error) {
	if m, err = openAll(model, flag); err != nil {
		return nil, nil, err
	}
	if d, err = openAll(data, flag); err != nil {
		closeFiles(m)
		return nil, nil, err
	}
	return m, d, nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // what was written was synced, or its hash was not noted
	}
}

// compileInDir does what WithCaching says.
func (d *Device) compileInDir(ctx context.Context, m *ownModel, o *prepareOptions) (backend.Executable, CacheStatus, error) {
	modelPaths, dataPaths := d.cachePaths(o.files, &o.Options)
	exe, err := d.loadFromDir(ctx, m, o, modelPaths, dataPaths)
	if err == nil {
		return exe, CacheHit, nil
	}
	if exhausted(err) || ctx.Err() != nil {
		return nil, CacheHit, err
	}
	status := CacheRejected
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, cache.ErrMiss):
		status = CacheMiss
	case !errors.Is(err, errQuickForm): // of which nothing is wrong
		d.cache.refused(err)
	}
	model, data, err := openBoth(modelPaths, dataPaths, os.O_CREATE)
	if err != nil {
		d.cache.notKept(err)
		o.saving.done(err)
		exe, err := d.compileAnew(ctx, m, o, nil)
		return exe, status, err
	}
	defer closeFiles(append(model, data...))
	exe, err = d.compileAnew(ctx, m, o, d.dirKeeper(m, o, model, data))
	return exe, status, err
}

var (
	// errOtherModel is of a token that was used for two models.
	errOtherModel = fmt.Errorf("inputs and outputs of another model: %w", cache.ErrRejected)
	// errQuickForm is of what only a staged compilation wants.
	errQuickForm = fmt.Errorf("the quick form of the model: %w", cache.ErrRejected)
)

// dirKeeper keeps m in open files of the folder.
func (d *Device) dirKeeper(m *ownModel, o *prepareOptions, model, data []*os.File) *fileKeeper {
	return &fileKeeper{d, &cacheFiles{token: o.files.token, model: model, data: data}, m, o.Options}
}

// loadFromDir loads what is kept, if all files are there and it has the inputs and outputs of m. A quick form counts
// for staged compilations only, which go on from there.
func (d *Device) loadFromDir(ctx context.Context, m *ownModel, o *prepareOptions, modelPaths, dataPaths []string) (backend.Executable, error) {
	model, data, err := openBoth(modelPaths, dataPaths, 0)
	if err != nil {
		return nil, err
	}
	defer closeFiles(append(model, data...))
	store, err := d.cache.open()
	if err != nil {
		return nil, err
	}
	entry, err := store.Load(o.files.token, model, data)
	if err != nil {
		return nil, err
	}
	signature, quick, err := matchSignature(m.Model, o, entry.Model)
	if err != nil {
		_ = entry.Close()
		return nil, err
	}
	entry.Model = entry.Model[len(signature):]
	b := o.Options
	b.Quick = quick
	exe, err := d.restore(ctx, entry, b)
	if err != nil {
		return nil, err
	}
	o.saving.done(nil)
	if !quick {
		return exe, nil
	}
	return d.stage(exe, m, o, d.dirKeeper(m, o, model, data)), nil
}

// matchSignature returns the signature of m that stored begins with.
func matchSignature(m *nn.Model, o *prepareOptions, stored []byte) (signature []byte, quick bool, err error) {
	for _, quick := range []bool{false, true} {
		b := o.Options
		b.Quick = quick
		signature, err := encodeSignature(m, &b, false)
		if err != nil {
			return nil, false, err
		}
		if !bytes.HasPrefix(stored, signature) {
			continue
		}
		if quick && !o.preparing.staged {
			return nil, false, errQuickForm
		}
		return signature, quick, nil
	}
	return nil, false, errOtherModel
}
