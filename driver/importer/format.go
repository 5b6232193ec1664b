package importer

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/hugepages"
	"github.com/nngpu/nngpu/internal/regular"
)

// MaxFileBytes bounds the files that are imported: constants are addressed with 32 bits.
const MaxFileBytes = math.MaxUint32

// HeadBytes is how much of a file tells its format.
const HeadBytes = 8

// Format is a kind of model file.
type Format struct {
	// Name is what people call it, Extension how its files end, Mark what they are known by: "TensorFlow Lite", ".tflite",
	// `identifier "TFL3"`.
	Name, Extension, Mark string
	// Matches reports whether a file that begins with head is of this format. head has HeadBytes, or all of a shorter file.
	Matches func(head []byte) bool
	// Check judges a file by few bytes before it is read whole: no file that passes promises more than it has.
	Check func(r io.ReaderAt, size int64) error
	// Import decodes a file. The network retains data, which must not be changed as long as its model is in use.
	Import func(data []byte) (*Network, error)
}

var (
	formatsMu sync.Mutex
	formats   []Format // guarded by formatsMu
)

// Register makes a format known. Packages of formats call it when the program begins.
func Register(f Format) {
	formatsMu.Lock()
	defer formatsMu.Unlock()
	formats = append(formats, f)
}

// find returns the format of a file by its first bytes.
func find(head []byte) (Format, error) {
	formatsMu.Lock()
	defer formatsMu.Unlock()
	var known []string
	for _, f := range formats {
		if f.Matches(head) {
			return f, nil
		}
		known = append(known, fmt.Sprintf("%s (%s, %s)", f.Name, f.Extension, f.Mark))
	}
	if len(known) == 0 {
		return Format{}, nn.Invalid("model file", "the program links no format; import driver/importer/tflite or what else is wanted")
	}
	return Format{}, nn.Invalid("model file", "it begins with %q; the formats known are %s", head, strings.Join(known, ", "))
}

// Open imports the model file of a path, whatever its format. Of other files it reads no more than shows that they are
// not models.
//
// Errors: those of the file system, and INVALID_ARGUMENT, with an *UnsupportedError in it where the file is sound but needs
// something that is not supported.
func Open(path string) (*Network, error) {
	file, size, err := regular.Open(path)
	if errors.Is(err, regular.ErrNot) {
		return nil, nn.Invalid(path, "it is %w", regular.ErrNot)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	n, err := Read(file, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// Read is Open of a file of size bytes that is open already. It is judged before it is read whole, so that a sparse file
// takes no memory. The network does not retain r.
func Read(r io.ReaderAt, size int64) (*Network, error) {
	head := make([]byte, min(max(size, 0), HeadBytes))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, nn.Invalid("model file", "%w", err)
	}
	f, err := find(head)
	if err != nil {
		return nil, err
	}
	if err := f.Check(r, size); err != nil {
		return nil, err
	}
	data := hugepages.Make(size)
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, size), data); err != nil {
		return nil, nn.Invalid("model file", "%w", err)
	}
	return f.Import(data)
}

// Parse is Open of a file that is in memory. The network retains data: pool 0 of its model is the slice itself, so it must
// not be changed as long as the model is in use. Nothing writes to it.
func Parse(data []byte) (*Network, error) {
	f, err := find(data[:min(len(data), HeadBytes)])
	if err != nil {
		return nil, err
	}
	return f.Import(data)
}
