package layerstest_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers/layerstest"
	"github.com/nngpu/nngpu/driver/validate"
)

// TestAll: examples are valid models of their operation.
func TestAll(t *testing.T) {
	for _, e := range layerstest.All() {
		if e.Err != nil {
			t.Errorf("%v of %v: %v", e.Op, e.Type, e.Err)
		}
		if e.Model == nil {
			continue
		}
		if err := validate.Model(e.Model); err != nil {
			t.Errorf("%v of %v: %v", e.Op, e.Type, err)
		}
		found := false
		for _, op := range e.Model.Main.Operations {
			found = found || op.Type == e.Op
		}
		if !found {
			t.Errorf("the example of %v of %v is of something else", e.Op, e.Type)
		}
	}
}
