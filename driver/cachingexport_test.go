package driver

import "time"

// KeepEstimates is Device.keepEstimates for tests.
func (p *PreparedModel) KeepEstimates(learned []time.Duration) {
	p.client.device.keepEstimates(p, learned)
}

// Estimates are those of the executable.
func (p *PreparedModel) Estimates() []time.Duration { return p.exe.Estimates() }
