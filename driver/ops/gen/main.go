// Command gen writes docs/operators.md, and the operands in the comments of driver/nn/operations.go, from the rows of
// driver/ops. Run by `make generate`, from the module's root.
package main

import (
	"fmt"
	"os"
)

// Its inputs, which tests wrote, from the module's root: what the operators of TensorFlow Lite become, and what devices
// run.
const (
	imports = "driver/importer/tflite/testdata/operations.txt"
	devices = "gpu/internal/compile/testdata/devices.txt"
)

// Its outputs.
const (
	document   = "docs/operators.md"
	vocabulary = "driver/nn/operations.go"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	files, err := generate(".")
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the contents that the files should have. root is the module's.
func generate(root string) (map[string][]byte, error) {
	source, err := os.ReadFile(root + "/" + vocabulary)
	if err != nil {
		return nil, err
	}
	names, err := constantNames(source)
	if err != nil {
		return nil, err
	}
	commented, err := comment(source, names)
	if err != nil {
		return nil, err
	}
	k, err := readKnowledge(root)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{document: operators(names, k), vocabulary: commented}, nil
}
