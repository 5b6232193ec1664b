package driver

import (
	"context"
	"time"
)

// KeepEstimates notes what was learned in the cache.
func (p *PreparedModel) KeepEstimates(learned []time.Duration) {
	p.model.Latest().KeepEstimates(learned)
}

// Estimates are those of the executable.
func (p *PreparedModel) Estimates() []time.Duration { return p.model.Latest().Form().Estimates() }

// Ready is that of a delayed model.
func (p *PreparedModel) Ready(ctx context.Context) error {
	return p.model.Latest().Ready(ctx, time.Time{})
}
