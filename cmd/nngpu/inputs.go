package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/npy"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/picture"
)

// inputFlags are the flags that describe the inputs of a network.
type inputFlags struct {
	files     []string
	mean, std []float64
}

// check reports numbers that normalise nothing.
func (f *inputFlags) check() error {
	for _, v := range f.mean {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return usageError("--mean takes finite numbers, not %v", v)
		}
	}
	for _, v := range f.std {
		if math.IsNaN(v) || math.IsInf(v, 0) || v == 0 {
			return usageError("--std takes finite numbers other than 0, not %v", v)
		}
	}
	return nil
}

// gatherInputs reads the files of --input, by name or in order.
func (a *app) gatherInputs(net *importer.Network, f *inputFlags) ([][]byte, error) {
	paths, err := assignInputs(inputNames(net), f.files)
	if err != nil {
		return nil, err
	}
	inputs := make([][]byte, len(paths))
	for i, path := range paths {
		if inputs[i], err = a.readInput(net, i, path, f); err != nil {
			return nil, err
		}
	}
	return inputs, nil
}

func inputNames(net *importer.Network) []string {
	names := make([]string, len(net.Inputs))
	for i := range names {
		names[i] = net.Inputs[i].Name
	}
	return names
}

// assignInputs gives each input its file: first those of the form NAME=FILE, then the others in order.
func assignInputs(names, args []string) ([]string, error) {
	paths := make([]string, len(names))
	var unnamed []string
	for _, arg := range args {
		if arg == "" {
			return nil, usageError("--input is empty; give FILE or NAME=FILE")
		}
		i, known := inputNamed(names, paths, arg)
		if !known {
			unnamed = append(unnamed, arg)
			continue
		}
		path := arg[len(names[i])+1:]
		switch {
		case paths[i] != "":
			return nil, usageError("input %q is given twice", console.Brief(names[i]))
		case path == "":
			return nil, usageError("input %q has no file; give %s=FILE", console.Brief(names[i]), console.Brief(names[i]))
		}
		paths[i] = path
	}
	next := 0
	for _, arg := range unnamed {
		for next < len(paths) && paths[next] != "" {
			next++
		}
		if next == len(paths) {
			return nil, usageError("--input %s is one too many: %s", arg, inputList(names))
		}
		// A name that no input has looks like a file that does not exist; say what it is.
		if name, file, ok := strings.Cut(arg, "="); ok && !strings.ContainsRune(name, filepath.Separator) && !exists(arg) {
			return nil, usageError("there is no input %q for %s: %s", console.Brief(name), file, inputList(names))
		}
		paths[next] = arg
	}
	for i, path := range paths {
		if path == "" {
			return nil, usageError("input %d (%s) is missing; give --input FILE for each: %s", i, console.Brief(names[i]), inputList(names))
		}
	}
	return paths, nil
}

// inputNamed finds the input that arg names as in NAME=FILE: the longest such name, and of several equal
// names the first without a file.
func inputNamed(names, paths []string, arg string) (int, bool) {
	best := -1
	for i, name := range names {
		if !strings.HasPrefix(arg, name+"=") {
			continue
		}
		if best < 0 || len(name) > len(names[best]) || name == names[best] && paths[best] != "" {
			best = i
		}
	}
	return best, best >= 0
}

func inputList(names []string) string {
	if len(names) == 1 {
		return fmt.Sprintf("the model takes one input, %q", console.Brief(names[0]))
	}
	short := make([]string, len(names))
	for i := range names {
		short[i] = console.Brief(names[i])
	}
	return fmt.Sprintf("the model takes %d inputs, %q", len(names), short)
}

// readInput turns a file into the dense bytes of input i: .bin as it is, .npy by its type, a picture by
// resizing and normalising.
func (a *app) readInput(net *importer.Network, i int, path string, f *inputFlags) ([]byte, error) {
	o := operand(net.Model, net.Model.Main.Inputs, i)
	ext := strings.ToLower(filepath.Ext(path))
	switch ext {
	case ".png", ".jpg", ".jpeg", ".bmp", ".npy", ".bin":
	default:
		return nil, usageError("%s: inputs are .png, .jpg, .bmp, .npy or raw little-endian .bin files", path)
	}
	file, size, err := openFile(path, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var b []byte
	switch ext {
	case ".npy":
		b, err = npy.Read(file, size, o)
	case ".bin":
		b, err = readDense(file, size, o)
	default:
		b, err = a.readPicture(net, i, file, size, f)
	}
	if err != nil {
		return nil, usageError("%s for input %d (%s, %s): %w", path, i, console.Brief(net.Inputs[i].Name), shapeText(o), err)
	}
	return b, nil
}

// readDense reads a .bin file.
func readDense(file *os.File, size int64, o *nn.Operand) ([]byte, error) {
	if want := byteSize(o); size != int64(want) {
		return nil, fmt.Errorf("%s, the input takes %d", console.Count(int(size), "byte"), want)
	}
	return readWhole(file, size)
}

// readPicture prepares a picture for input i, normalised as the flags or else the model say.
func (a *app) readPicture(net *importer.Network, i int, file *os.File, size int64, f *inputFlags) ([]byte, error) {
	o := operand(net.Model, net.Model.Main.Inputs, i)
	norm := picture.Normalisation{Mean: f.mean, Std: f.std, Exact: true}
	given := !norm.Empty()
	if !given {
		norm = picture.Stated(net, i)
	}
	assumed := norm.Empty() && o.Type.IsFloat()
	if assumed {
		norm = picture.Symmetric
	}
	in, err := picture.NewInput(o, norm)
	if errors.Is(err, picture.ErrNoPicture) {
		return nil, fmt.Errorf("%w; give a .npy or .bin file", err)
	}
	if err != nil {
		return nil, err
	}
	p, err := picture.Read(file, size, picture.Limits{})
	if err != nil {
		return nil, err
	}
	switch name, pixels := console.Brief(net.Inputs[i].Name), p.Bounds().Size(); {
	case assumed:
		a.warn("input %s: the model does not say how colours are normalised; -1 to 1 is assumed, and --mean and --std change that (--mean 0 leaves them 0 to 255)", name)
	case given:
		a.note("input %s: %v pixels resized to %dx%d, normalised by the flags: mean %v, std %v", name, pixels, in.Width, in.Height, norm.Mean, norm.Std)
	case !norm.Empty():
		a.note("input %s: %v pixels resized to %dx%d, normalised as the model says: mean %v, std %v", name, pixels, in.Width, in.Height, norm.Mean, norm.Std)
	default:
		a.note("input %s: %v pixels resized to %dx%d, colours as they are", name, pixels, in.Width, in.Height)
	}
	return in.Bytes(p), nil
}
