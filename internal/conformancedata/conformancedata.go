// Package conformancedata reads the NNAPI conformance models: small networks with inputs and the
// outputs that a correct driver computes, one JSON object per line of gzip files.
//
// It turns each into an nn.Model with its request data, and judges results by the suite's acceptance
// rules. It knows the vocabulary of package nn and no engine; a damaged file gives an error, never a
// panic.
package conformancedata

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/nngpu/nngpu/driver/nn"
)

// Case is one conformance model with one run of it. Its slices belong to the receiver and are shared
// with nothing else.
type Case struct {
	Name   string // unique over all folders
	Folder string // the version that introduced it, such as "V1_2"

	Model *nn.Model
	// Inputs holds the dense little-endian bytes of each main-graph input; nil omits the input, while an
	// input of zero size is empty but not nil.
	Inputs [][]byte
	// Expected has one entry for each main-graph output.
	Expected []Output

	// ExpectFailure: building, preparing or executing the model must report an error.
	ExpectFailure bool
	// Relaxed: float32 may be computed with the range and precision of float16.
	Relaxed bool
	// MultinomialTolerance is positive for a RANDOM_MULTINOMIAL model, whose output is judged by the
	// shares of its classes; otherwise 0.
	MultinomialTolerance float64
	// Operations lists each operation type of the main and the referenced graphs once, in order of
	// first appearance.
	Operations []nn.OperationType
}

// Output is the expected value of one main-graph output.
type Output struct {
	// Dims must be reported exactly. A 0 is a true size here, although the model's operand, which has
	// the same dimensions, leaves it open.
	Dims nn.Dims
	// Data is dense and little-endian; empty for a result of zero size.
	Data []byte
	// Ignored: the output must be produced with its dimensions, but its values are not compared.
	Ignored bool
}

// Result is one output as an engine reported it, for Compare.
type Result struct {
	Dims nn.Dims
	Data []byte
}

// ErrAbsent is returned by Dir when there is no conformance data on this machine.
var ErrAbsent = errors.New("no conformance data found")

// Dir returns the folder of the conformance data: conformance/ in the folder that the environment
// variable NNGPU_SHARED names, else in the folder shared/ beside the module that the working directory
// lies in. The error wraps ErrAbsent when there is none.
func Dir() (string, error) {
	if shared := os.Getenv("NNGPU_SHARED"); shared != "" {
		return check(filepath.Join(shared, "conformance"))
	}
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return check(filepath.Join(at, "..", "shared", "conformance"))
		}
		up := filepath.Dir(at)
		if up == at {
			return "", ErrAbsent
		}
		at = up
	}
}

func check(dir string) (string, error) {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return "", &absentError{dir}
	}
	return filepath.Clean(dir), nil
}

type absentError struct{ dir string }

func (e *absentError) Error() string { return ErrAbsent.Error() + ": " + e.dir }

func (e *absentError) Unwrap() error { return ErrAbsent }
