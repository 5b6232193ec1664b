// Package modeldata reads folders that hold a network, inputs and the outputs that another engine computed:
// model.tflite, meta.json, input_<i>.bin and output_<i>.bin, with further cases in subfolders.
//
// All tensors are raw, dense, row-major and little-endian.
package modeldata

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nngpu/nngpu/internal/regular"
)

// Folder is a network with its cases.
type Folder struct {
	Name       string
	ModelPath  string // empty when the network is in another format
	Kind       string // "tflite", "onnx"
	Cases      []Case
	Tolerances []Tolerance // by position in the list; Output says which output
}

// Case is one run.
type Case struct {
	Dir     string // relative to the folder
	Inputs  []string
	Outputs []string // paths of the files
	// Detections are objects that must be found, where outputs are lists of them.
	Detections []Detection
}

// Tolerance bounds the difference of one output.
type Tolerance struct {
	Output int     `json:"output"`
	Kind   string  `json:"kind"` // "absolute", "exact", "quantised steps", or "detections", see Folder.Detected
	Max    float64 `json:"max"`
	Mean   float64 `json:"mean"` // 0: not bounded
}

type meta struct {
	Name   string `json:"name"`
	Format struct {
		Kind string `json:"kind"`
	} `json:"format"`
	Cases []struct {
		Dir     string            `json:"dir"`
		Inputs  []json.RawMessage `json:"inputs"`
		Outputs []json.RawMessage `json:"outputs"`

		Detections []Detection `json:"detections"`
	} `json:"cases"`
	Tolerance []Tolerance `json:"tolerance"`
}

// ErrNoModel is returned by Open for a folder without a meta.json.
var ErrNoModel = errors.New("no meta.json")

// Open reads the description of the network in folder path.
func Open(path string) (*Folder, error) {
	b, err := regular.Read(filepath.Join(path, "meta.json"), maxMeta)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, ErrNoModel)
	}
	if err != nil {
		return nil, err
	}
	var m meta
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(path, "meta.json"), err)
	}
	f := &Folder{Name: m.Name, Kind: m.Format.Kind, Tolerances: m.Tolerance}
	if f.Name == "" {
		f.Name = filepath.Base(path)
	}
	if f.Kind == "tflite" {
		f.ModelPath = filepath.Join(path, "model.tflite")
	}
	for _, c := range m.Cases {
		dir := filepath.Join(path, filepath.Clean("/"+c.Dir))
		k := Case{Dir: c.Dir, Detections: c.Detections}
		for i := range c.Inputs {
			k.Inputs = append(k.Inputs, filepath.Join(dir, fmt.Sprintf("input_%d.bin", i)))
		}
		for i := range c.Outputs {
			k.Outputs = append(k.Outputs, filepath.Join(dir, fmt.Sprintf("output_%d.bin", i)))
		}
		f.Cases = append(f.Cases, k)
	}
	return f, nil
}

// Find returns the folders with a meta.json among dirs and their direct subfolders.
func Find(dirs []string) ([]string, error) {
	var found []string
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "meta.json")); err == nil {
			found = append(found, dir)
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		n := len(found)
		for _, e := range entries {
			sub := filepath.Join(dir, e.Name())
			if _, err := os.Stat(filepath.Join(sub, "meta.json")); err == nil {
				found = append(found, sub)
			}
		}
		if len(found) == n {
			return nil, fmt.Errorf("%s: %w, in it or in its folders", dir, ErrNoModel)
		}
	}
	return found, nil
}

// maxMeta bounds meta.json, which has some kilobytes.
const maxMeta = 16 << 20

// Read returns the contents of files, each of at most as many bytes as the tensor that it holds.
func Read(files []string, bytes []int) ([][]byte, error) {
	if len(files) != len(bytes) {
		return nil, fmt.Errorf("%d files for %d tensors", len(files), len(bytes))
	}
	var out [][]byte
	for i, f := range files {
		b, err := regular.Read(f, int64(bytes[i]))
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}
