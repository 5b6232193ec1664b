// Package conformancerun runs conformance models on a device and judges the results.
package conformancerun

import (
	"context"
	"errors"
	"fmt"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/tests/conformancedata"
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
	_, reasons, err := dev.SupportedOperations(c.Model)
	if err != nil {
		if c.ExpectFailure {
			return Outcome{FailedAsExpected, err}
		}
		return Outcome{Failed, fmt.Errorf("supported operations: %w", err)}
	}
	refusal := firstRefusal(c, reasons)
	pm, err := client.PrepareModel(ctx, c.Model)
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
	res, err := pm.Run(ctx, c.Inputs, outputs)
	if err != nil {
		return err
	}
	got := make([]conformancedata.Result, len(outputs))
	for i := range outputs {
		got[i] = conformancedata.Result{Dims: append(nn.Dims(nil), res.Shapes[i].Dims...), Data: outputs[i]}
	}
	return conformancedata.Compare(c, got)
}
