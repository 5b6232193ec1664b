package validate_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/internal/conformancedata"
)

// inTable reports whether the table has all operations of the case.
func inTable(c *conformancedata.Case) bool {
	for _, t := range c.Operations {
		if ops.Lookup(t) == nil {
			return false
		}
	}
	return true
}

// TestConformanceModels: valid models pass, and the shapes inferred are those that they state; models that
// must fail, of operations of the table, are refused.
func TestConformanceModels(t *testing.T) {
	dir, err := conformancedata.Dir()
	if err != nil {
		if nntest.Required("shared") {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	passed, resolved, refused, runtime, foreign, valueless := 0, 0, 0, 0, 0, 0
	err = conformancedata.Load(dir, nil, func(c *conformancedata.Case) error {
		if !inTable(c) {
			foreign++
			err := validate.Model(c.Model)
			if err != nil && !c.ExpectFailure {
				t.Errorf("%s: %v", c.Name, err)
			}
			if err == nil && strings.HasPrefix(c.Name, "if_no_value") {
				t.Errorf("%s: passed, must fail", c.Name)
			} else if err != nil && strings.HasPrefix(c.Name, "if_no_value") {
				valueless++
			}
			return nil
		}
		err := validate.Model(c.Model)
		if c.ExpectFailure {
			if err == nil {
				t.Errorf("%s: passed, must fail", c.Name)
			} else if s := nn.StatusOf(err); s != nn.StatusInvalidArgument {
				t.Errorf("%s: %v: status %v", c.Name, err, s)
			}
			refused++
			return nil
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			return nil
		}
		passed++
		if !inferOpen(t, c) {
			runtime++
		}
		if resolveAgain(t, c) {
			resolved++
		}
		request(t, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d passed (%d with parameters known only at run time, %d resolved from the dimensions of inputs), %d refused, "+
		"%d with operations outside the table", passed, runtime, resolved, refused, foreign)
	if valueless == 0 {
		t.Error("no IF without a condition was refused")
	}
	if resolved < 3000 {
		t.Errorf("only %d models were resolved", resolved)
	}
}

// inferOpen opens the dimensions of everything that operations write and requires inference to find them
// again. It returns false for a model whose shapes depend on the request.
func inferOpen(t *testing.T, c *conformancedata.Case) bool {
	m := *c.Model
	m.Main.Operands = append([]nn.Operand(nil), c.Model.Main.Operands...)
	for _, op := range m.Main.Operations {
		for _, y := range op.Outputs {
			m.Main.Operands[y].Dims = nil
		}
	}
	if err := validate.Model(&m); err != nil {
		t.Errorf("%s with open outputs: %v", c.Name, err)
		return true
	}
	dims, err := validate.Shapes(&m)
	if err != nil {
		t.Errorf("%s: %v", c.Name, err)
		return true
	}
	for _, op := range m.Main.Operations {
		call := &ops.Call{Model: &m, Graph: &m.Main, Op: &op, Unbound: true}
		for i := range m.Main.Operands {
			m.Main.Operands[i].Dims = dims[i]
		}
		row := ops.Lookup(op.Type)
		if _, err := row.Infer(call); err != nil {
			if errors.Is(err, ops.ErrNotConstant) || errors.Is(err, ops.ErrOpenShape) {
				return false
			}
			t.Errorf("%s: %v", c.Name, err)
			return true
		}
		for _, y := range op.Outputs {
			want := c.Model.Main.Operands[y].Dims
			if merged, ok := dims[y].Merge(want); !ok || !merged.Equal(want) || !row.FromData && !dims[y].Equal(want) {
				t.Errorf("%s: operand %d: inferred %v, stated %v", c.Name, y, dims[y], want)
			}
		}
		if row.FromData {
			return false
		}
	}
	return true
}

// request binds buffers of the right size.
func request(t *testing.T, c *conformancedata.Case) {
	r := &nn.Request{}
	arg := func(b []byte) nn.RequestArgument {
		r.Pools = append(r.Pools, nn.HostMemory(b))
		return nn.RequestArgument{Location: nn.Location{PoolIndex: uint32(len(r.Pools) - 1), Length: uint32(len(b))}}
	}
	for _, b := range c.Inputs {
		if b == nil {
			r.Inputs = append(r.Inputs, nn.RequestArgument{HasNoValue: true})
			continue
		}
		r.Inputs = append(r.Inputs, arg(b))
	}
	for _, o := range c.Expected {
		r.Outputs = append(r.Outputs, arg(make([]byte, len(o.Data))))
	}
	if _, err := check(c.Model, r); err != nil {
		t.Errorf("%s: request: %v", c.Name, err)
	}
}

// TestConformanceMutations applies the mutations of rules V2 .. V18 to every valid model of the table's
// operations.
func TestConformanceMutations(t *testing.T) {
	dir, err := conformancedata.Dir()
	if err != nil {
		if nntest.Required("shared") {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	// Without NNGPU_SOAK=1 those that the suite derived from others are left out, which have the same operations.
	plain := func(name string) bool {
		return os.Getenv("NNGPU_SOAK") == "1" || !strings.Contains(name, "all_tensors_as_inputs") && !strings.Contains(name, "inputs_as_internal")
	}
	tried := 0
	err = conformancedata.Load(dir, plain, func(c *conformancedata.Case) error {
		if c.ExpectFailure || !inTable(c) || testing.Short() && tried > 20000 {
			return nil
		}
		mutations(c.Model, func(name string, m *nn.Model) {
			tried++
			if err := validate.Model(m); err == nil {
				t.Errorf("%s: %s: passed", c.Name, name)
			} else if nn.StatusOf(err) != nn.StatusInvalidArgument {
				t.Errorf("%s: %s: %v", c.Name, name, err)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d mutations", tried)
}
