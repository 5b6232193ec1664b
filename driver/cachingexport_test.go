package driver

import (
	"context"
	"time"
)

// KeepEstimates is Device.keepEstimates for tests.
func (p *PreparedModel) KeepEstimates(learned []time.Duration) {
	p.client.device.keepEstimates(p.only.exe, learned)
}

// Estimates are those of the executable.
func (p *PreparedModel) Estimates() []time.Duration { return p.only.exe.Estimates() }

// Ready is that of a delayed model.
func (p *PreparedModel) Ready(ctx context.Context) error {
	return p.only.exe.(*delayed).ready(ctx, time.Time{})
}

// DelayedStatus is what the cache did for a delayed model.
func (p *PreparedModel) DelayedStatus() CacheStatus { return p.only.exe.(*delayed).cacheStatus() }
