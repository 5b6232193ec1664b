package conformancedata

import (
	"sync"

	"github.com/nngpu/nngpu/driver/nn"
)

// operationTypes maps the names of the HAL's operations to their types.
var operationTypes = sync.OnceValue(func() map[string]nn.OperationType {
	names := map[string]nn.OperationType{}
	for t := nn.OpAdd; t <= nn.OpReverse; t++ {
		if t.Valid() {
			names[t.String()] = t
		}
	}
	return names
})
