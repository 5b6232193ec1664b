package prepare

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// rates learns how long preparations on a device take. Safe for concurrent use.
type rates struct {
	est qos.PrepareEstimator
	// load is for models that come from a cache; it counts once one was seen.
	load  qos.PrepareEstimator
	loads atomic.Bool

	mu   sync.Mutex
	seen map[[2]int32]bool // guarded by mu; operations with their first input's type, once prepared
}

// cost is that of preparing m: an operation and type not seen before needs a pipeline of its own, more or less.
func (r *rates) cost(m *nn.Model) qos.PrepareCost {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := qos.PrepareCost{Steps: len(m.Main.Operations), WeightBytes: int64(len(m.Values))}
	for _, p := range m.Pools {
		if p != nil {
			c.WeightBytes += p.Size()
		}
	}
	fresh := map[[2]int32]bool{}
	for i := range m.Main.Operations {
		if k := kindOf(m, i); !r.seen[k] && !fresh[k] {
			fresh[k] = true
			c.Pipelines++
		}
	}
	return c
}

// observe notes that a preparation of that cost took that long.
func (r *rates) observe(m *nn.Model, c qos.PrepareCost, took time.Duration) {
	r.est.Observe(c, took)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[[2]int32]bool{}
	}
	for i := range m.Main.Operations {
		r.seen[kindOf(m, i)] = true
	}
}

// loaded notes that a preparation of that cost took that long and compiled nothing.
func (r *rates) loaded(c qos.PrepareCost, took time.Duration) {
	r.load.Observe(loadCost(c), took)
	r.loads.Store(true)
}

// loadCost is c if nothing is compiled.
func loadCost(c qos.PrepareCost) qos.PrepareCost {
	c.Pipelines = 0
	return c
}

// canLoad refuses a preparation that would be late even if it came from a cache. Nothing is known before one did so.
func (r *rates) canLoad(c qos.PrepareCost, o *Options) error {
	if !r.loads.Load() {
		return nil
	}
	return r.load.Admit(loadCost(c), o.Start, o.Deadline)
}

// canCompile refuses a preparation of m that has to compile and would be late.
func (r *rates) canCompile(m *nn.Model, o *Options) error {
	if o.Deadline.IsZero() {
		return nil
	}
	return r.est.Admit(r.cost(m), o.Start, o.Deadline.Add(-o.Tuning))
}

// loads reports whether a preparation may find its model in a cache.
func (d *Device) loads(o *Options) bool {
	switch {
	case o.Deadline.IsZero() || o.Delayed || d.restorer == nil: // with a delay nobody is waiting
		return false
	case o.Files.any():
		return !o.Files.areOpen()
	}
	return d.transparent() != nil
}

func kindOf(m *nn.Model, op int) [2]int32 {
	o := &m.Main.Operations[op]
	k := [2]int32{int32(o.Type), -1}
	if len(o.Inputs) > 0 {
		k[1] = int32(m.Main.Operands[o.Inputs[0]].Type)
	}
	return k
}
