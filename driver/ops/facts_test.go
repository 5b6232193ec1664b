package ops

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// fact is what the HAL's documentation says of an operation.
type fact struct {
	Name   string
	Since  Level
	Types  []typeFact `json:"tensor_types"`
	Inputs []inputFact
	Counts []any `json:"input_counts"`
	Forms  []struct {
		Inputs []inputFact
		Counts []any `json:"input_counts"`
	}
}

type typeFact struct {
	Type  string
	Since Level
}

type inputFact struct {
	Optional    bool
	MayBeAbsent bool `json:"may_be_absent"`
	NoValue     bool `json:"may_be_no_value"`
	Repeated    bool
	Since       Level
}

func facts(t *testing.T) map[string]fact {
	raw, err := os.ReadFile(nntest.Shared(t, "nnapi", "operations.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Operations []fact }
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	byName := map[string]fact{}
	for _, f := range all.Operations {
		byName[f.Name] = f
	}
	return byName
}

// TestRowsAgainstFacts holds levels, types and lists of inputs to the facts beside the checkout.
func TestRowsAgainstFacts(t *testing.T) {
	known := facts(t)
	for _, row := range All() {
		f, ok := known[row.Type.String()]
		if row.Since == 0 {
			if ok {
				t.Errorf("%v is no extension", row.Type)
			}
			continue
		}
		if !ok || f.Since != row.Since {
			t.Errorf("%v: since %d, want %d", row.Type, row.Since, f.Since)
		}
		types := row.Types()
		if !row.Forms[0].Inputs[row.Lead].Data { // a parameter leads, and the facts are of the result
			types = row.Outputs[0].Types.With(-1)
		}
		for x := nn.OperandType(0); x.Valid(); x++ {
			i := slices.IndexFunc(f.Types, func(t typeFact) bool { return t.Type == x.String() })
			switch {
			case types.Has(x) != (i >= 0):
				t.Errorf("%v: leading input of type %v: %v", row.Type, x, types.Has(x))
			case i >= 0 && row.SinceType(x) != f.Types[i].Since:
				t.Errorf("%v: %v since %d, want %d", row.Type, x, row.SinceType(x), f.Types[i].Since)
			}
		}
		if len(f.Forms) == 0 {
			compareInputs(t, row, f.Inputs, f.Counts)
		}
		for _, form := range f.Forms {
			compareInputs(t, row, form.Inputs, form.Counts)
		}
	}
}

// compareInputs looks for the form of row that has as many inputs, and a name of the form as often.
func compareInputs(t *testing.T, row *Row, want []inputFact, counts []any) {
	t.Helper()
	i := slices.IndexFunc(row.Forms, func(f Form) bool { return len(f.Inputs) == len(want) })
	if i < 0 {
		t.Errorf("%v: no form of %d inputs", row.Type, len(want))
		return
	}
	for k, o := range row.Forms[i].Inputs {
		if w := want[k]; o.Omissible != w.NoValue || o.Repeated != w.Repeated || w.Since > row.Since && o.Since != w.Since {
			t.Errorf("%v: input %d (%s) is %+v, want %+v", row.Type, k, o.Name, o, w)
		}
	}
	for n := range 20 {
		if counts[0] == ">=2" {
			counts = append(counts, float64(n+2))
		}
		if got := takes(row.Forms[i].Inputs, n); got != slices.Contains(counts, any(float64(n))) {
			t.Errorf("%v: %d inputs: %v", row.Type, n, got)
		}
	}
}
