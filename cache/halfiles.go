//go:build linux

package cache

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Save writes an entry into the caller's open files and notes the keyed hash of what it meant to write. The files are
// truncated and written from the start whatever their offsets, and borrowed for the call only.
// With both lists empty it does nothing.
//
// It fails with ErrInvalid for a wrong number of files, none in the place of one, or the same twice, with ErrUnusable for
// one that is closed, not a regular file, or not open for reading and writing, and with ErrUnavailable when writing fails.
// After a failure a Load with the token finds nothing. A compilation succeeds whether or not it could be saved.
func (m *HashMap) Save(token Token, model, data []byte, modelFiles, dataFiles []*os.File) (err error) {
	if len(modelFiles) == 0 && len(dataFiles) == 0 {
		return nil
	}
	mu := m.lockOf(token)
	mu.Lock()
	defer mu.Unlock()
	defer func() {
		if err == nil {
			return
		}
		m.forget(token)
		if !isKnown(err) {
			err = fmt.Errorf("%w: %w", err, ErrUnavailable)
		}
		err = fmt.Errorf("save to cache: %w", err)
	}()
	if _, err := m.inspectAll(modelFiles, dataFiles, toWrite); err != nil {
		return err
	}
	head := halData{shares(int64(len(data)), len(dataFiles), shareAlign), defaultChunk}
	part := append(appendHashes(nil, hashChunks(data, head.chunk)), model...)
	contents := encodeModelFiles(part, len(modelFiles), head)
	r := record{mac: m.filesMAC(token, contents), saved: time.Now().UnixNano()}
	for _, c := range contents {
		r.size += int64(len(c))
	}
	if r.size > m.opts.MaxModelBytes {
		return fmt.Errorf("model part of %d bytes, allowed are %d: %w", r.size, m.opts.MaxModelBytes, ErrInvalid)
	}
	if err := flock(modelFiles[0], unix.LOCK_EX, m.opts.LockTimeout); err != nil {
		return err
	}
	defer funlock(modelFiles[0])
	// The old model goes first: if this process ends half-way, the old hash cannot match any more.
	for _, f := range slices.Concat(modelFiles, dataFiles) {
		if err := f.Truncate(0); err != nil {
			return err
		}
	}
	for i, f := range dataFiles {
		if err := writeAll(f, data[:head.lengths[i]]); err != nil {
			return err
		}
		data = data[head.lengths[i]:]
	}
	for i, f := range modelFiles {
		if err := writeAll(f, contents[i]); err != nil {
			return err
		}
	}
	return m.put(token, r)
}

// writeAll writes b from the start and waits for the disk, so that what goes wrong there is an error of this call.
func writeAll(f *os.File, b []byte) error {
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	return withFD(f, unix.Fdatasync)
}

// Load reads an entry back from the caller's open files, in the order of Save. Each model file is read
// once, into private memory, and that copy is verified and returned. The data files are duplicated, so the caller may
// close its handles; their content is verified while it is read.
//
// It fails with ErrInvalid for a wrong number of files, none in the place of one, or the same twice, ErrUnusable for one
// that is closed, not a regular file, or not open for reading, ErrMiss if nothing is known of the token, and ErrRejected
// if the content is not what was saved under it.
func (m *HashMap) Load(token Token, modelFiles, dataFiles []*os.File) (*Entry, error) {
	mu := m.lockOf(token)
	mu.RLock()
	defer mu.RUnlock()
	e, err := m.load(token, modelFiles, dataFiles)
	if err != nil {
		return nil, fmt.Errorf("load from cache: %w", err)
	}
	return e, nil
}

