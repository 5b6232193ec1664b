package qos

import "time"

// Stats counts what a scheduler did since it was made.
type Stats struct {
	Submissions uint64 // calls of Submit
	Preemptions uint64 // another job went between two segments of one
	Completed   uint64 // jobs that ended without error
	Missed      uint64 // admitted jobs, without trials, that were given up for their deadline, or ended after it
	Trials      uint64 // jobs that were let through to test their estimates
	LateTrials  uint64 // of them: given up for their deadline, or ended after it
	Refused     uint64 // jobs that were refused, and Admits that were
	Displaced   uint64 // jobs that waited and had to make room for one of higher priority
	DeviceTime  time.Duration
	Clients     []ClientStats // the open ones
}

// ClientStats is what one client has of the device.
type ClientStats struct {
	Name       string
	Share      float64
	DeviceTime time.Duration // measured, plus the estimate of what is on the device
	Jobs       int           // waiting and running
}

// Stats returns a copy of the counters. DeviceTime includes closed clients.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Clients = make([]ClientStats, 0, len(s.clients))
	for _, c := range s.clients {
		out.Clients = append(out.Clients, c.stats())
	}
	return out
}

// Stats returns what the client has.
func (c *Client) Stats() ClientStats {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.stats()
}

// stats is Stats.
//
// Preconditions: s.mu held.
func (c *Client) stats() ClientStats {
	return ClientStats{Name: c.name, Share: c.share, DeviceTime: c.used, Jobs: len(c.runs)}
}
