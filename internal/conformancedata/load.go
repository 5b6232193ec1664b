package conformancedata

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"

	"github.com/nngpu/nngpu/internal/regular"
)

// maxLine bounds one model's JSON text. The longest of the suite has 2 MB.
const maxLine = 4 << 20

// maxText bounds a file's text. The largest of the suite has some tens of megabytes.
const maxText = 1 << 30

// ErrStop, returned by the function given to Load, ends the walk without an error.
var ErrStop = errors.New("stop")

// Load calls fn for every model below dir whose name filter accepts (nil accepts all), in order of
// folder, file and line. Models are decoded one at a time; names that filter refuses are not decoded at
// all. dir holds a folder for each version, or is such a folder itself. An error of fn ends the walk and
// is returned as it is.
func Load(dir string, filter func(name string) bool, fn func(*Case) error) error {
	files, err := Files(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := LoadFile(f, filter, fn); err != nil {
			if errors.Is(err, ErrStop) {
				return nil
			}
			return err
		}
	}
	return nil
}

// Files lists the model files below dir in the order that Load reads them.
func Files(dir string) ([]string, error) {
	if _, err := os.ReadDir(dir); err != nil { // patterns find nothing in silence
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.jsonl.gz"))
	if err != nil {
		return nil, err
	}
	own, err := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
	if err != nil {
		return nil, err
	}
	files = append(files, own...)
	if len(files) == 0 {
		return nil, fmt.Errorf("%w: no *.jsonl.gz below %s", ErrAbsent, dir)
	}
	sort.Strings(files)
	return files, nil
}

// LoadFile is Load for a single file. ErrStop is passed through.
func LoadFile(path string, filter func(name string) bool, fn func(*Case) error) error {
	f, _, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	folder := filepath.Base(filepath.Dir(abs))
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r := bufio.NewReaderSize(&bounded{z, maxText}, 1<<16)
	var line []byte
	for n := 1; ; n++ {
		line, err = readLine(r, line[:0])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if len(line) == 0 {
			continue
		}
		if filter != nil {
			name, err := peekName(line)
			if err != nil {
				return fmt.Errorf("%s:%d: %w", path, n, err)
			}
			if !filter(name) {
				continue
			}
		}
		c, err := Parse(line)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
		c.Folder = folder
		if level, ok := levels[folder]; ok { // min_hal is lower where it ignores what has no effect, such as a layout of NHWC
			c.Model.Level = level
		}
		if err := fn(c); err != nil {
			return err
		}
	}
}

// bounded reads at most so many bytes, and fails where there are more.
type bounded struct {
	r    io.Reader
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("more than %d bytes of text", maxText)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// readLine appends the next line without its end to buf. It returns io.EOF only when nothing is left.
func readLine(r *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		buf = append(buf, part...)
		if len(buf) > maxLine {
			return nil, fmt.Errorf("line longer than %d bytes", maxLine)
		}
		switch err {
		case bufio.ErrBufferFull:
			continue
		case nil:
			return bytes.TrimRight(buf, "\r\n"), nil
		case io.EOF:
			if len(buf) == 0 {
				return nil, io.EOF
			}
			return buf, nil
		default:
			return nil, err
		}
	}
}

// peekName finds the name of a model; the suite writes it first, so the rest is seldom scanned.
func peekName(line []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	var tok [3]json.Token
	for i := range tok {
		t, err := dec.Token()
		if err != nil {
			return "", err
		}
		tok[i] = t
	}
	if key, ok := tok[1].(string); ok && key == "name" {
		if name, ok := tok[2].(string); ok {
			return name, nil
		}
	}
	var m struct{ Name string }
	err := json.Unmarshal(line, &m)
	return m.Name, err
}
