package qos

// MustClient is NewClient of a share that is allowed.
func (s *Scheduler) MustClient(name string, share float64) *Client {
	c, err := s.NewClient(name, share)
	if err != nil {
		panic(err)
	}
	return c
}