func (m *HashMap) load(token Token, modelFiles, dataFiles []*os.File) (*Entry, error) {
	if _, err := m.inspectAll(modelFiles, dataFiles, toRead); err != nil {
		return nil, err
	}
	if err := flock(modelFiles[0], unix.LOCK_SH, m.opts.LockTimeout); err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrMiss)
	}
	defer funlock(modelFiles[0])
	// The sizes are those after the lock, when no other process is saving.
	sizes, err := m.inspectAll(modelFiles, dataFiles, toRead)
	if err != nil {
		return nil, err
	}
	var modelBytes int64
	for _, size := range sizes[:len(modelFiles)] {
		modelBytes = addBytes(modelBytes, size)
	}
	r, known := m.lookup(token)
	if !known || r.size != modelBytes {
		m.refresh()
		r, known = m.lookup(token)
	}
	switch {
	case !known:
		return nil, ErrMiss
	case r.size != modelBytes || modelBytes > m.opts.MaxModelBytes: // before anything is allocated for it
		return nil, fmt.Errorf("model files of %d bytes instead of %d: %w", modelBytes, r.size, ErrRejected)
	}
	contents, err := readModelFiles(modelFiles, sizes)
	if err != nil {
		return nil, err
	}
	mac := m.filesMAC(token, contents)
	if !hmac.Equal(mac[:], r.mac[:]) {
		// Another process may have saved it again; the copy that was read stays the one that is judged.
		m.refresh()
		if r, known = m.lookup(token); !known || !hmac.Equal(mac[:], r.mac[:]) {
			return nil, fmt.Errorf("model files are not what was saved: %w", ErrRejected)
		}
	}
	return assemble(contents, dataFiles, sizes[len(modelFiles):])
}

// readModelFiles reads each file once, as many bytes as inspect found.
func readModelFiles(files []*os.File, sizes []int64) ([][]byte, error) {
	contents := make([][]byte, len(files))
	for i, f := range files {
		contents[i] = make([]byte, sizes[i])
		if n, err := f.ReadAt(contents[i], 0); n < len(contents[i]) {
			return nil, fmt.Errorf("model file %d: %w: %w", i, noEOF(err), ErrRejected)
		}
	}
	return contents, nil
}

// assemble makes an entry of verified contents.
func assemble(contents [][]byte, dataFiles []*os.File, dataSizes []int64) (*Entry, error) {
	var part []byte
	var head halData
	for i, c := range contents {
		share, data, err := decodeModelFile(c, i, len(contents), len(dataFiles))
		if err != nil {
			return nil, err
		}
		if i > 0 && (!slices.Equal(data.lengths, head.lengths) || data.chunk != head.chunk) {
			return nil, fmt.Errorf("model files disagree: %w", ErrRejected)
		}
		head = data
		if len(contents) == 1 {
			part = share
		} else {
			part = append(part, share...)
		}
	}
	for i, want := range head.lengths {
		if dataSizes[i] != want {
			return nil, fmt.Errorf("data file %d has %d bytes instead of %d: %w", i, dataSizes[i], want, ErrRejected)
		}
	}
	count := chunksIn(head.bytes(), head.chunk)
	if count > int64(len(part)/sha256.Size) {
		return nil, fmt.Errorf("model files have no room for %d hashes: %w", count, ErrRejected)
	}
	hashes, model := cutHashes(part, count)
	handles, err := Duplicate(dataFiles)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrMiss)
	}
	return &Entry{Model: model, Data: newData(handles, head.lengths, hashes, head.chunk)}, nil
}

// filesMAC is the keyed hash of an entry's model files for this identity and token.
func (m *HashMap) filesMAC(token Token, contents [][]byte) (out [macSize]byte) {
	h := m.key.mac("nngpu HAL model files 2")
	writePart(h, []byte(m.opts.Identity.Device))
	writePart(h, []byte(m.opts.Identity.Build))
	writePart(h, token[:])
	for _, c := range contents {
		writePart(h, c)
	}
	h.Sum(out[:0])
	return out
}

// inspectAll checks the lists and gives the sizes of model and data files in order, in bytes.
func (m *HashMap) inspectAll(modelFiles, dataFiles []*os.File, a access) (sizes []int64, err error) {
	if len(modelFiles) != m.opts.ModelFiles || len(dataFiles) != m.opts.DataFiles {
		return nil, fmt.Errorf("%d model and %d data files, expected %d and %d: %w",
			len(modelFiles), len(dataFiles), m.opts.ModelFiles, m.opts.DataFiles, ErrInvalid)
	}
	seen := map[fileID]bool{}
	sizes = make([]int64, 0, len(modelFiles)+len(dataFiles))
	for _, f := range slices.Concat(modelFiles, dataFiles) {
		id, size, err := inspect(f, a)
		if err != nil {
			return nil, err
		}
		if seen[id] {
			return nil, fmt.Errorf("%s is given twice: %w", f.Name(), ErrInvalid)
		}
		seen[id] = true
		sizes = append(sizes, size)
	}
	return sizes, nil
}

func (m *HashMap) lockOf(t Token) *sync.RWMutex {
	return &m.saving[int(t[0])%len(m.saving)]
}

func noEOF(err error) error {
	if err == io.EOF || err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}
