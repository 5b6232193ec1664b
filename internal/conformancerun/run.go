// Package conformancerun runs conformance models on a device and judges the results.
package conformancerun

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/internal/conformancedata"
)

// Verdict is how a model ended.
type Verdict int

// Verdicts.
const (
	Passed           Verdict = iota // right results
	FailedAsExpected                // a model with expect_failure was refused or failed
	Refused                         // SupportedOperations says no for some operation, and preparation agrees
	Failed                          // anything else
)

// Outcome is a verdict with its cause.
type Outcome struct {
	Verdict Verdict
	Err     error // nil when passed
}

// Run prepares c on dev, runs it twice and compares. The second run shows state left by the first.
func Run(ctx context.Context, dev *driver.Device, client *driver.Client, c *conformancedata.Case) Outcome {
	return run(ctx, dev, client, c, nil)
}

// RunFromCache is Run of c as it comes back from cache files in dir, which is writable, after it was saved there.
func RunFromCache(ctx context.Context, dev *driver.Device, client *driver.Client, c *conformancedata.Case, dir string) Outcome {
	return run(ctx, dev, client, c, &cacheFiles{dir: dir})
}

func run(ctx context.Context, dev *driver.Device, client *driver.Client, c *conformancedata.Case, files *cacheFiles) Outcome {
	_, reasons, err := dev.SupportedOperations(c.Model)
	if err != nil {
		if c.ExpectFailure {
			return Outcome{FailedAsExpected, err}
		}
		return Outcome{Failed, fmt.Errorf("supported operations: %w", err)}
	}
	refusal := firstRefusal(c, reasons)
	pm, err := files.prepare(ctx, client, c)
	switch {
	case err != nil && c.ExpectFailure:
		return Outcome{FailedAsExpected, err}
	case err != nil && refusal != nil:
		return Outcome{Refused, refusal}
	case err != nil:
		return Outcome{Failed, fmt.Errorf("supported, but not prepared: %w", err)}
	case refusal != nil:
		return Outcome{Failed, errors.Join(fmt.Errorf("prepared, but not supported: %w", refusal), pm.Close())}
	}
	err = execute(ctx, pm, c)
	if err == nil {
		err = execute(ctx, pm, c)
	}
	if cerr := pm.Close(); cerr != nil {
		return Outcome{Failed, cerr}
	}
	switch {
	case err != nil && c.ExpectFailure:
		return Outcome{FailedAsExpected, err}
	case err != nil:
		return Outcome{Failed, err}
	case c.ExpectFailure:
		return Outcome{Failed, errors.New("must be refused or fail, but succeeded")}
	}
	return Outcome{Passed, nil}
}

// cacheFiles are the files of a client, in a folder; nil: none.
type cacheFiles struct{ dir string }

// prepare prepares c; where there are files, it saves it there, closes it and brings it back from them.
func (f *cacheFiles) prepare(ctx context.Context, client *driver.Client, c *conformancedata.Case) (pm *driver.PreparedModel, err error) {
	if f == nil {
		return client.PrepareModel(ctx, c.Model)
	}
	var files [2][]*os.File
	for i, name := range []string{"model", "data"} {
		file, err := os.Create(filepath.Join(f.dir, name))
		if err != nil {
			return nil, err
		}
		defer file.Close() // what was not written is found when it is read
		files[i] = []*os.File{file}
	}
	token := sha256.Sum256([]byte(c.Name))
	if pm, err = client.PrepareModel(ctx, c.Model, driver.WithCacheFiles(token, files[0], files[1])); err != nil {
		return nil, err
	}
	saved, why := pm.Saved()
	if err := pm.Close(); err != nil {
		return nil, err
	}
	pm, err = client.PrepareModelFromCache(ctx, token, files[0], files[1])
	switch {
	case saved:
		return pm, err
	case err == nil:
		return nil, errors.Join(errors.New("it came back from files that nothing was saved in"), pm.Close())
	case len(c.Model.Referenced) == 0 && !needsData(c.Model):
		return nil, why
	}
	return client.PrepareModel(ctx, c.Model) // models with sizes that only the data tells are not stored
}

// needsData reports whether an operation of m has a parameter that is computed or given by the request, which no kernel reads.
func needsData(m *nn.Model) bool {
	for i := range m.Main.Operations {
		if validate.NeedsData(m, i) != nil {
			return true
		}
	}
	return false
}

func firstRefusal(c *conformancedata.Case, reasons []error) error {
	for i, why := range reasons {
		if why != nil {
			return fmt.Errorf("operation %d (%v): %w", i, c.Model.Main.Operations[i].Type, why)
		}
	}
	return nil
}

func execute(ctx context.Context, pm *driver.PreparedModel, c *conformancedata.Case) error {
	outputs := pm.NewOutputs()
	var opts []driver.ExecuteOption
	if c.ExpectFailure { // of a loop without end, for which the suite says so
		opts = append(opts, driver.WithLoopTimeout(time.Millisecond))
	}
	res, err := pm.Run(ctx, c.Inputs, outputs, opts...)
	if err != nil {
		return err
	}
	return compare(c, res.Shapes, outputs)
}

// compare judges the outputs of an execution of c.
func compare(c *conformancedata.Case, shapes []nn.OutputShape, outputs [][]byte) error {
	got := make([]conformancedata.Result, len(outputs))
	for i := range outputs {
		got[i] = conformancedata.Result{Dims: append(nn.Dims(nil), shapes[i].Dims...), Data: outputs[i]}
	}
	return conformancedata.Compare(c, got)
}
